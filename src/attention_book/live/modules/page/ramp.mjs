/* One color for a weight, wherever one is drawn: from the page's ground over magenta to the darkest, or in
   the dark to the lightest. The three colors are the style sheet's (--weight-low, -mid, -high), and those
   of attention_book.plotting.ramp. */

/** The color of a weight from 0 to 1, as CSS and as a `fill`. */
export function shade(weight) {
  const [from, to, share] = weight < 0.5 ? ["low", "mid", weight * 2] : ["mid", "high", weight * 2 - 1];
  return `color-mix(in srgb, var(--weight-${to}) ${Math.round(share * 100)}%, var(--weight-${from}))`;
}
