/* Sparse patterns: which keys each query may see, and through which layer each of them is reached. */
import { oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

export const N = 24; // positions, numbered from 0 as in the chapter
const MOST_LAYERS = 6;
const GLOBAL = [[], [0], [0, 12], [0, 8, 16]];

/** Four keys for each query, drawn once: random_mask(24, num_keys=4) with a generator of seed 0. */
const DRAWN = [
  [12, 2, 3, 18], [11, 19, 3, 20], [9, 22, 10, 14], [11, 22, 8, 5], [8, 19, 2, 11], [4, 9, 12, 5],
  [11, 6, 0, 18], [6, 0, 20, 11], [10, 0, 2, 11], [8, 3, 0, 10], [16, 5, 7, 19], [8, 11, 18, 17],
  [22, 9, 17, 7], [19, 18, 10, 22], [22, 12, 8, 5], [1, 14, 7, 2], [10, 21, 14, 8], [17, 19, 22, 6],
  [9, 8, 12, 7], [4, 19, 20, 2], [20, 16, 2, 0], [19, 20, 1, 21], [23, 22, 5, 6], [8, 21, 12, 1],
];

const from = (least, most) => Array.from({ length: most - least + 1 }, (_, i) => least + i);
const begin = { radius: 3, gap: 1, stride: 0, global: 0, random: 0, causal: "1", layers: 4, query: 23 };
const address = {
  radius: oneOf(from(0, 8)), gap: oneOf(from(1, 4)), stride: oneOf(from(0, 8)), global: oneOf(from(0, 3)),
  random: oneOf(from(0, 4)), causal: oneOf(["0", "1"]), layers: oneOf(from(1, MOST_LAYERS)), query: oneOf(from(0, N - 1)),
};
const PLAIN = { gap: 1, stride: 0, global: 0, random: 0 }; // a window and nothing else

/** May query i see key j? The parts are joined by "or"; the causal mask cuts the future off. */
export function visible({ radius, gap, stride, global, random, causal }, i, j) {
  const distance = i - j;
  if (causal === "1" && distance < 0) return false;
  const inWindow = Math.abs(distance) <= radius * gap && distance % gap === 0;
  const onStride = stride > 0 && distance % stride === 0;
  return inWindow || onStride || GLOBAL[global].includes(i) || GLOBAL[global].includes(j) || DRAWN[i].slice(0, random).includes(j);
}

/** From each query, the number of layers after which each key is reached: 0 itself, Infinity never. */
export function firstLayers(mask) {
  return mask.map((_, query) => {
    const first = Array(N).fill(Infinity);
    first[query] = 0;
    for (let layer = 1, edge = [query]; edge.length; layer += 1) {
      const found = from(0, N - 1).filter((key) => first[key] === Infinity && edge.some((i) => mask[i][key]));
      found.forEach((key) => { first[key] = layer; });
      edge = found;
    }
    return first;
  });
}

export function compute(state) {
  const places = from(0, N - 1), mask = places.map((i) => places.map((j) => visible(state, i, j)));
  const first = firstLayers(mask);
  const count = (holds) => places.reduce((sum, i) => sum + places.filter((j) => holds(i, j)).length, 0);
  const allowed = (i, j) => state.causal === "0" || j <= i;
  return {
    mask, first,
    pairs: count(allowed), kept: count((i, j) => mask[i][j]),
    // After 0, 1, 2, … layers: how many pairs are joined.
    reached: from(0, MOST_LAYERS).map((layers) => count((i, j) => first[i][j] <= layers)),
    reachable: count((i, j) => first[i][j] < Infinity),
    // After how many layers nothing new is reached any more.
    enough: Math.max(...first.flat().filter(Number.isFinite)),
    mine: {
      allowed: places.filter((j) => allowed(state.query, j)).length,
      seen: places.filter((j) => mask[state.query][j]).length,
      reached: places.filter((j) => first[state.query][j] <= state.layers).length,
      reachable: places.filter((j) => first[state.query][j] < Infinity).length,
    },
  };
}

/** The later a key is reached, the fainter. */
const shade = (layer) => [1, 1, 0.5, 0.36, 0.25, 0.17, 0.12][layer];

/** Side by side where there is room, below one another where there is none. */
function places(width) {
  const wide = width >= 560, cell = Math.floor((wide ? (width - 40) / 2 : width - 16) / N);
  const side = N * cell, top = 40, left = wide ? 16 : width - side - 2;
  const fan = wide ? { x: width - side - 2, y: top, height: side - 74 } : { x: left, y: top + side + 44, height: 150 };
  const bars = wide ? top + side - 62 : fan.y + fan.height + 14;
  return { cell, side, top, left, fan, bars, height: wide ? top + side + 26 : bars + 88 };
}

function draw({ state, numbers, width }) {
  const at = places(width), { fan } = at;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${at.height}`, width, height: at.height },
    label(["行是查询，列是键", "rows: queries; columns: keys"], { x: at.left, y: 20, class: "live-muted", "font-size": 12 }),
    svg("g", { transform: `translate(${at.left} ${at.top})` }, grid(state, numbers, at.cell)),
    label([`查询 ${state.query}：一层一层往下，直到输入`, `query ${state.query}, layer by layer down to the input`], { x: fan.x, y: fan.y - 20, class: "live-muted", "font-size": 12 }),
    svg("g", { transform: `translate(${fan.x} ${fan.y})` }, paths(state, numbers, at.cell, fan.height)),
    svg("g", { transform: `translate(${fan.x} ${at.bars})` },
      share(["一层要算", "one layer computes"], numbers.kept, numbers.pairs, "live-fill-warm", at.side, 0),
      share([`${state.layers} 层到得了`, `${state.layers} layers reach`], numbers.reached[state.layers], numbers.pairs, "live-fill", at.side, 44)));
}

/** All pairs, shaded by the layer in which they are joined; the chosen query's row says it in figures. */
function grid(state, { first }, cell) {
  const row = from(0, N - 1), { query, layers } = state;
  const end = (i) => (state.causal === "1" ? i + 1 : N);
  return [
    row.map((i) => svg("rect", { class: "live-surface", y: i * cell + 0.5, width: end(i) * cell, height: cell - 1 })),
    row.map((i) => row.filter((j) => first[i][j] <= layers).map((j) => svg("rect", {
      class: "live-fill", x: j * cell + 0.5, y: i * cell + 0.5, width: cell - 1, height: cell - 1, "fill-opacity": shade(first[i][j]),
    }))),
    row.filter((j) => j < end(query) && first[query][j] > 0).map((j) => svg("text", {
      x: (j + 0.5) * cell, y: (query + 0.5) * cell + 4, "text-anchor": "middle", "font-size": 11,
      class: first[query][j] === 1 ? "live-on-fill" : first[query][j] <= layers ? "" : "live-muted",
    }, first[query][j] === Infinity ? "×" : String(first[query][j]))),
    svg("rect", { class: "live-stroke-warm", x: -1, y: query * cell - 1, width: N * cell + 2, height: cell + 2, rx: 2 }),
    svg("circle", { class: "live-handle", cx: -7, cy: (query + 0.5) * cell, r: 4.5 }),
  ];
}

/** The query on top, its inputs at the bottom, and between them every way that a message can take. */
function paths({ query, layers }, { mask }, cell, height) {
  const x = (j) => (j + 0.5) * cell, y = (layer) => 6 + (layers - layer) * (height - 12) / layers;
  const levels = [[query]];
  for (let layer = layers; layer > 0; layer -= 1) {
    levels.push(from(0, N - 1).filter((j) => levels.at(-1).some((i) => i === j || mask[i][j])));
  }
  const lines = levels.slice(0, -1).map((level, down) => level.map((i) => levels[down + 1].filter((j) => i === j || mask[i][j]).map((j) =>
    `M${x(i)} ${y(layers - down)}L${x(j)} ${y(layers - down - 1)}`)));
  return [
    svg("path", { class: "live-stroke live-thin", d: lines.flat(3).join("") }),
    levels.map((level, down) => from(0, N - 1).map((j) => {
      const active = level.includes(j), chosen = down === 0 && active;
      return svg("circle", { class: chosen ? "live-fill-warm" : active ? "live-fill" : "live-surface", cx: x(j), cy: y(layers - down), r: active ? 3.5 : 2.5 });
    })),
  ];
}

/** A bar: so many of all pairs. */
function share(text, count, all, kind, width, y) {
  return svg("g", { transform: `translate(0 ${y})` },
    label(text, { x: 0, y: 16, "font-size": 12 }),
    svg("text", { class: "live-number live-strong", x: width, y: 16, "text-anchor": "end", "font-size": 12 }, `${count} / ${all} = ${number(100 * count / all, 0)}%`),
    svg("rect", { class: "live-surface", y: 26, width, height: 9, rx: 2 }),
    svg("rect", { class: kind, y: 26, width: width * count / all, height: 9, rx: 2 }));
}

function explain({ state: { query, layers, causal }, numbers: { mine, pairs, kept, reached, reachable, enough } }) {
  const part = number(100 * kept / pairs, 0), lost = pairs - reachable;
  const [allZh, allEn] = causal === "1" ? ["它的全部过去", "its whole past"] : ["全部的键", "every key"];
  const [zh, en] = [
    `查询 ${query} 一层看得见 ${mine.seen} 个键，${layers} 层到得了 ${mine.reached} 个（共 ${mine.allowed} 个）；一层只算 ${part}% 的对。`,
    `Query ${query} sees ${mine.seen} ${mine.seen === 1 ? "key" : "keys"} in one layer and reaches ${mine.reached} of ${mine.allowed} through ${layers}; one layer computes ${part}% of the pairs.`];
  if (lost > 0) return [
    `${zh}有 ${lost} 对叠多少层也到不了。`, `${en} However many layers there are, ${lost} pairs are never joined.`];
  if (reached[layers] === pairs) return [
    `${zh}每个查询都到得了${allZh}，${enough} 层就够。`, `${en} Every query reaches ${allEn}, and ${enough} ${enough === 1 ? "layer is" : "layers are"} enough.`];
  return [
    `${zh}要让每个查询都到得了${allZh}，得叠 ${enough} 层。`, `${en} For every query to reach ${allEn} takes ${enough} layers.`];
}

const table = ({ state, numbers }) => ({
  columns: [["层数", "layers"], ["到得了的对", "pairs reached"], ["份额", "share"], ["算的对", "pairs computed"],
    [`查询 ${state.query} 到得了的键`, `keys that query ${state.query} reaches`]],
  rows: numbers.reached.map((reached, layers) => [String(layers), String(reached), `${number(100 * reached / numbers.pairs, 1)}%`,
    String(layers * numbers.kept), from(0, N - 1).filter((j) => numbers.first[state.query][j] <= layers).join(", ")]),
});

const off = (value) => (value ? String(value) : ["无", "none"]);
/** A preset changes the parts that it names: the window's radius, the layers and the query stay the reader's. */
const preset = (title, parts) => ({ kind: "action", title, change: ({ radius }) => ({ radius: radius || begin.radius, ...PLAIN, ...parts }) });

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["24 个位置的稀疏图案：每一对在第几层到得了", "A sparse pattern over 24 positions: the layer in which each pair is joined"],
  handles: ({ state, width }) => {
    const { left, top, cell } = places(width);
    return [{
      x: left - 7, y: top + (state.query + 0.5) * cell,
      move: (_, y) => ({ query: Math.max(0, Math.min(N - 1, Math.floor((y - top) / cell))) }),
    }];
  },
  controls: [
    preset(["窗口", "Window"], {}),
    preset(["窗口 + 步长", "Window + stride"], { stride: 4 }),
    preset(["窗口 + 全局", "Window + global"], { global: 2 }),
    preset(["再加随机", "… + random"], { global: 2, random: 2 }),
    preset(["空洞", "Dilated"], { gap: 3 }),
    { kind: "slider", key: "layers", title: ["层数 L", "Layers L"], min: 1, max: MOST_LAYERS, step: 1 },
    { kind: "slider", key: "query", title: ["看哪个查询", "Query"], min: 0, max: N - 1, step: 1 },
    { kind: "slider", key: "radius", title: ["窗口半径", "Window radius"], min: 0, max: 8, step: 1 },
    { kind: "slider", key: "gap", title: ["窗口的空洞", "Window dilation"], min: 1, max: 4, step: 1 },
    { kind: "slider", key: "stride", title: ["步长", "Stride"], min: 0, max: 8, step: 1, write: off },
    { kind: "slider", key: "global", title: ["全局位置", "Global positions"], min: 0, max: 3, step: 1, write: off },
    { kind: "slider", key: "random", title: ["随机的键", "Random keys"], min: 0, max: 4, step: 1, write: off },
    { kind: "checks", key: "causal", title: ["掩码", "Mask"], options: [["因果：看不见未来", "causal: no future"]] },
  ],
});
