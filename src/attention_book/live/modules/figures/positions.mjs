/* Positions: what a query at position i makes of a key at position i + offset, by four schemes. What
   depends on the offset alone does not move when i does. */
import { between, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

const NAMES = {
  sinusoidal: ["正弦编码", "sinusoids"], added: ["词＋编码", "word + sinusoids"],
  rotary: ["旋转（RoPE）", "rotary (RoPE)"], alibi: ["ALiBi", "ALiBi"],
};
const SCHEMES = Object.keys(NAMES);
const FAR = 24; // how many places are shown on either side
export const REFERENCE = 24; // the query of the dashed curve: the first with so many places before it
const OFFSETS = Array.from({ length: 2 * FAR + 1 }, (_, n) => n - FAR);

const begin = { scheme: "sinusoidal", position: 40, offset: 6, d: 32, power: 4, phase: 0, heads: 8 };
const whole = (least, most) => (text) => {
  const value = between(least, most)(text);
  return Number.isInteger(value) ? value : undefined;
};
const even = (least, most) => (text) => (whole(least, most)(text) % 2 === 0 ? Number(text) : undefined);
const address = {
  scheme: oneOf(SCHEMES), position: whole(0, 100), offset: whole(-FAR, FAR), d: even(2, 32),
  power: between(1, 5), phase: whole(-180, 180), heads: whole(1, 16),
};

/** How far each pair of features turns in a step, in radians: the first pair turns fastest. */
const frequenciesOf = (d, base) => Array.from({ length: d / 2 }, (_, j) => base ** ((-2 * j) / d));
const dot = (a, b) => a.reduce((sum, value, c) => sum + value * b[c], 0);

/** The sinusoidal encoding of a position: sine and cosine of every angle. */
const encoding = (position, frequencies) =>
  frequencies.flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);

/** Turn every pair of features by an angle that grows with the position (RoPE). */
function rotated(x, position, frequencies) {
  return frequencies.flatMap((frequency, j) => {
    const cos = Math.cos(position * frequency), sin = Math.sin(position * frequency);
    return [x[2 * j] * cos - x[2 * j + 1] * sin, x[2 * j] * sin + x[2 * j + 1] * cos];
  });
}

/** The slopes of ALiBi's heads, filled up from the next power of two as its authors do. */
export function slopesOf(heads) {
  const falling = (count) => Array.from({ length: count }, (_, h) => 2 ** ((-8 * (h + 1)) / count));
  const below = 2 ** Math.floor(Math.log2(heads));
  return [...falling(below), ...falling(2 * below).filter((_, h) => h % 2 === 0).slice(0, heads - below)];
}

/** For each scheme (i, j) → numbers: one for each head of ALiBi, else one. */
const pairsOf = ({ d, power, phase, heads }) => {
  const frequencies = frequenciesOf(d, 10 ** power), at = (position) => encoding(position, frequencies);
  const word = Array(d).fill(0.5), withWord = (position) => at(position).map((value, c) => value + word[c]);
  const turn = (phase * Math.PI) / 180; // by so much the key's content is ahead of the query's, in every pair
  const query = frequencies.flatMap(() => [1, 0]), key = frequencies.flatMap(() => [Math.cos(turn), Math.sin(turn)]);
  return {
    sinusoidal: (i, j) => [dot(at(i), at(j))],
    added: (i, j) => [dot(withWord(i), withWord(j))],
    rotary: (i, j) => [dot(rotated(query, i, frequencies), rotated(key, j, frequencies))],
    alibi: (i, j) => slopesOf(heads).map((slope) => -slope * Math.abs(i - j)),
  };
};

/** All numbers: `curve` and `reference` have for each offset one number for each line, or null where a
    key would stand before the first; `turned` are the angles of query and marked key in every pair. */
