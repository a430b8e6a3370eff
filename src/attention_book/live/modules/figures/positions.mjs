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

/* ---- the drawing, from above: where query and key stand, the curve over the offset, and, where angles make
   it, a clock for each pair of features ---- */
const SIDE = 14, QUERY = 40, KEY = 66;
const PLOT = { left: 34, right: 14, top: 138, height: 150 }, BOTTOM = PLOT.top + PLOT.height;
const LAST = 100;
const along = (position, width) => SIDE + (position / (LAST + FAR)) * (width - 2 * SIDE);
const xOf = (offset, width) => PLOT.left + ((offset + FAR) / (2 * FAR)) * (width - PLOT.left - PLOT.right);
const yOf = (value, [low, high]) => PLOT.top + PLOT.height * (1 - (Math.max(low, value) - low) / (high - low));
const turning = (scheme) => scheme === "rotary" || scheme === "sinusoidal";

/** The heights shown: fixed above, so that a curve that moves can be seen to move; below, down to 0 or
    as far as the curves go. ALiBi's steepest line leaves the picture. */
function rangeOf({ scheme, d }, { curve, reference }) {
  if (scheme === "alibi") return [-12, 0];
  const lowest = Math.min(0, ...[...curve, ...reference].map((numbers) => (numbers ? numbers[0] : 0)));
  return [Math.floor(lowest), scheme === "added" ? (5 * d) / 4 : d / 2];
}

function draw({ state, numbers, width }) {
  const clocks = turning(state.scheme) ? hands(numbers, BOTTOM + 52, width) : { height: 0, drawing: [] };
  const height = BOTTOM + 42 + clocks.height;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    places(state, width), plot(state, numbers, width), clocks.drawing);
}

/** The text, with the query above its line and the key below. */
function places({ position, offset }, width) {
  const key = position + offset, x = along(position, width), clamped = (at, room) => Math.max(room, Math.min(width - room, at));
  return [
    svg("path", { class: "live-axis", d: `M${along(0, width)} ${(QUERY + KEY) / 2}H${along(LAST + FAR, width)}` }),
    key < 0 ? [] : [
      svg("line", { class: "live-stroke", x1: x, y1: QUERY, x2: along(key, width), y2: KEY }),
      svg("circle", { class: "live-key live-full", cx: along(key, width), cy: KEY, r: 6 }),
      label([`键在 ${key}`, `key at ${key}`], { x: clamped(along(key, width), 34), y: KEY + 22, "text-anchor": "middle" }),
    ],
    label([`查询在 ${position}`, `query at ${position}`], { class: "live-strong", x: clamped(x, 40), y: 20, "text-anchor": "middle" }),
    svg("circle", { class: "live-handle live-query", cx: x, cy: QUERY, r: 9 }),
  ];
}

