/* The KV cache: words are written one by one. What a step computes with a cache and without, and what the
   cache takes in memory for it. */
import { oneOf } from "../page/address.mjs";
import { control } from "../page/controls.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

export const WORDS = [
  ["汤姆", "Tom"], ["追逐", "chases"], ["杰瑞", "Jerry"], ["，", ","], ["杰瑞", "Jerry"], ["跑", "runs"],
  ["进", "into"], ["洞", "a"], ["里", "hole"], ["躲", "and"], ["起来", "hides"], ["。", "."],
];
const T = WORDS.length, SOURCE = 10, CONTEXT = 2 ** 17; // words of the source; of a full context
const WIDTHS = [64, 256, 1024, 4096], HEADS = [4, 8, 32], SHARED = ["1", "2", "4", "all"], BYTES = [4, 2, 1];
const LLAMA = { layers: 32, d_model: 4096, heads: 32, shared: "4", bytes: 2 };
const MODELS = {
  translator: { layers: 2, d_model: 64, heads: 4, shared: "1", bytes: 4 }, llama: LLAMA, unshared: { ...LLAMA, shared: "1" },
};

const range = (least, most) => Array.from({ length: most - least + 1 }, (_, i) => least + i);
const begin = { words: 7, ...MODELS.translator };
const address = {
  words: oneOf(range(1, T)), layers: oneOf(range(1, 32)), d_model: oneOf(WIDTHS), heads: oneOf(HEADS), shared: oneOf(SHARED), bytes: oneOf(BYTES),
};

/** Operations of all decoder layers at step t, as in the chapter; sets of keys and values may be shared. */
export function operations({ layers, d_model: d }, d_kv, t) {
  const f = 2 * d; // width of the feed-forward network
  const kept = 8 * d * d + 4 * d * d_kv + 4 * d * f + 4 * d * (t + SOURCE);
  return { kept: layers * kept, inputs: layers * (kept + 4 * d * d_kv * (t - 1)), anew: layers * t * kept };
}

export function compute(state) {
  const { layers, d_model, heads, shared, bytes, words } = state;
  const kv_heads = shared === "all" ? 1 : heads / Number(shared), d_kv = kv_heads * d_model / heads;
  const bytesEach = 2 * layers * d_kv * bytes, steps = range(1, T).map((t) => operations(state, d_kv, t));
  const total = (kind) => steps.slice(0, words).reduce((sum, step) => sum + step[kind], 0);
  return {
    kv_heads, d_k: d_model / heads, steps, bytesEach,
    bytes: range(1, T).map((t) => t * bytesEach), context: CONTEXT * bytesEach, unshared: range(1, T).map((t) => t * 2 * layers * d_model * bytes),
    totals: { kept: total("kept"), inputs: total("inputs"), anew: total("anew") },
  };
}

const tidy = (value) => number(value, value < 10 && value % 1 ? 1 : 0);
const scaled = (value, base, units) => {
  let power = 0;
  while (value / base ** power >= base && power < units.length - 1) power += 1;
  return `${tidy(value / base ** power)}${units[power]}`;
};
const memory = (bytes) => scaled(bytes, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);

/* ---- the drawing: what each way computes in this step, filled; what it only reads, outlined ---- */
const HEADING = 18, CACHE = 66, LINE = 16; // a row is at least as high as its word

/** Where things stand: two triangles, the first with outlines of the rows that earlier steps computed. */
function places(width) {
  const names = 56, gap = 20, cell = Math.min(20, (width - names - gap - 4) / (2 * T)), side = T * cell, high = Math.max(LINE, cell);
  const left = (width - names - 2 * side - gap) / 2 + names, top = CACHE + high + 16, bars = top + T * high + 24;
  return { left, right: left + side + gap, cell, high, top, bars, height: bars + 78 };
}