export function compute(state) {
  const pairs = pairsOf(state)[state.scheme], frequencies = frequenciesOf(state.d, 10 ** state.power);
  const from = (i) => OFFSETS.map((offset) => (i + offset < 0 ? null : pairs(i, i + offset)));
  const key = state.position + state.offset, phase = state.scheme === "rotary" ? (state.phase * Math.PI) / 180 : 0;
  const curve = from(state.position), reference = from(REFERENCE);
  return {
    curve, reference, marked: curve[state.offset + FAR], expected: reference[state.offset + FAR],
    turned: frequencies.map((frequency) => [state.position * frequency, key * frequency + phase]),
    frequencies, slopes: slopesOf(state.heads),
  };
}

/* ---- the drawing: the curve over the offset, below it a clock for each pair of features ---- */
const PLOT = { left: 44, right: 16, top: 40, height: 170 };
const xOf = (offset, width) => PLOT.left + ((offset + FAR) / (2 * FAR)) * (width - PLOT.left - PLOT.right);
const yOf = (value, [low, high]) => PLOT.top + PLOT.height * (1 - (value - low) / (high - low));

/** The heights shown: fixed above, so that a curve that moves can be seen to move; below, down to 0 or
    as far as the curves go. ALiBi's steepest line leaves the picture. */
function rangeOf({ scheme, d }, { curve, reference }) {
  if (scheme === "alibi") return [-12, 0];
  const lowest = Math.min(0, ...[...curve, ...reference].map((numbers) => (numbers ? numbers[0] : 0)));
  return [Math.floor(lowest), scheme === "added" ? (5 * d) / 4 : d / 2];
}

function draw({ state, numbers, width }) {
  const below = PLOT.top + PLOT.height + 54, clocks = state.scheme === "alibi"
    ? factors(state, numbers, below, width) : hands(state, numbers, below, width);
  const height = below + clocks.height;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    plot(state, numbers, width), clocks.drawing);
}

function plot(state, numbers, width) {
  const { curve, reference, marked } = numbers, range = rangeOf(state, numbers), [low, high] = range, x = xOf(state.offset, width), bottom = PLOT.top + PLOT.height;
  const line = (points, head, kind) => svg("polyline", { class: kind, points: OFFSETS
    .map((offset, n) => points[n] && `${xOf(offset, width)},${yOf(Math.max(low, points[n][head]), range)}`).filter(Boolean).join(" ") });
  const lines = (points, kind) => reference[FAR].map((_, head) => line(points, head, kind));
  const zero = yOf(0, range);
  return [
    svg("path", { class: "live-axis", d: `M${PLOT.left} ${zero}H${width - PLOT.right}M${xOf(0, width)} ${PLOT.top}V${bottom}` }),
    [low, 0, high].filter((value, n, all) => all.indexOf(value) === n).map((value) => svg("text",
      { class: "live-number", x: PLOT.left - 6, y: yOf(value, range) + 4, "text-anchor": "end" }, number(value, 0))),
    [-FAR, -FAR / 2, 0, FAR / 2, FAR].map((offset) => svg("text",
      { class: "live-number", x: xOf(offset, width), y: bottom + 16, "text-anchor": "middle" }, (offset > 0 ? "+" : "") + number(offset, 0))),
    label(["相对位移 j − i", "offset j − i"], { class: "live-count", x: PLOT.left + (width - PLOT.left - PLOT.right) / 2, y: bottom + 36, "text-anchor": "middle" }),
    svg("line", { class: "live-axis live-dashed", x1: x, x2: x, y1: PLOT.top, y2: bottom }),
    lines(reference, "live-stroke-warm live-under"), lines(curve, "live-stroke"), // where they coincide both show
    legend([["live-stroke", ["这个查询", "this query"]], ["live-stroke-warm live-under", [`查询在 ${REFERENCE}`, `query at ${REFERENCE}`]]], 18),
    state.scheme === "alibi" ? [] : OFFSETS.map((offset, n) => curve[n] && svg("circle",
      { class: "live-fill", cx: xOf(offset, width), cy: yOf(curve[n][0], range), r: 2 })).filter(Boolean),
    marked ? svg("circle", { class: "live-handle", cx: x, cy: yOf(Math.max(low, marked[0]), range), r: 7 }) : [],
  ];
}

/** What the lines mean. */
const legend = (items, y) => items.map(([kind, text], n) => [
  svg("line", { class: kind, x1: 4 + n * 124, x2: 26 + n * 124, y1: y - 4, y2: y - 4 }),
  label(text, { x: 32 + n * 124, y }),
]);