function plot(state, numbers, width) {
  const { curve, reference, marked, expected } = numbers, range = rangeOf(state, numbers), [low, high] = range, x = xOf(state.offset, width);
  const line = (points, head, kind) => svg("polyline", { class: kind, points: OFFSETS
    .map((offset, n) => points[n] && `${xOf(offset, width)},${yOf(points[n][head], range)}`).filter(Boolean).join(" ") });
  const lines = (points, kind) => reference[FAR].map((_, head) => line(points, head, kind));
  const one = state.scheme !== "alibi", apart = one && marked && Math.abs(marked[0] - expected[0]) > (high - low) / 12;
  const beside = (value, kind) => svg("text", { class: `live-number live-halo ${kind}`, y: yOf(value, range) + 5,
    x: x + (state.offset < FAR / 2 ? 14 : -14), "text-anchor": state.offset < FAR / 2 ? "start" : "end" }, number(value, 2));
  return [
    svg("path", { class: "live-axis", d: `M${PLOT.left} ${yOf(0, range)}H${width - PLOT.right}M${xOf(0, width)} ${PLOT.top}V${BOTTOM}` }),
    [low, 0, high].filter((value, n, all) => all.indexOf(value) === n).map((value) => svg("text",
      { class: "live-count live-number", x: PLOT.left - 6, y: yOf(value, range) + 4, "text-anchor": "end" }, number(value, 0))),
    label(["评分", "score"], { class: "live-muted", x: 0, y: PLOT.top - 16, "font-size": 12 }),
    svg("line", { class: "live-ghost", x1: width - 128, x2: width - 100, y1: PLOT.top - 20, y2: PLOT.top - 20 }),
    label([`查询在 ${REFERENCE} 时`, `query at ${REFERENCE}`], { class: "live-muted", x: width - 94, y: PLOT.top - 16, "font-size": 12 }),
    [-FAR, -FAR / 2, 0, FAR / 2, FAR].map((offset) => svg("text",
      { class: "live-count live-number", x: xOf(offset, width), y: BOTTOM + 16, "text-anchor": "middle" }, (offset > 0 ? "+" : "") + number(offset, 0))),
    label(["← 键在前", "← key before"], { class: "live-muted", x: PLOT.left, y: BOTTOM + 34, "font-size": 12 }),
    label(["键在后 →", "key after →"], { class: "live-muted", x: width - PLOT.right, y: BOTTOM + 34, "text-anchor": "end", "font-size": 12 }),
    svg("line", { class: "live-key-line live-dashed", x1: x, x2: x, y1: PLOT.top, y2: BOTTOM }),
    lines(reference, "live-ghost"), lines(curve, "live-stroke"), // where they coincide the curve lies in its ghost
    one ? [] : numbers.slopes.map((slope, head, all) => (head > 1 && head < all.length - 1 ? [] : label([`头 ${head + 1}`, `head ${head + 1}`], {
      class: "live-halo", "text-anchor": "end", "font-size": 12, x: width - PLOT.right - 2, y: yOf(Math.max(low, -slope * FAR), range) - (head ? -14 : 6) }))),
    marked && apart ? beside(expected[0], "live-muted") : [],
    marked ? [svg("circle", { class: "live-key live-full", cx: x, cy: yOf(marked[0], range), r: 6 }), one ? beside(marked[0], "live-strong") : []] : [],
  ];
}

/** A clock for each pair of features: the hand of the query, that of the key, and the angle between them. */
function hands({ turned, marked }, top, width) {
  const size = Math.max(40, Math.min(72, Math.floor(width / turned.length))), perRow = Math.min(turned.length, Math.floor(width / size));
  const rows = Math.ceil(turned.length / perRow), radius = 0.36 * size, start = (width - perRow * size) / 2;
  const tip = (angle, far = radius) => [far * Math.cos(angle), -far * Math.sin(angle)];
  const hand = (kind, angle) => svg("line", { class: kind, x1: 0, y1: 0, x2: tip(angle)[0], y2: tip(angle)[1] });
  const letter = (angle, text) => svg("text", { class: "live-count", x: tip(angle, radius + 8)[0], y: tip(angle, radius + 8)[1] + 4, "text-anchor": "middle" }, text);
  return {
    height: 44 + rows * size,
    drawing: [
      label(["两根针都跟着位置转，夹角只看位移", "both hands turn, the angle between them stays"],
        { class: "live-muted", x: width / 2, y: top + 12, "text-anchor": "middle", "font-size": 12 }),
      turned.map(([query, key], j) => svg("g", {
        transform: `translate(${start + ((j % perRow) + 0.5) * size} ${top + 26 + (Math.floor(j / perRow) + 0.5) * size})` },
        svg("circle", { class: "live-axis", r: radius }),
        marked ? [wedge(query, key, tip), hand("live-key-line", key)] : [], hand("live-query-line", query),
        j ? [] : [letter(query, "q"), marked ? letter(key, "k") : []])),
    ],
  };
}

/** The smaller angle between two hands, filled. */
function wedge(from, to, tip) {
  const between = ((((to - from) % (2 * Math.PI)) + 3 * Math.PI) % (2 * Math.PI)) - Math.PI, [x, y] = tip(from), [x2, y2] = tip(to);
  return svg("path", { class: "live-window", d: `M0 0L${x} ${y}A${Math.hypot(x, y)} ${Math.hypot(x, y)} 0 0 ${between > 0 ? 0 : 1} ${x2} ${y2}Z` });
}

