/* Online softmax: keys arrive tile by tile, and three numbers are kept: maximum, sum, weighted sum. */
import { between, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

/** The desk of the first chapter, and a longer row of made-up numbers; one score is the reader's. */
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

const TOP = 36, BARS = 96, LINE = 24, MEMORY = 44;

/** Bars are counted from the largest score so far: when it grows, all bars before it shrink. */
function draw({ state, numbers, width }) {
  const room = width / numbers.scores.length, table = TOP + BARS + (state.row === "desk" ? 62 : 40), memory = table + 6 * LINE, track = memory + MEMORY + 34;
  const { before, now } = numbers.tiles[numbers.step - 1];
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${track + 112}`, width, height: track + 112 },
    label(before.m > -Infinity && now.m > before.m
      ? ["条的高度：exp(评分 − m)；虚线框：m 变大之前", "height: exp(score − m); dashed: before m rose"]
      : ["条的高度：exp(评分 − m)，m 是见过的最大评分", "height: exp(score − m), m the largest so far"], { x: 0, y: 20, "font-size": 12, class: "live-muted" }),
    svg("g", { transform: `translate(0 ${TOP})` }, keys(state, numbers, room)),
    svg("g", { transform: `translate(0 ${table})` }, registers(numbers, width)),
    svg("g", { transform: `translate(0 ${memory})` }, held(numbers, width)),
    svg("g", { transform: `translate(0 ${track})` }, outputs(numbers, width)));
}

/** The keys: gone, here, or still to come. Of those that are gone only the sum is left. */
function keys(state, { scores, tiles, step }, room) {
  const { now, before } = tiles[step - 1], names = ROWS[state.row].names;
  const bar = (j, height, kind, opacity = 1) => svg("rect", {
    class: kind, "fill-opacity": opacity, x: j * room + 0.12 * room, width: 0.76 * room, y: 8 + (BARS - 8) * (1 - height), height: (BARS - 8) * height,
  });
  return tiles.map(({ start, end }, t) => svg("g", {},
    svg("rect", { class: t + 1 === step ? "live-now" : "live-axis", x: start * room + 1.5, y: 1, width: (end - start) * room - 3, height: BARS + 4, rx: 4 }),
    scores.slice(start, end).map((score, i) => {
      const j = start + i;
      if (t + 1 > step) return [];
      return [
        bar(j, Math.exp(score - now.m), j === ROWS[state.row].moved ? "live-fill-warm" : "live-fill", t + 1 === step ? 1 : 0.3),
        t + 1 < step && now.m > before.m ? bar(j, Math.exp(score - before.m), "live-axis live-dashed") : [],
      ];
    }),
    scores.slice(start, end).map((score, i) => (names.length ? [
      svg("text", { class: "live-number", x: (start + i + 0.5) * room, y: BARS + 20, "text-anchor": "middle", "font-size": 12 }, number(score, 1)),
      label(names[start + i], { x: (start + i + 0.5) * room, y: BARS + 39, "text-anchor": "middle", "font-size": 12 }),
    ] : [])),
    names.length || (end - start) * room < 14 ? [] : svg("text", { class: "live-count", x: (start + end) / 2 * room, y: BARS + 20, "text-anchor": "middle" }, String(t + 1))));
}

const HEADS = [["此前", "before"], ["× 因子", "× factor"], ["这一块", "this tile"], ["× 因子", "× factor"], ["合并", "merged"]];

function cells({ before, part, now, output }) {
  const first = number(now.first, 3), second = number(now.second, 3), old = before.s ? number(before.u / before.s, 1) : "–";
  return [
    ["m", number(before.m, 1), "", number(part.m, 1), "", number(now.m, 1)],
    ["s", number(before.s, 3), first, number(part.s, 3), second, number(now.s, 3)],
    ["u", number(before.u, 1), first, number(part.u, 1), second, number(now.u, 1)],
    ["u/s", old, "", number(part.u / part.s, 1), "", number(output, 1)],
  ];
}

/** Everything that is kept, and what this tile makes of it. */
function registers({ tiles, step }, width) {
  const LEFT = 30, room = (width - LEFT) / 5, middle = (c) => LEFT + (c + 0.5) * room;
  return [
    svg("rect", { class: "live-now", x: LEFT + 4 * room, y: 1, width: room - 1, height: 5 * LINE + 6, rx: 4 }),
    HEADS.map((head, c) => label(head, { x: middle(c), y: 19, "text-anchor": "middle", "font-size": 11, class: "live-muted" })),
    cells(tiles[step - 1]).map(([name, ...row], r) => {
      const y = 19 + (r + 1) * LINE + 2;
      return [
        svg("text", { x: 0, y, class: "live-strong" }, name),
        row.map((text, c) => svg("text", { class: c === 4 ? "live-number live-strong" : "live-number", x: middle(c), y, "text-anchor": "middle", "font-size": 12 }, text)),
      ];
    }),
  ];
}

/** How many numbers are at hand at once: a tile of scores, and m, s and u. Outlines: the whole row. */
function held({ memory }, width) {
  const size = Math.min(12, width / (24 + KEPT)), square = (i, kind) => svg("rect", { class: kind, x: i * size + 1, y: 28, width: size - 2, height: size - 2, rx: 1 });
  const places = Array.from({ length: Math.max(memory.row, memory.tiles) }, (_, i) => i);
  return [
    label([`手上的数：${memory.tiles - KEPT} 个评分，加 m、s、u；整行：${memory.row} 个评分`,
      `at hand: ${memory.tiles - KEPT} + ${KEPT} numbers; the whole row: ${memory.row}`], { x: 0, y: 14, "font-size": 12, class: "live-muted" }),
    places.slice(0, memory.tiles).map((i) => square(i, i < memory.tiles - KEPT ? "live-fill" : "live-fill-warm")),
    places.slice(0, memory.row).map((i) => square(i, "live-axis")),
  ];
}

/** The output after each tile, on its way to what softmax over the whole row gives. */
function outputs({ tiles, step, output }, width) {
  const LEFT = 36, RIGHT = 12, HIGH = 62, most = Math.max(output, ...tiles.map((tile) => tile.output)) * 1.08;
  const x = (t) => (tiles.length === 1 ? (LEFT + width - RIGHT) / 2 : LEFT + (width - LEFT - RIGHT) * (t - 1) / (tiles.length - 1));
  const y = (value) => 14 + HIGH * (1 - value / most);
  const done = tiles.slice(0, step).map((tile, t) => `${x(t + 1)} ${y(tile.output)}`);
  return [
    label(["每一块之后的 u/s；虚线：整行一次算完的 softmax", "u/s after each tile; dashed: softmax, whole row"], { x: 0, y: -4, "font-size": 12, class: "live-muted" }),
    svg("line", { class: "live-axis", x1: LEFT - 8, x2: width, y1: y(0), y2: y(0) }),
    svg("line", { class: "live-stroke-warm live-dashed", x1: LEFT - 8, x2: width, y1: y(output), y2: y(output) }),
    svg("text", { class: "live-number", x: 0, y: y(output) + 4, "font-size": 11 }, number(output, 0)),
    svg("path", { class: "live-stroke", d: `M${done.join("L")}` }),
    tiles.map((tile, t) => (t < step
      ? svg("circle", { class: "live-fill", cx: x(t + 1), cy: y(tile.output), r: t + 1 === step ? 5 : 3.5 })
      : svg("circle", { class: "live-axis", cx: x(t + 1), cy: y(0), r: 3 }))),
    tiles.length > 13 && width < 500 ? [] : tiles.map((_, t) => svg("text", { class: "live-count", x: x(t + 1), y: y(0) + 16, "text-anchor": "middle" }, String(t + 1))),
  ];
}

function explain({ numbers: { tiles, step } }) {
  const { before, now, output } = tiles[step - 1], last = step === tiles.length;
  const result = number(output, 1), score = number(now.m, 1), old = number(before.m, 1), factor = number(now.first, 3);
  const story = step === 1
    ? [`第 1 块：最大评分 m = ${score}，分母 s = ${number(now.s, 3)}，算到这里是 ${result}。`,
      `Tile 1: the largest score is m = ${score}, the denominator s = ${number(now.s, 3)}, and the result so far ${result}.`]
    : now.m > before.m
      ? [`第 ${step} 块里有更大的评分，m 从 ${old} 升到 ${score}：此前的 s 和 u 先乘以 e^(${old} − ${score}) ≈ ${factor}，再加上这一块。`,
        `Tile ${step} has a larger score, and m rises from ${old} to ${score}: the earlier s and u are multiplied by e^(${old} − ${score}) ≈ ${factor} before the tile is added.`]
      : [`第 ${step} 块里没有更大的评分，m 仍是 ${score}：此前的 s 和 u 不动，只加上这一块（它的那一份乘以 ${number(now.second, 3)}）。`,
        `Tile ${step} has no larger score, and m stays ${score}: the earlier s and u stay, and the tile is added (its share times ${number(now.second, 3)}).`];
  const end = last
    ? [`u/s = ${result}，与整行一次算完的 softmax 相同，怎样切块都一样。`, `u/s = ${result} is what softmax over the whole row gives, whatever the tiles.`]
    : [`算过的块只留下三个数 m、s、u，评分已经丢掉。`, "Of the tiles so far only m, s and u are left; their scores are gone."];
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
    { kind: "choice", key: "tile", title: ["一块几个键", "Keys in a tile"], options: SIZES.map((size) => [size, String(size)]) },
    { kind: "slider", key: "score", title: ["橙色的键的评分", "Score of the orange key"], min: -2, max: 8, step: 0.5, write: (score) => number(score, 1) },
    { kind: "choice", key: "row", title: ["哪一行", "Row"], options: Object.entries(ROWS).map(([key, { name }]) => [key, name]) },
  ],
});