/** A clock for each pair of features: the hand of the query, and that of the marked key. */
function hands(state, { turned }, top, width) {
  const size = Math.max(40, Math.min(64, Math.floor(width / turned.length))), perRow = Math.min(turned.length, Math.floor(width / size));
  const rows = Math.ceil(turned.length / perRow), radius = 0.4 * size, start = (width - perRow * size) / 2, key = state.position + state.offset;
  const tip = (angle) => ({ x2: radius * Math.cos(angle), y2: -radius * Math.sin(angle) });
  return {
    height: 62 + rows * size,
    drawing: [
      legend([["live-stroke-warm", `q: i = ${state.position}`], ["live-stroke", `k: j = ${key < 0 ? "–" : key}`]], top + 14),
      turned.map(([query, other], j) => svg("g", {
        transform: `translate(${start + ((j % perRow) + 0.5) * size} ${top + 30 + (Math.floor(j / perRow) + 0.5) * size})` },
        svg("circle", { class: "live-axis", r: radius }),
        key < 0 ? [] : svg("line", { class: "live-stroke", x1: 0, y1: 0, ...tip(other) }),
        svg("line", { class: "live-stroke-warm", x1: 0, y1: 0, ...tip(query) }))),
      label(["每对特征一根指针，从转得最快的到最慢的", "a hand for each pair of features, fastest to slowest"],
        { class: "live-count", x: width / 2, y: top + 50 + rows * size, "text-anchor": "middle" }),
    ],
  };
}

/** By what ALiBi multiplies the weight of the marked key in each head. */
function factors(state, { slopes }, top, width) {
  const room = (width - 8) / slopes.length, HEIGHT = 60;
  return {
    height: HEIGHT + 44,
    drawing: [
      label([`距离 ${Math.abs(state.offset)}：各个头的权重乘以`, `distance ${Math.abs(state.offset)}: each head's weight is multiplied by`], { x: 4, y: top + 8 }),
      slopes.map((slope, h) => {
        const factor = Math.exp(-slope * Math.abs(state.offset)), x = 4 + h * room;
        return [
          svg("rect", { class: "live-now", x: x + 1, y: top + 20, width: room - 2, height: HEIGHT }),
          svg("rect", { class: "live-fill", x: x + 2, y: top + 20 + (1 - factor) * HEIGHT, width: room - 4, height: factor * HEIGHT }),
          svg("text", { class: "live-count", x: x + room / 2, y: top + HEIGHT + 36, "text-anchor": "middle" }, String(h + 1)),
        ];
      }),
    ],
  };
}

const handles = ({ state, numbers, width }) => {
  const range = rangeOf(state, numbers), y = numbers.marked ? yOf(Math.max(range[0], numbers.marked[0]), range) : PLOT.top;
  return [{
    x: xOf(state.offset, width), y,
    move: (x) => ({ offset: Math.max(-FAR, Math.min(FAR, Math.round(((x - PLOT.left) / (width - PLOT.left - PLOT.right)) * 2 * FAR - FAR))) }),
  }];
};