const handles = ({ state, numbers, width }) => {
  const range = rangeOf(state, numbers), y = numbers.marked ? yOf(numbers.marked[0], range) : PLOT.top;
  const within = (value, least, most) => Math.max(least, Math.min(most, Math.round(value)));
  return [
    { x: along(state.position, width), y: QUERY, move: (x) => ({ position: within(((x - SIDE) / (width - 2 * SIDE)) * (LAST + FAR), 0, LAST) }) },
    { x: xOf(state.offset, width), y, move: (x) => ({ offset: within(((x - PLOT.left) / (width - PLOT.left - PLOT.right)) * 2 * FAR - FAR, -FAR, FAR) }) },
  ];
};

/* ---- the sentence and the table ---- */
function explain({ state, numbers }) {
  const { marked, expected, slopes } = numbers, i = state.position, k = state.offset;
  if (!marked) return [`位置从 0 数起，查询在 ${i}，往前 ${-k} 步已经没有词了：曲线在这里断开。`,
    `Positions start at 0. With the query at ${i} there is no word ${-k} places before it: the curve ends there.`];
  const here = number(marked[0], 3), there = number(expected[0], 3), far = Math.abs(k);
  const [zh, en] = k === 0 ? ["键就在查询那里", "the key is where the query is"]
    : k < 0 ? [`键总在它前面 ${far} 个词`, `the key stays ${far} before it`] : [`键总在它后面 ${far} 个词`, `the key stays ${far} after it`];
  if (state.scheme === "alibi") return [
    `相距 ${far}：头 1 的评分减 ${number(-marked[0], 2)}，头 ${slopes.length} 减 ${number(-marked.at(-1), 2)}。每个头的线只看远近，不分前后；查询挪到哪里都一样。`,
    `At a distance of ${far}, head 1 takes ${number(-marked[0], 2)} off the score and head ${slopes.length} takes ${number(-marked.at(-1), 2)}. A head's line knows how far, not on which side, and is the same wherever the query stands.`];
  if (i === REFERENCE) return [`查询在 ${i}，${zh}：评分 ${here}。把查询挪到别处，看曲线离不离开灰带。`,
    `With the query at ${i}, ${en}; the score is ${here}. Move the query and see whether the curve leaves the gray band.`];
  return here === there
    ? [`查询从 ${REFERENCE} 挪到 ${i}，${zh}，评分还是 ${here}。针都转了，夹角没变，整条曲线就没有动。`,
      `The query has moved from ${REFERENCE} to ${i}, ${en}, and the score is still ${here}. All hands have turned, no angle has changed, and so the curve has not moved.`]
    : [`查询从 ${REFERENCE} 挪到 ${i}，${zh}，评分却从 ${there} 变成 ${here}。编码先加到词上，点积里就多出“词乘位置”的项，它们看的是绝对位置。`,
      `The query has moved from ${REFERENCE} to ${i}, ${en}, and yet the score has gone from ${there} to ${here}. Added to a word, the encoding brings in terms of word times position, which depend on where one stands.`];
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
  title: ["查询与键在文字里的位置；评分随相对位移变化的曲线，与查询在 24 时的曲线相比；每一对特征的指针",
    "Where query and key stand in the text; the score as a curve over the offset, beside that of a query at 24; the hands of every pair of features"],
  controls: [
    { kind: "choice", key: "scheme", title: ["方法", "Scheme"], options: SCHEMES.map((scheme) => [scheme, NAMES[scheme]]) },
    { kind: "slider", key: "position", title: ["挪查询", "Move the query"], min: 0, max: LAST, step: 1 },
    { kind: "slider", key: "offset", title: ["键离查询几步", "Key's offset"], min: -FAR, max: FAR, step: 1, write: (offset) => number(offset, 0) },
  ],
});
