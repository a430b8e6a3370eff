/* Where words and ribbons stand. A scene is plain numbers, so that one can be drawn between two others.
   Wide: the source above its translation. Narrow, for phones: two columns, a row for each word. */

export const DRAWN = 0.12; // a lighter look is no ribbon
const WIDE = 880, NARROW = 328, ROW = 33;
const LARGE = 29, GAP = 15;

/** About how wide a letter of a serif font is, in heights. */
const breadth = (letter) => (letter > "\u2e80" ? 1.05 : /[mwMW]/.test(letter) ? 0.92 : /[ijlt.,'’!;:|]/.test(letter) ? 0.36
  : /[frs]/.test(letter) ? 0.48 : /[A-Z]/.test(letter) ? 0.72 : 0.6);
const measure = (text) => [...text].reduce((sum, letter) => sum + breadth(letter), 0);

/** A scene. `words`: { source, target }, each [{ key, text, place }]; `weights[i][j]`;
    `cut(target, source)`: whether a look is cut, null stands for all; `ghosts`: cut looks of both words'
    places. Returns { width, height, narrow, size, words: [{ key, … x, y }], ribbons: [{ key, … }] }. */
export function scene({ source, target, weights, ghosts, narrow }) {
  const size = narrow ? 18 : Math.min(LARGE, ...[source, target].map((words) =>
    (WIDE - GAP * words.length) / words.reduce((sum, { text }) => sum + measure(text), 0)));
  const placed = narrow ? inColumns(source, target, size) : inRows(source, target, size);
  const from = new Map(placed.source.map((word) => [word.place, word]));
  const onto = new Map(placed.target.map((word) => [word.place, word]));
  const ribbon = (i, j, weight, ghost) => ({
    key: `${onto.get(i).key}-${from.get(j).key}`, name: `${i}-${j}`, target: i, source: j, weight, ghost,
    x0: from.get(j).edge.x, y0: from.get(j).edge.y, x1: onto.get(i).edge.x, y1: onto.get(i).edge.y,
    breadth: ghost ? 0 : weight * (narrow ? ROW * 0.62 : size * 0.95),
  });
  const ribbons = [...onto.keys()].flatMap((i) => [...from.keys()]
    .filter((j) => weights[i]?.[j] >= DRAWN).map((j) => ribbon(i, j, weights[i][j], false)));
  for (const [i, j] of ghosts) if (onto.has(i) && from.has(j)) ribbons.push(ribbon(i, j, 0, true));
  const rows = Math.max(source.length, target.length);
  return {
    narrow, size, width: narrow ? NARROW : WIDE, height: narrow ? rows * ROW : Math.round(size * 8.6 + 4),
    words: [...placed.source, ...placed.target], ribbons: ribbons.sort((a, b) => a.weight - b.weight),
  };
}

function inRows(source, target, size) {
  const line = (words, side, y, edge) => {
    const widths = words.map(({ text }) => measure(text) * size + 1);
    const total = widths.reduce((sum, width) => sum + width, 0) + GAP * (words.length - 1);
    let x = (WIDE - total) / 2;
    return words.map((word, i) => {
      const middle = x + widths[i] / 2;
      x += widths[i] + GAP;
      return { ...word, side, x: middle, y, width: widths[i] + GAP, anchor: "middle", edge: { x: middle, y: edge } };
    });
  };
  const top = size * 1.7, bottom = size * 7.5;
  return { source: line(source, "source", top, top + size * 0.5), target: line(target, "target", bottom, bottom - size * 0.95) };
}

function inColumns(source, target, size) {
  const widest = Math.max(...source.map(({ text }) => measure(text) * size));
  const left = Math.max(84, widest + 8), right = NARROW - 112, rows = Math.max(source.length, target.length);
  const column = (words, side, x, edge, anchor) => words.map((word, i) => {
    const middle = (ROW * (i + 0.5) * rows) / words.length;
    return { ...word, side, x, y: middle + size * 0.35, width: 92, anchor, edge: { x: edge, y: middle } };
  });
  return { source: column(source, "source", left - 6, left, "end"), target: column(target, "target", right + 6, right, "start") };
}

/** What lies between two scenes: `share` from 0 to 1. Words and ribbons that are new grow, those that go shrink. */
export function between(before, after, share) {
  const mix = (a, b) => a + (b - a) * share;
  const blend = (list, numbers, start, end) => {
    const old = new Map(before[list].map((each) => [each.key, each])), now = new Set(after[list].map((each) => each.key));
    const kept = after[list].map((each) => {
      const from = old.get(each.key) ?? { ...each, ...start };
      return { ...each, ...Object.fromEntries(numbers.map((name) => [name, mix(from[name], each[name])])) };
    });
    const gone = before[list].filter((each) => !now.has(each.key)).map((each) =>
      ({ ...each, leaving: true, ...Object.fromEntries(numbers.map((name) => [name, mix(each[name], { ...each, ...end }[name])])) }));
    return [...gone, ...kept];
  };
  return {
    ...after,
    words: blend("words", ["x", "y", "ink"], { ink: 0 }, { ink: 0 }),
    ribbons: blend("ribbons", ["x0", "y0", "x1", "y1", "breadth", "weight"], { breadth: 0 }, { breadth: 0 }),
  };
}

/** The outline of a ribbon, and the line along its middle. */
export function outline({ x0, y0, x1, y1, breadth }, narrow) {
  const n = (value) => Math.round(value * 10) / 10, h = breadth / 2;
  if (narrow) {
    const m = n((x0 + x1) / 2);
    return {
      area: `M${n(x0)} ${n(y0 - h)}C${m} ${n(y0 - h)} ${m} ${n(y1 - h)} ${n(x1)} ${n(y1 - h)}V${n(y1 + h)}C${m} ${n(y1 + h)} ${m} ${n(y0 + h)} ${n(x0)} ${n(y0 + h)}Z`,
      line: `M${n(x0)} ${n(y0)}C${m} ${n(y0)} ${m} ${n(y1)} ${n(x1)} ${n(y1)}`,
    };
  }
  const m = n((y0 + y1) / 2);
  return {
    area: `M${n(x0 - h)} ${n(y0)}C${n(x0 - h)} ${m} ${n(x1 - h)} ${m} ${n(x1 - h)} ${n(y1)}H${n(x1 + h)}C${n(x1 + h)} ${m} ${n(x0 + h)} ${m} ${n(x0 + h)} ${n(y0)}Z`,
    line: `M${n(x0)} ${n(y0)}C${n(x0)} ${m} ${n(x1)} ${m} ${n(x1)} ${n(y1)}`,
  };
}