/* ---- the sentence and the table ---- */
function explain({ state, numbers }) {
  const { marked, expected, slopes } = numbers, i = state.position, k = state.offset, j = i + k;
  if (!marked) return [`位置从 0 数起，查询在位置 ${i}，往前 ${-k} 步已经没有词了：曲线在这里断开。`,
    `Positions start at 0. With the query at ${i} there is no word ${-k} places before it: the curve ends there.`];
  const here = number(marked[0], 3), there = number(expected[0], 3), other = REFERENCE + k;
  return {
    sinusoidal: [`位置 ${i} 与 ${j} 的点积是 ${here}；位置 ${REFERENCE} 与 ${other}（虚线）也是 ${there}。移动查询的位置，每根指针都在转，两根指针的夹角却不变，所以曲线不动。`,
      `The dot product of positions ${i} and ${j} is ${here}; that of ${REFERENCE} and ${other} (dashed) is ${there} as well. Move the query: every hand turns, the angle between two hands stays, and so does the curve.`],
    added: here === there
      ? [`位置 ${i} 与 ${j} 得 ${here}，和虚线（查询在位置 ${REFERENCE}）一样。移动查询的位置，看两条曲线怎样分开。`,
        `Positions ${i} and ${j} give ${here}, as on the dashed curve (query at ${REFERENCE}). Move the query and see the curves part.`]
      : [`位置 ${i} 与 ${j} 得 ${here}，位置 ${REFERENCE} 与 ${other}（虚线）得 ${there}：位移一样，结果不同。编码先加到词上，点积里就多出“词乘位置”的项，它们看的是绝对位置。`,
        `Positions ${i} and ${j} give ${here}, positions ${REFERENCE} and ${other} (dashed) ${there}: the same offset, another product. Added to a word, the encoding brings in terms of word times position, which depend on where one stands.`],
    rotary: [`位置 ${i} 的查询对位置 ${j} 的键得 ${here}，从位置 ${REFERENCE} 看 ${other} 也是 ${there}：转角相减，只剩位移。${state.phase ? "键的内容转了一个角，曲线左右不对称：分得清前后。" : "查询与键的内容相同，曲线左右对称；转一转键的内容试试。"}`,
      `The query at ${i} gives the key at ${j} a score of ${here}, and from ${REFERENCE} to ${other} it is ${there} as well: angles subtract, and only the offset is left. ${state.phase ? "The key's content is turned, and the curve is lopsided: before and after differ." : "Query and key have the same content, and the curve is symmetric; try turning the key's content."}`],
    alibi: [`相距 ${Math.abs(k)}：头 1 的评分减 ${number(-marked[0], 2)}，头 ${slopes.length} 减 ${number(-marked.at(-1), 2)}。每个头的曲线都是两条直线，前后对称；查询移到哪里都不变。`,
      `At a distance of ${Math.abs(k)}, head 1 takes ${number(-marked[0], 2)} off the score and head ${slopes.length} takes ${number(-marked.at(-1), 2)}. Each head is a straight line on either side, the same before and after, wherever the query stands.`],
  }[state.scheme];
}

function table({ state, numbers }) {
  const heads = state.scheme === "alibi" ? numbers.slopes.map((_, h) => [`头 ${h + 1}`, `head ${h + 1}`]) : [["评分", "score"]];
  return {
    columns: [["位移", "offset"], ["键的位置", "key's position"], ...heads],
    rows: OFFSETS.map((offset, n) => [number(offset, 0), numbers.curve[n] ? String(state.position + offset) : "–",
      ...heads.map((_, h) => (numbers.curve[n] ? number(numbers.curve[n][h], 3) : "–"))]),
  };
}

export default figure({
  begin, address, compute, draw, explain, table, handles,
  title: ["查询与前后各个位置的键的评分，随相对位移变化的曲线；下面是每一对特征的指针",
    "The score of a query with keys before and after it, as a curve over the offset; below, the hands of every pair of features"],
  controls: [
    { kind: "choice", key: "scheme", title: ["方法", "Scheme"], options: SCHEMES.map((scheme) => [scheme, NAMES[scheme]]) },
    { kind: "slider", key: "position", title: ["查询的位置 i", "Query's position i"], min: 0, max: 100, step: 1 },
    { kind: "slider", key: "offset", title: ["键的位移 j − i", "Key's offset j − i"], min: -FAR, max: FAR, step: 1, write: (offset) => number(offset, 0) },
    { kind: "slider", key: "d", title: ["特征数 d", "Features d"], min: 2, max: 32, step: 2 },
    { kind: "slider", key: "power", title: ["底数", "Base"], min: 1, max: 5, step: 0.5, write: (power) => String(Math.round(10 ** power)) },
    { kind: "slider", key: "phase", title: ["RoPE：键的内容转", "RoPE: turn key by"], min: -180, max: 180, step: 5, write: (phase) => `${number(phase, 0)}°` },
    { kind: "slider", key: "heads", title: ["ALiBi：头数", "ALiBi: heads"], min: 1, max: 16, step: 1 },
  ],
});
