/* Online softmax: keys arrive tile by tile, and three numbers are kept: maximum, sum, weighted sum. */
import { between, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

/** The desk of the first chapter, and a longer row of made-up numbers; the largest score is a part of the state. */
export const ROWS = {
  desk: {
    name: ["书桌：5 个键", "the desk: 5 keys"], moved: 3,
    names: [["散页", "sheets"], ["报纸", "paper"], ["本子", "notes"], ["书", "book"], ["红杯", "cup"]],
    scores: [1.5, 3, 2, 5, 0], values: [1, 16, 40, 300, 0],
  },
  long: {
    name: ["一长行：24 个键", "a long row: 24 keys"], moved: 16, names: [],
    scores: [1.6, 2.4, 0.7, 2, 2.8, 1.3, 3.6, 0.1, 2.2, 2.5, 1.5, 3.2, 4.3, 1.8, 2.6, 0.4, 5, 2.3, 2.1, 3.5, 2.9, 1.4, 2.7, 1.9],
    values: [12, 40, 7, 25, 60, 33, 18, 51, 9, 27, 44, 15, 80, 36, 5, 22, 300, 48, 13, 66, 31, 20, 57, 10],
  },
};
const SIZES = [1, 2, 3, 4, 5, 6, 8, 12, 24];
const SHOWN = [3, 6, 12, 24]; // sizes that are offered
const KEPT = 3; // m, s and u, for values of one number

const begin = { row: "long", tile: 6, step: 3, score: 5 };
const address = {
  row: oneOf(Object.keys(ROWS)), tile: oneOf(SIZES), step: oneOf(Array.from({ length: 24 }, (_, i) => i + 1)), score: between(-2, 8),
};
const NOTHING = { m: -Infinity, s: 0, u: 0 };

/** What some keys contribute: largest score, sum of the exponentials, sum with the values. */
export function partOf(scores, values) {
  const m = Math.max(...scores), powers = scores.map((score) => Math.exp(score - m));
  return { m, s: powers.reduce((a, b) => a + b, 0), u: powers.reduce((sum, power, i) => sum + power * values[i], 0) };
}

/** Two parts together. Each was counted from its own maximum; a factor brings both to the larger one. */
export function merge(one, two) {
  const m = Math.max(one.m, two.m), first = Math.exp(one.m - m), second = Math.exp(two.m - m);
  return { m, s: first * one.s + second * two.s, u: first * one.u + second * two.u, first, second };
}

export function compute({ row, tile, step, score }) {
  const { values, moved } = ROWS[row], scores = ROWS[row].scores.map((each, i) => (i === moved ? score : each));
  const tiles = [];
  for (let start = 0; start < scores.length; start += tile) {
    const end = Math.min(start + tile, scores.length), before = tiles.at(-1)?.now ?? NOTHING;
    const part = partOf(scores.slice(start, end), values.slice(start, end)), now = merge(before, part);
    tiles.push({ start, end, before, part, now, output: now.u / now.s });
  }
  const whole = partOf(scores, values); // the whole row at once
  return {
    scores, values, tiles,
    step: Math.min(step, tiles.length), // a row may have fewer tiles than before
    weights: scores.map((each) => Math.exp(each - whole.m) / whole.s), output: whole.u / whole.s,
    memory: { row: scores.length, tiles: Math.min(tile, scores.length) + KEPT },
  };
}

/* ---- the drawing: the bars of the keys; s and u as lengths, of which the earlier part shrinks where m rises;
   the output after each tile ---- */
const TOP = 58, BARS = 92, SUM = 66;

/** Bars are counted from the largest score so far: when it grows, all bars before it shrink. */
function draw({ state, numbers, width }) {
  const room = width / numbers.scores.length, sums = TOP + BARS + (state.row === "desk" ? 62 : 40), track = sums + 2 * SUM + 44;
  const { before, now } = numbers.tiles[numbers.step - 1], rises = before.s > 0 && now.m > before.m;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${track + 112}`, width, height: track + 112 },
    label(rises ? [`最大的评分 m 从 ${number(before.m, 1)} 升到 ${number(now.m, 1)}，旧条缩短`, `largest score m: from ${number(before.m, 1)} to ${number(now.m, 1)}, old bars shrink`]
      : [`最大的评分 m = ${number(now.m, 1)}`, `largest score m = ${number(now.m, 1)}`], { class: "live-strong", x: 0, y: 18 }),
    svg("g", { transform: `translate(0 ${TOP})` }, keys(state, numbers, room, width)),
    svg("g", { transform: `translate(0 ${sums})` }, sum("s", numbers, 3, width)),
    svg("g", { transform: `translate(0 ${sums + SUM})` }, sum("u", numbers, 1, width)),
    svg("g", { transform: `translate(0 ${track})` }, outputs(numbers, width)));
}

/** The keys: gone, here, or still to come. Of those that are gone only the sum is left. */
function keys(state, { scores, tiles, step }, room, width) {
  const { now, before, start: first, end: last } = tiles[step - 1], names = ROWS[state.row].names;
  const bar = (j, height, kind) => svg("rect", {
    class: kind, x: j * room + 0.12 * room, width: 0.76 * room, y: 8 + (BARS - 8) * (1 - height), height: (BARS - 8) * height,
  });
  const above = (text, from, to, kind) => ((to - from) * room < 44 ? []
    : label(text, { class: kind, x: Math.max(30, Math.min(width - 30, (from + to) / 2 * room)), y: -8, "text-anchor": "middle", "font-size": 12 }));
  return [
    above(["已丢掉", "gone"], 0, first, "live-muted"),
    label(["这一块", "this tile"], { class: "live-strong", x: Math.max(24, Math.min(width - 24, (first + last) / 2 * room)), y: -8, "text-anchor": "middle", "font-size": 12 }),
    above(["还没来", "to come"], last, scores.length, "live-muted"),
    tiles.map(({ start, end }, t) => svg("g", {},
      svg("rect", { class: t + 1 === step ? "live-now" : "live-axis", x: start * room + 1.5, y: 1, width: (end - start) * room - 3, height: BARS + 4, rx: 4 }),
      scores.slice(start, end).map((score, i) => (t + 1 > step ? [] : [
        bar(start + i, Math.exp(score - now.m), t + 1 === step ? "live-fill-warm" : "live-bar"),
        t + 1 < step && now.m > before.m ? bar(start + i, Math.exp(score - before.m), "live-axis live-dashed") : [],
      ])),
      scores.slice(start, end).map((score, i) => (names.length ? [
        svg("text", { class: "live-number", x: (start + i + 0.5) * room, y: BARS + 20, "text-anchor": "middle", "font-size": 12 }, number(score, 1)),
        label(names[start + i], { x: (start + i + 0.5) * room, y: BARS + 39, "text-anchor": "middle", "font-size": 12 }),
      ] : [])),
      names.length || (end - start) * room < 14 ? [] : svg("text", { class: "live-count", x: (start + end) / 2 * room, y: BARS + 20, "text-anchor": "middle" }, String(t + 1)))),
  ];
}

const SUMS = { s: ["分母", "denominator"], u: ["加权和", "weighted sum"] };

/** One of the sums that are kept, as a length: what it was, times its factor, and what this tile adds. */
function sum(name, { tiles, step }, digits, width) {
  const { before, part, now } = tiles[step - 1], most = Math.max(...tiles.map((tile) => Math.max(tile.before[name], tile.now[name])));
  const long = (value) => (width - 4) * value / most, kept = now.first * before[name] || 0, added = now.second * part[name];
  const times = (value, factor) => number(value, digits) + (factor === 1 ? "" : ` × ${number(factor, 3)}`);
  const made = before.s ? ` = ${times(before[name], now.first)} + ${times(part[name], now.second)} ≈ ` : " = ";
  return [
    label(SUMS[name].map((words) => [`${words} `, svg("tspan", { class: "live-strong" }, name), made,
      svg("tspan", { class: "live-strong" }, number(now[name], digits))]), { class: "live-number", x: 0, y: 12 }),
    svg("rect", { class: "live-bar", x: 0, y: 25, width: long(kept), height: 20 }),
    svg("rect", { class: "live-fill-warm", x: long(kept), y: 25, width: long(added), height: 20 }),
    before.s && now.first < 1 ? svg("rect", { class: "live-axis live-dashed", x: 0.5, y: 25, width: long(before[name]), height: 20 }) : [],
  ];
}

/** The output after each tile, on its way to what softmax over the whole row gives. */
function outputs({ tiles, step, output }, width) {
  const LEFT = 36, RIGHT = 12, HIGH = 62, most = Math.max(output, ...tiles.map((tile) => tile.output)) * 1.08;
  const x = (t) => (tiles.length === 1 ? (LEFT + width - RIGHT) / 2 : LEFT + (width - LEFT - RIGHT) * (t - 1) / (tiles.length - 1));
  const y = (value) => 14 + HIGH * (1 - value / most);
  const done = tiles.slice(0, step).map((tile, t) => `${x(t + 1)} ${y(tile.output)}`);
  return [
    label([`输出 u/s = ${number(tiles[step - 1].output, 1)}`, `output u/s = ${number(tiles[step - 1].output, 1)}`], { x: 0, y: -12, class: "live-strong" }),
    label(["虚线：整行一次算", "dashed: whole row at once"], { x: width, y: -12, "font-size": 12, class: "live-muted", "text-anchor": "end" }),
    svg("line", { class: "live-axis", x1: LEFT - 8, x2: width, y1: y(0), y2: y(0) }),
    svg("line", { class: "live-stroke live-dashed", x1: LEFT - 8, x2: width, y1: y(output), y2: y(output) }),
    svg("text", { class: "live-number", x: 0, y: y(output) + 4, "font-size": 11 }, number(output, 0)),
    svg("path", { class: "live-stroke", d: `M${done.join("L")}` }),
    tiles.map((tile, t) => (t < step
      ? svg("circle", { class: "live-fill", cx: x(t + 1), cy: y(tile.output), r: t + 1 === step ? 5 : 3.5 })
      : svg("circle", { class: "live-axis", cx: x(t + 1), cy: y(0), r: 3 }))),
    tiles.length > 13 && width < 500 ? [] : tiles.map((_, t) => svg("text", { class: "live-count", x: x(t + 1), y: y(0) + 16, "text-anchor": "middle" }, String(t + 1))),
  ];
}

function explain({ numbers: { tiles, step, memory } }) {
  const { before, now, output } = tiles[step - 1], last = step === tiles.length;
  const result = number(output, 1), score = number(now.m, 1), old = number(before.m, 1), factor = number(now.first, 3);
  const story = step === 1
    ? [`第 1 块：最大评分 m = ${score}，分母 s = ${number(now.s, 3)}，算到这里是 ${result}。`,
      `Tile 1: the largest score is m = ${score}, the denominator s = ${number(now.s, 3)}, and the result so far ${result}.`]
    : now.m > before.m
      ? [`第 ${step} 块里有更大的评分，m 从 ${old} 升到 ${score}：此前的 s 和 u 一起乘以 e^(${old} − ${score}) ≈ ${factor}（虚线框缩成实条），再加上这一块。`,
        `Tile ${step} has a larger score, and m rises from ${old} to ${score}: the earlier s and u are both multiplied by e^(${old} − ${score}) ≈ ${factor} (from the dashed outline to the pale bar), and the tile is added.`]
      : [`第 ${step} 块里没有更大的评分，m 仍是 ${score}：此前的 s 和 u 不动，只加上这一块（它的那一份乘以 ${number(now.second, 3)}）。`,
        `Tile ${step} has no larger score, and m stays ${score}: the earlier s and u stay, and the tile is added (its share times ${number(now.second, 3)}).`];
  const end = last
    ? [`走完了：u/s = ${result}，与整行一次算的 softmax 一样；手上从来不超过 ${memory.tiles - KEPT} 个评分和这三个数。`, `The end: u/s = ${result}, as softmax over the whole row gives; there were never more than ${memory.tiles - KEPT} scores and these three numbers at hand.`]
    : ["算过的评分都丢掉了，只留下 m、s、u。", "The scores so far are gone; only m, s and u are left."];
  return [story[0] + end[0], `${story[1]} ${end[1]}`];
}

const table = ({ state, numbers }) => ({
  columns: [["块", "tile"], ["键", "keys"], "m", "s", "u", "u/s"],
  rows: [
    ...numbers.tiles.map(({ start, end, now, output }, t) => [String(t + 1), end - start === 1 ? `${start + 1}` : `${start + 1}–${end}`,
      number(now.m, 1), number(now.s, 4), number(now.u, 3), number(output, 4)]),
    [["整行", "row"], `1–${numbers.scores.length}`, number(Math.max(...numbers.scores), 1), "", "", number(numbers.output, 4)],
    [["评分", "scores"], numbers.scores.map((each) => number(each, 1)).join(", "), "", "", "", ""],
    [["值", "values"], ROWS[state.row].values.join(", "), "", "", "", ""],
    [["权重", "weights"], numbers.weights.map((each) => number(each, 3)).join(", "), "", "", "", ""],
  ],
});

/** Forward or back by one tile; after the last comes the first. */
const go = (by) => (state) => {
  const { tiles, step } = compute(state);
  return { step: (step - 1 + by + tiles.length) % tiles.length + 1 };
};

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["一块一块到来的键：最大评分、分母和输出怎样更新", "Keys arriving in tiles: how the largest score, the denominator and the output are updated"],
  controls: [
    { kind: "action", title: ["‹ 上一块", "‹ Tile back"], change: go(-1) },
    { kind: "action", title: ["下一块 ›", "Next tile ›"], change: go(1) },
    { kind: "choice", key: "tile", title: ["一块几个键", "Keys in a tile"], options: SHOWN.map((size) => [size, String(size)]) },
    { kind: "choice", key: "row", title: ["哪一行", "Row"], options: Object.entries(ROWS).map(([key, { name }]) => [key, name]) },
  ],
});
