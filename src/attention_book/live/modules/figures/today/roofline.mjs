/* The roofline: where a step of decoding stands, limited by reading or by computing. Llama 3.1 8B, 2 bytes a number. */
import { oneOf } from "../../page/address.mjs";
import { figure } from "../../page/figure.mjs";
import { label, number, svg } from "../../page/words.mjs";

const LAYERS = 32, HEADS = 32, D_K = 128, WIDTH = 4096, HIDDEN = 14336, WORDS = 128256, BYTES = 2;
export const WEIGHTS = LAYERS * (2 * WIDTH ** 2 + 2 * WIDTH * 1024 + 3 * WIDTH * HIDDEN) + WIDTH * WORDS;
const POWERS = Array.from({ length: 11 }, (_, i) => i), TOKENS = [0, 1024, 8192, 131072], RIDGES = [5, 50, 300];
/** Numbers that a token keeps in a layer, and operations that a new word does with them. */
const KEPT = {
  own: { numbers: 2 * HEADS * D_K, operations: 4 * HEADS * D_K },
  shared: { numbers: 2 * 8 * D_K, operations: 4 * HEADS * D_K },
  latent: { numbers: 512 + 64, operations: 2 * HEADS * (2 * 512 + 64) },
};

const begin = { batch: 0, tokens: 0, kept: "shared", ridge: 300 };
const address = { batch: oneOf(POWERS), tokens: oneOf(TOKENS), kept: oneOf(Object.keys(KEPT)), ridge: oneOf(RIDGES) };

/** What a step reads and computes, as in the chapter, and the share of the peak that it can reach. */
function step({ tokens, kept, ridge }, batch) {
  const inCaches = batch * LAYERS * tokens;
  const bytes = BYTES * (WEIGHTS + inCaches * KEPT[kept].numbers);
  const operations = 2 * batch * WEIGHTS + inCaches * KEPT[kept].operations;
  const intensity = operations / bytes;
  return { batch, bytes, operations, intensity, share: Math.min(1, intensity / ridge) };
}

export function compute(state) {
  const steps = POWERS.map((power) => step(state, 2 ** power));
  return { steps, now: steps[state.batch], weights: BYTES * WEIGHTS };
}

const FROM = -1, TO = 11, LOW = -9.5; // powers of two: operations for each byte; share of the peak
const HEIGHT = 296, TOP = 40, BOTTOM = 236, LEFT = 40;
const across = (width) => (intensity) => LEFT + (width - LEFT - 14) * (Math.log2(intensity) - FROM) / (TO - FROM);
const up = (share) => BOTTOM - (BOTTOM - TOP) * (Math.max(LOW, Math.log2(share)) - LOW) / -LOW;

function draw({ state, numbers, width }) {
  const x = across(width), { now, steps } = numbers, foot = 2 ** FROM, { ridge } = state;
  const start = Math.max(foot, ridge * 2 ** LOW), before = x(now.intensity) - x(ridge) > 36; // the slope leaves room to the left
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT },
    label(["每秒的运算（占峰值）", "operations a second (of the peak)"], { x: 0, y: 14, "font-size": 12, class: "live-muted" }),
    svg("line", { class: "live-axis", x1: LEFT, x2: width - 14, y1: BOTTOM, y2: BOTTOM }),
    [1, 0.1, 0.01].map((share) => [
      svg("line", { class: "live-axis live-thin", x1: LEFT, x2: width - 14, y1: up(share), y2: up(share), "stroke-opacity": 0.35 }),
      svg("text", { class: "live-count", x: LEFT - 6, y: up(share) + 4, "font-size": 11, "text-anchor": "end" }, `${100 * share}%`),
    ]),
    [1, 10, 100, 1000].map((each) => svg("text", { class: "live-count", x: x(each), y: BOTTOM + 18, "font-size": 11, "text-anchor": "middle" }, String(each))),
    label(["每读一字节的运算", "operations for each byte"], { x: width - 14, y: BOTTOM + 38, "font-size": 12, "text-anchor": "end", class: "live-muted" }),
    svg("path", { class: "live-stroke", d: `M${x(start)} ${up(start / ridge)}L${x(ridge)} ${up(1)}L${width - 14} ${up(1)}`, fill: "none" }),
    label(["限于算", "computing"], { x: width - 14, y: TOP - 12, "font-size": 11, "text-anchor": "end", class: "live-muted" }),
    label(["限于读", "reading"], { x: x(Math.sqrt(start * ridge)) - 10, y: up(Math.sqrt(start / ridge)) - 8, "font-size": 11, "text-anchor": "end", class: "live-muted" }),
    svg("line", { class: "live-axis live-dashed", x1: x(ridge), x2: x(ridge), y1: up(1), y2: BOTTOM }),
    steps.map((each) => svg("circle", { class: "live-fill-warm", cx: x(each.intensity), cy: up(each.share), r: 2.5, "fill-opacity": 0.6 })),
    svg("line", { class: "live-stroke-warm live-dashed live-thin", x1: x(now.intensity), x2: x(now.intensity), y1: up(now.share), y2: BOTTOM }),
    svg("circle", { class: "live-fill-warm", cx: x(now.intensity), cy: up(now.share), r: 6.5 }),
    svg("circle", { class: "live-handle", cx: x(now.intensity), cy: up(now.share), r: 6.5 }),
    svg("text", { class: "live-number", x: x(now.intensity) + (before ? -12 : 12), y: up(now.share) + 18, "font-size": 12, "text-anchor": before ? "end" : "start" },
      `${number(100 * now.share, now.share < 0.0995 ? 1 : 0)}%`));
}

