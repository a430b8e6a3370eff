/* The tree of a beam search: a row for each step, its prefixes from left to right as they rank. */
import { label, number, svg, visible } from "../../page/words.mjs";

const LEFT = 22, TOP = 52, ROW = 45, BOX = 33, GAP = 5, FENCE = 12, WIDEST = 112;

/** About how wide a word is at 13 px; a bold one is wider. */
const measure = (word, bold) => (bold ? 1.13 : 1) * [...word].reduce((sum, letter) =>
  sum + (letter > "\u2e80" || /[mw<>…]/i.test(letter) ? 12.5 : /[fijlrt.,'’]/.test(letter) ? 5 : 8), 0);

/** Where a candidate stands. Of those that were dropped the best few have room. */
function places(count, width) {
  const extra = width < 520 ? Math.max(1, Math.min(2, 5 - count)) : Math.min(3, 7 - count);
  const column = Math.min(WIDEST, (width - LEFT - FENCE) / (count + extra));
  const left = LEFT + (width - LEFT - FENCE - column * (count + extra)) / 2;
  return {
    extra, box: column - GAP,
    x: (rank) => left + (rank + 0.5) * column + (rank < count ? 0 : FENCE),
    y: (step) => TOP + (step - 1) * ROW,
    fence: left + count * column + FENCE / 2 - GAP / 2,
    end: left + (count + extra) * column + FENCE,
  };
}

export function draw({ state, numbers, width }) {
  const { steps, now, greedy } = numbers, at = places(state.width, width), height = TOP + state.data.longest * ROW; // the controls below stay where they are
  const shown = steps.slice(0, now), { kept: last } = shown.at(-1);
  const lines = { best: lineOf(shown, [0]), alive: lineOf(shown, last.keys()), greedy };
  const rows = shown.map((step, t) => [...step.kept, ...step.dropped.slice(0, at.extra)]
    .map((each, rank) => ({ ...each, rank, step: t + 1, kind: kindOf(each, rank, state.width, t, lines), greedy: onThe(greedy, each) })));
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    legend(width),
    Array.from({ length: state.width }, (_, rank) => svg("text", { class: "live-count", x: at.x(rank), y: TOP - 10, "text-anchor": "middle" }, String(rank + 1))),
    label(["淘汰", "dropped"], { class: "live-muted", x: (at.fence + at.end) / 2, y: TOP - 10, "text-anchor": "middle", "font-size": 11 }),
    svg("line", { class: "live-axis live-dashed", x1: at.fence, x2: at.fence, y1: TOP - 4, y2: at.y(steps.length) + BOX }),
    steps.map((_, t) => svg("text", { class: "live-count", x: LEFT - 8, y: at.y(t + 1) + 21, "text-anchor": "end" }, String(t + 1))),
    rows.flat().map((each) => edge(each, at)),
    rows.flat().map((each) => box(each, at, state)));
}

/** Which prefixes some candidates of the last step go on from, a set of their ranks for each step. */
function lineOf(shown, ranks) {
  const line = [new Set(ranks)];
  for (let t = shown.length - 1; t > 0; t--) line.unshift(new Set([...line[0]].map((rank) => shown[t].kept[rank].from)));
  return line;
}

/** Whether a prefix is the beginning of what greedy search writes. */
export const onThe = (greedy, { words }) => words.every((word, i) => word === greedy.words[i]);

function kindOf(_, rank, width, t, lines) {
  if (rank >= width) return "dropped";
  return lines.best[t].has(rank) ? "best" : lines.alive[t].has(rank) ? "alive" : "dead";
}

function legend(width) {
  const middle = Math.min(200, width / 2);
  return [
    svg("rect", { class: "live-bar", x: 1, y: 4, width: 16, height: 14, rx: 3 }),
    label(["最好的", "best"], { x: 24, y: 15, "font-size": 12 }),
    svg("circle", { class: "live-fill-warm", cx: middle - 50, cy: 11, r: 5 }),
    label(["贪心的路", "greedy search’s path"], { x: middle - 38, y: 15, "font-size": 12 }),
  ];
}

const EDGES = { best: "live-stroke", alive: "live-axis", dead: "live-axis", dropped: "live-axis live-dashed live-thin" };
const BOXES = { best: "live-bar", alive: "live-now", dead: "live-axis", dropped: "live-axis live-dashed" };

function edge({ step, rank, from, kind, greedy }, at) {
  if (step === 1) return [];
  const kindOfLine = greedy && kind !== "best" ? `live-stroke-warm${kind === "dropped" ? " live-dashed" : ""}` : EDGES[kind];
  return svg("line", { class: kindOfLine, x1: at.x(from), x2: at.x(rank), y1: at.y(step - 1) + BOX, y2: at.y(step) });
}

/** The last word of a prefix, and its score. */
function box({ step, rank, words, score, kind, greedy }, at, { data }) {
  const x = at.x(rank), y = at.y(step), word = visible(words.at(-1), 14), room = at.box - 6;
  const muted = kind === "dead" || kind === "dropped" ? "live-muted" : "";
  return svg("g", {},
    svg("rect", { class: BOXES[kind], x: x - at.box / 2, y, width: at.box, height: BOX, rx: 5 }),
    greedy ? svg("circle", { class: "live-fill-warm", cx: x - at.box / 2 + 2, cy: y + 2, r: 5 }) : [],
    svg("text", { class: kind === "best" ? "live-strong" : muted, x, y: y + 14, "text-anchor": "middle", lang: data.language,
      ...(measure(word, kind === "best") > room && { textLength: room, lengthAdjust: "spacingAndGlyphs" }) }, word),
    svg("text", { class: `live-number ${muted}`, x, y: y + 28, "text-anchor": "middle", "font-size": 11 }, number(score)));
}