function draw({ state, numbers, width }) {
  const at = places(width), now = state.words, { kept, anew } = numbers.steps[now - 1], { cell, high } = at;
  const square = (x, y, kind) => svg("rect", { class: kind, x: x + 0.75, y: y + 0.75, width: cell - 1.5, height: high - 1.5 });
  const row = (x, t, kind) => range(1, t).map((key) => square(x + (key - 1) * cell, at.top + (t - 1) * high, kind));
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${at.height}`, width, height: at.height },
    label(["有缓存", "with a cache"], { x: at.left, y: HEADING, class: "live-strong" }),
    label(["这一步算 1 行", "this step: 1 row"], { x: at.left, y: HEADING + 28, "font-size": 12 }),
    label(["从头算", "computed anew"], { x: at.right, y: HEADING, class: "live-strong" }),
    label([`这一步算 ${now} 行`, `this step: ${now} row${now === 1 ? "" : "s"}`], { x: at.right, y: HEADING + 28, "font-size": 12 }),
    label(["缓存", "cache"], { class: "live-muted", x: at.left - 18, y: CACHE + high / 2 + 4, "text-anchor": "end", "font-size": 12 }),
    range(1, T).map((t) => square(at.left + (t - 1) * cell, CACHE, t > now ? "live-axis live-dashed" : t === now ? "live-key live-full" : "live-keep")),
    range(1, T).map((t) => [
      t > now ? [] : label(WORDS[t - 1], { class: `live-brief ${t === now ? "live-strong" : "live-muted"}`, x: at.left - 18, y: at.top + (t - 0.5) * high + 4, "text-anchor": "end", "font-size": 12 }),
      t > now ? [] : row(at.left, t, t === now ? "live-fill" : "live-axis"),
      t > now ? [] : row(at.right, t, "live-fill"),
    ]),
    svg("circle", { class: "live-handle", cx: at.left - 9, cy: at.top + (now - 0.5) * high, r: 6 }),
    svg("g", { transform: `translate(0 ${at.bars})` }, operationsOf(kept, anew, numbers.steps[T - 1].anew, width)));
}

/** The operations of this step as two bars; the full breadth is the last step, computed anew. */
function operationsOf(kept, anew, most, width) {
  const LEFT = 84, full = width - LEFT - 40;
  const bar = (name, value, kind, y) => [
    label(name, { x: 0, y: y + 15, "font-size": 12 }),
    svg("rect", { class: kind, x: LEFT, y, width: full * value / most, height: 20, rx: 3 }),
    svg("text", { class: "live-number live-strong", x: LEFT + full * value / most + 6, y: y + 15 }, `${number(value / kept, 0)}×`),
  ];
  return [
    label(["这一步的运算", "operations of this step"], { class: "live-muted", x: 0, y: 10, "font-size": 12 }),
    bar(["有缓存", "with a cache"], kept, "live-fill", 22), bar(["从头算", "anew"], anew, "live-fill", 50),
  ];
}

function explain({ state: { words, heads }, numbers: { bytesEach, context, kv_heads, bytes, steps } }) {
  const [zh, en] = WORDS[words - 1], times = number(steps[words - 1].anew / steps[words - 1].kept, 0);
  const group = heads / kv_heads;
  const shared = group > 1 ? [`（每 ${group} 个查询头合用一份键和值）`, ` (${group} query heads share a set of keys and values)`] : ["", ""];
  const step = words === 1
    ? [`写第一个词“${zh}”，缓存还帮不上忙，只记下它的键和值。`, `For the first word, “${en}”, a cache is no help yet; it takes down the word's key and value.`]
    : [`写第 ${words} 个词“${zh}”：前 ${words - 1} 个词的键和值在缓存里，只算新的一行；从头算，运算是 ${times} 倍。`,
      `Word ${words} is “${en}”. Keys and values of the ${words - 1} before it are in the cache, and one new row is computed; anew it takes ${times} times the operations.`];
  return [
    `${step[0]}代价是内存：每个词元 ${memory(bytesEach)}${shared[0]}，现在 ${memory(bytes[words - 1])}，写满 128K 个词元就是 ${memory(context)}。`,
    `${step[1]} The price is memory: ${memory(bytesEach)} a token${shared[1]}, ${memory(bytes[words - 1])} so far, ${memory(context)} for a context of 128K tokens.`];
}

const table = ({ state, numbers }) => ({
  columns: [["步", "step"], ["词", "word"], ["缓存（字节）", "cache (bytes)"], ["运算：存键值", "operations: keys, values kept"],
    ["运算：存输入", "operations: inputs kept"], ["运算：不存", "operations: nothing kept"]],
  rows: [
    ...numbers.steps.map(({ kept, inputs, anew }, i) => [String(i + 1), WORDS[i], String(numbers.bytes[i]), String(kept), String(inputs), String(anew)]),
    [[`前 ${state.words} 步之和`, `first ${state.words} together`], "", "", ...["kept", "inputs", "anew"].map((kind) => String(numbers.totals[kind]))],
  ],
});

/** One of a few models: it sets all sizes at once. */
const model = {
  kind: "custom",
  build(host) {
    const sizes = (state) => Object.keys(MODELS).find((name) => Object.entries(MODELS[name]).every(([key, value]) => state[key] === value));
    const choice = control({ kind: "choice", key: "model", title: ["模型", "Model"], options: [
      ["translator", ["本章的译者", "the chapter's translator"]], ["llama", "Llama 3.1 8B"],
      ["unshared", ["同上，键值不合用", "the same, nothing shared"]]] },
    { get: () => sizes(host.state()), set: (changes) => host.set(MODELS[changes.model]) });
    return { element: choice.element, follow: (state) => choice.follow({ model: sizes(state) }) };
  },
};

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["逐词书写：有缓存和从头算，每一步各算哪几行，运算各是多少", "Writing word by word: the rows that a step computes with a cache and anew, and the operations of both"],
  handles: ({ state, width }) => {
    const { left, top, high } = places(width);
    return [{
      x: left - 9, y: top + (state.words - 0.5) * high,
      move: (_, y) => ({ words: Math.max(1, Math.min(T, Math.floor((y - top) / high) + 1)) }),
    }];
  },
  controls: [
    { kind: "slider", key: "words", title: ["写到第几个词", "Words written"], min: 1, max: T, step: 1 },
    model,
  ],
});