const few = (value) => (value < 99.5 ? number(value, 1) : Math.round(value).toLocaleString("en")), giga = (count) => few(count / 1e9);

function explain({ state: { ridge }, numbers: { now, weights } }) {
  const caches = now.bytes - weights, share = number(100 * now.share, now.share < 0.0995 ? 1 : 0);
  const limit = now.intensity < ridge
    ? [`低于屋脊的 ${ridge}，限于读`, `below the ridge at ${ridge}: limited by reading`] : [`过了屋脊的 ${ridge}，限于算`, `beyond the ridge at ${ridge}: limited by computing`];
  return [
    `${now.batch === 1 ? "一段文字写一个词" : `${now.batch.toLocaleString("en")} 段文字各写一个词`}：读权重 ${giga(weights)} GB，读缓存 ${giga(caches)} GB；每字节 ${few(now.intensity)} 次运算，${limit[0]}，运算单元最多用上 ${share}%。`,
    `One word for ${now.batch === 1 ? "one text" : `each of ${now.batch.toLocaleString("en")} texts`}: ${giga(weights)} GB of weights and ${giga(caches)} GB of caches are read; ${few(now.intensity)} operations for each byte, ${limit[1]}, and at most ${share}% of the arithmetic is in use.`];
}

const table = ({ numbers }) => ({
  columns: [["批量", "batch"], ["读（GB）", "GB read"], ["运算（10⁹）", "10⁹ operations"], ["每字节运算", "per byte"], ["占峰值", "of the peak"]],
  rows: numbers.steps.map(({ batch, bytes, operations, intensity, share }) =>
    [String(batch), giga(bytes), giga(operations), number(intensity, 2), `${number(100 * share, 1)}%`]),
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["屋顶线：解码一步的速度限于读还是限于算", "The roofline: is a step of decoding limited by reading or by computing?"],
  handles: ({ numbers, width }) => {
    const x = across(width), { now, steps } = numbers;
    return [{
      x: x(now.intensity), y: up(now.share),
      move: (at) => ({ batch: POWERS.reduce((best, power) => (Math.abs(x(steps[power].intensity) - at) < Math.abs(x(steps[best].intensity) - at) ? power : best), 0) }),
    }];
  },
  controls: [
    { kind: "slider", key: "batch", title: ["批量（2 的几次方）", "Batch (a power of 2)"], min: 0, max: 10, step: 1 },
    { kind: "choice", key: "tokens", title: ["每段文字的词元", "Tokens of each text"], options: TOKENS.map((tokens) => [tokens, tokens.toLocaleString("en")]) },
    { kind: "choice", key: "kept", title: ["缓存", "Cache"], options: [["own", ["各用各的", "own keys"]], ["shared", ["4 头合用", "4 heads share"]], ["latent", ["潜在向量", "latent"]]] },
    { kind: "choice", key: "ridge", title: ["屋脊（运算/字节）", "Ridge (operations/byte)"], options: RIDGES.map((ridge) => [ridge, String(ridge)]) },
  ],
});
