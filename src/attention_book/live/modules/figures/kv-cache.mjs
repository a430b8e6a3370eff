/* The KV cache: words are written one by one; what each step computes, and how much memory stays taken. */
import { oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

export const WORDS = [
  ["汤姆", "Tom"], ["追逐", "chases"], ["杰瑞", "Jerry"], ["，", ","], ["杰瑞", "Jerry"], ["跑", "runs"],
  ["进", "into"], ["洞", "a"], ["里", "hole"], ["躲", "and"], ["起来", "hides"], ["。", "."],
];
const T = WORDS.length, SOURCE = 10, CONTEXT = 2 ** 17; // words of the source; of a full context
const WIDTHS = [64, 256, 1024, 4096], HEADS = [4, 8, 32], SHARED = ["1", "2", "4", "all"], BYTES = [4, 2, 1];
const TRANSLATOR = { layers: 2, d_model: 64, heads: 4, shared: "1", bytes: 4 };
const LLAMA = { layers: 32, d_model: 4096, heads: 32, shared: "4", bytes: 2 };

const range = (least, most) => Array.from({ length: most - least + 1 }, (_, i) => least + i);
const begin = { words: 7, ...TRANSLATOR };
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
const amount = (operations) => scaled(operations, 1000, ["", " K", " M", " G", " T"]);

/** Where things stand: two squares of steps above, then two curves, beside each other if there is room. */
function places(width) {
  const left = 58, gap = 18, cell = Math.min(17, (width - left - gap - 2) / (2 * T)), side = T * cell;
  const wide = width >= 560, top = 66, below = top + side + 44, chart = wide ? (width - 40) / 2 : width;
  const second = wide ? { x: chart + 40, y: below } : { x: 0, y: below + 154 }, heads = second.y + 160;
  const third = wide ? { x: chart + 40, y: heads } : { x: 0, y: heads + 74 };
  const start = wide ? (width - 2 * side - gap - left) / 2 + left : left;
  return { left: start, right: start + side + gap, cell, side, top, below, chart, second, heads, third, height: third.y + 68 };
}

function draw({ state, numbers, width }) {
  const at = places(width), now = state.words, { steps, bytes } = numbers;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${at.height}`, width, height: at.height },
    label(["有缓存", "cached"], { x: at.left, y: 18, "font-size": 12, class: "live-strong" }),
    label(["从头算", "anew"], { x: at.right, y: 18, "font-size": 12, class: "live-strong" }),
    label("K, V", { x: at.left - 8, y: 54, "font-size": 11, "text-anchor": "end", class: "live-muted" }),
    svg("g", { transform: `translate(${at.left} ${at.top})` }, rows(now, at.cell, (t) => (t === now ? "live-fill" : "live-surface"))),
    svg("g", { transform: `translate(${at.right} ${at.top})` }, rows(now, at.cell, () => "live-fill-warm")),
    label(WORDS[now - 1], { x: at.left - 16, y: at.top + (now - 0.5) * at.cell + 4, "text-anchor": "end" }),
    svg("circle", { class: "live-handle", cx: at.left - 8, cy: at.top + (now - 0.5) * at.cell, r: 5 }),
    svg("g", { transform: `translate(0 ${at.below})` }, curves(["每一步的运算", "operations of each step"], at.chart, now, amount,
      [{ values: steps.map((step) => step.kept), kind: "" }, { values: steps.map((step) => step.anew), kind: "-warm" }])),
    svg("g", { transform: `translate(${at.second.x} ${at.second.y})` }, curves(numbers.kv_heads < state.heads ? ["缓存（橙：不合用）", "the cache (orange: nothing shared)"] : ["缓存占的内存", "memory of the cache"], at.chart, now, memory,
      [{ values: numbers.unshared, kind: "-warm" }, { values: bytes, kind: "" }])),
    svg("g", { transform: `translate(0 ${at.heads})` }, groups(state.heads, numbers.kv_heads, at.chart)),
    svg("g", { transform: `translate(${at.third.x} ${at.third.y})` }, context(numbers.context, at.chart)));
}

/** A row of weights for each word, one cell for each key it sees; above them the keys and values. */
function rows(now, cell, kind) {
  const square = (column, y, name) => svg("rect", { class: name, x: (column - 1) * cell + 0.75, y, width: cell - 1.5, height: cell - 1.5 });
  return [
    range(1, now).map((t) => square(t, -22, kind(t))),
    range(1, now).map((t) => range(1, t).map((key) => square(key, (t - 1) * cell + 0.75, kind(t)))),
    range(now + 1, T).map((t) => svg("rect", { class: "live-axis live-dashed", x: 0.75, y: (t - 1) * cell + 0.75, width: t * cell - 1.5, height: cell - 1.5 })),
  ];
}

/** Growing lines: drawn up to this step, and dashed for the steps to come. */
function curves(title, width, now, write, lines) {
  const LEFT = 4, HIGH = 84, TOP = 34, most = Math.max(...lines.flatMap(({ values }) => values));
  const x = (t) => LEFT + (width - LEFT - 82) * (t - 1) / (T - 1), y = (value) => TOP + HIGH * (1 - value / most);
  const way = (values, first) => `M${values.map((value, i) => `${x(first + i)} ${y(value)}`).join("L")}`;
  return [
    label(title, { x: 0, y: 14, "font-size": 12, class: "live-muted" }),
    svg("line", { class: "live-axis", x1: LEFT, x2: x(T), y1: y(0), y2: y(0) }),
    range(1, T).filter((t) => t % 3 === 0 || t === 1).map((t) => svg("text", { class: "live-count", x: x(t), y: y(0) + 16, "text-anchor": "middle" }, String(t))),
    lines.map(({ values, kind }) => [
      svg("path", { class: `live-stroke${kind} live-dashed live-thin`, d: way(values.slice(now - 1), now) }),
      svg("path", { class: `live-stroke${kind}`, d: way(values.slice(0, now), 1) }),
      svg("circle", { class: `live-fill${kind}`, cx: x(now), cy: y(values[now - 1]), r: 4.5 }),
      lines.at(-1).values[T - 1] === values[T - 1] && values !== lines.at(-1).values ? [] : svg("text", { class: "live-number", x: x(T) + 8, y: y(values[T - 1]) + 4, "font-size": 12 }, write(values[T - 1])),
    ]),
  ];
}

/** Query heads, and under each group of them the keys and values that they share. */
function groups(heads, sets, width) {
  const room = Math.min(26, width / heads), group = heads / sets * room;
  return [
    label([`${heads} 个查询头（点），${sets} 份键和值（条）`, `${heads} query heads (dots), ${sets} ${sets === 1 ? "set" : "sets"} of K, V (bars)`],
      { x: 0, y: 14, "font-size": 11, class: "live-muted" }),
    range(1, heads).map((head) => svg("circle", { class: "live-fill-warm", cx: (head - 0.5) * room, cy: 34, r: Math.min(5, room / 2 - 1) })),
    range(1, sets).map((set) => svg("rect", { class: "live-fill", x: (set - 1) * group + 1, y: 43, width: group - 2, height: 9, rx: 2 })),
  ];
}

/** The memory of a full context: each doubling goes equally far to the right. */
function context(bytes, width) {
  const FROM = 19, TO = 37.4, x = (value) => 2 + (width - 34) * (Math.log2(value) - FROM) / (TO - FROM);
  return [
    label([`128K 个词元的缓存：${memory(bytes)}（对数）`, `cache of 128K tokens: ${memory(bytes)} (log scale)`], { x: 0, y: 14, "font-size": 11, class: "live-muted" }),
    svg("rect", { class: "live-surface", x: 2, y: 30, width: width - 34, height: 10, rx: 2 }),
    svg("rect", { class: "live-fill", x: 2, y: 30, width: Math.max(2, x(bytes) - 2), height: 10, rx: 2 }),
    [2 ** 20, 2 ** 25, 2 ** 30, 80 * 2 ** 30].map((each) => [
      svg("line", { class: "live-axis", x1: x(each), x2: x(each), y1: 26, y2: 44 }),
      svg("text", { class: "live-count", x: x(each), y: 58, "text-anchor": "middle" }, memory(each)),
    ]),
  ];
}

function explain({ state: { words, heads, bytes }, numbers: { steps, bytesEach, context, kv_heads, bytes: kept } }) {
  const [zh, en] = WORDS[words - 1], { kept: some, anew: all } = steps[words - 1];
  const shared = kv_heads < heads ? [`（合用之后是不合用的 1/${heads / kv_heads}）`, ` (sharing makes it 1/${heads / kv_heads} as large)`] : ["", ""];
  const times = number(all / some, 0);
  return [
    `第 ${words} 步写“${zh}”：有缓存只添一行，从头算要 ${words} 行，运算是 ${times} 倍。为此每个词元留下 ${memory(bytesEach)}${shared[0]}，到这里 ${memory(kept[words - 1])}；写满 128K 个词元就是 ${memory(context)}。`,
    `Step ${words} writes “${en}”: with a cache it adds one row; anew takes ${words === 1 ? "1 row" : `${words} rows`} and ${times} times the operations. For this each token leaves ${memory(bytesEach)}${shared[1]}, ${memory(kept[words - 1])} so far; a context of 128K tokens takes ${memory(context)}.`];
}

const table = ({ state, numbers }) => ({
  columns: [["步", "step"], ["词", "word"], ["缓存（字节）", "cache (bytes)"], ["运算：存键值", "operations: keys, values kept"],
    ["运算：存输入", "operations: inputs kept"], ["运算：不存", "operations: nothing kept"]],
  rows: [
    ...numbers.steps.map(({ kept, inputs, anew }, i) => [String(i + 1), WORDS[i], String(numbers.bytes[i]), String(kept), String(inputs), String(anew)]),
    [[`前 ${state.words} 步之和`, `first ${state.words} together`], "", "", ...["kept", "inputs", "anew"].map((kind) => String(numbers.totals[kind]))],
  ],
});

const same = (values) => values.map((value) => [value, String(value)]);

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["逐词书写：有缓存和从头算，每一步算什么，内存占多少", "Writing word by word: what each step computes with a cache and anew, and the memory taken"],
  handles: ({ state, width }) => {
    const { left, top, cell } = places(width);
    return [{
      x: left - 8, y: top + (state.words - 0.5) * cell,
      move: (_, y) => ({ words: Math.max(1, Math.min(T, Math.floor((y - top) / cell) + 1)) }),
    }];
  },
  controls: [
    { kind: "slider", key: "words", title: ["写到第几个词", "Words written"], min: 1, max: T, step: 1 },
    { kind: "choice", key: "shared", title: ["几个查询头合用一份键和值", "Query heads that share keys and values"],
      options: [["1", ["1，各用各的", "1, own keys"]], ["2", "2"], ["4", "4"], ["all", ["全体（MQA）", "all (MQA)"]]] },
    { kind: "choice", key: "heads", title: ["查询头", "Query heads"], options: same(HEADS) },
    { kind: "slider", key: "layers", title: ["层数", "Layers"], min: 1, max: 32, step: 1 },
    { kind: "choice", key: "d_model", title: ["宽度 d", "Width d"], options: same(WIDTHS) },
    { kind: "choice", key: "bytes", title: ["一个数几字节", "Bytes for each number"], options: same(BYTES) },
    { kind: "action", title: ["本章的译者", "The chapter's translator"], change: () => TRANSLATOR },
    { kind: "action", title: ["缓存照 Llama 3.1 8B", "A cache as in Llama 3.1 8B"], change: () => LLAMA },
  ],
});
