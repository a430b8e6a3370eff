/* The words in rows. Under each a disc: how much layer 2 looks at it; and the note of layer 1: what stood before. */
import { label, number, svg, visible } from "../../page/words.mjs";

const RING = 13, ROW = 96, BAR = 26;

export function draw({ state, numbers, width }) {
  const { words, asks, after, guesses, looks, before } = numbers;
  if (!words.length) return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} 40`, width, height: 40 });
  const widest = Math.max(...words.map((word) => [...word].reduce((sum, letter) => sum + (letter > "\u2e80" ? 14 : 8), 12)));
  const columns = Math.min(words.length, Math.floor(width / Math.max(46, Math.min(72, widest)))), cell = Math.min(90, width / columns);
  const first = guesses.slice(0, 3), rest = 1 - first.reduce((sum, { chance }) => sum + chance, 0);
  const bars = [...first, { word: null, chance: rest }], rows = Math.ceil(words.length / columns);
  const top = rows * ROW + 26, height = top + bars.length * BAR + 6, most = Math.floor(cell / 8.5), name = (word, attributes) => svg("text", { "text-anchor": "middle", translate: "no", ...attributes }, visible(word, most));
  const long = width - 190;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    words.map((word, place) => {
      const x = ((place % columns) + 0.5) * cell, y = Math.floor(place / columns) * ROW, found = after.includes(place);
      return svg("g", {},
        place === asks ? svg("rect", { class: "live-query-line", x: x - cell / 2 + 3, y: y + 3, width: cell - 6, height: 24, rx: 5 }) : [],
        name(word, { class: place === asks || found ? "live-strong" : "", x, y: y + 20 }),
        place <= asks ? [
          svg("circle", { class: "live-ring", cx: x, cy: y + 46, r: RING }),
          svg("circle", { class: "live-weight-fill", cx: x, cy: y + 46, r: RING * Math.sqrt(looks[place]) }),
        ] : [],
        place && place <= asks && before[place] > 0 ? name(`‹${words[place - 1]}`, {
          class: found ? "live-strong" : "live-count", x, y: y + 78 }) : []);
    }),
    label(["下一个词", "next word"], { class: "live-muted", x: 0, y: top - 8, "font-size": 12 }),
    bars.map(({ word, chance }, i) => {
      const y = top + i * BAR;
      return svg("g", {},
        word === null ? label(["别的词，合起来", "all other words"], { class: "live-muted", x: 0, y: y + 16 }) : svg("text", { class: i ? "" : "live-strong", translate: "no", x: 0, y: y + 16 }, visible(word, 14)),
        svg("rect", { class: "live-share", x: 128, y: y + 3, width: Math.max(1, long * chance), height: BAR - 9 }),
        svg("text", { class: "live-number", x: 134 + long * chance, y: y + 16 }, number(chance, 2)));
    }),
    state.cut === "1" ? label(["第一层的笔记剪断了", "layer 1 writes no note"], { class: "live-alarm-text", x: width, y: top - 8, "text-anchor": "end", "font-size": 12 }) : []);
}
