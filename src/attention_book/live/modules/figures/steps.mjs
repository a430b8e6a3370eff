/* Attention, step by step: five things on a desk, one query, and every number on the way. */
import { between, bits, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

export const THINGS = [
  { name: ["散页", "sheets"], key: [0.1, 0.3, 0], pages: 1 },
  { name: ["报纸", "newspaper"], key: [0.3, 0.6, 0], pages: 16 },
  { name: ["本子", "notebook"], key: [0.2, 0.4, 0], pages: 40 },
  { name: ["书", "book"], key: [0.2, 1, 0], pages: 300 },
  { name: ["红杯", "red cup"], key: [1, 0, 1], pages: 0 },
];
const QUERIES = {
  reader: { name: ["找书读", "reader"], wish: ["可读", "readable"], query: [0, 5, 0] },
  idle: { name: ["闲看", "idle eye"], wish: ["显眼", "stands out"], query: [5, 0, 0] },
};
const STEPS = [["评分", "score"], ["缩放", "scale"], ["掩码", "mask"], ["softmax", "softmax"], ["加权和", "weighted sum"]];
const HEADS = [["评分", "score"], ["除以 T", "÷ T"], ["掩码后", "masked"], ["权重", "weight"], ["× 页数", "× pages"]];
const DIGITS = [1, 2, 2, 3, 1];

const begin = { step: 5, temperature: 1, hidden: "00000", query: "reader" };
const address = {
  step: oneOf([1, 2, 3, 4, 5]), temperature: between(0.2, 5), hidden: bits(THINGS.length), query: oneOf(Object.keys(QUERIES)),
};

/** All numbers of the figure. Where everything is hidden, every weight is 0, and the output too. */
export function compute({ temperature, hidden, query }) {
  const asked = QUERIES[query].query;
  const scores = THINGS.map(({ key }) => key.reduce((sum, feature, c) => sum + feature * asked[c], 0));
  const scaled = scores.map((score) => score / temperature);
  const masked = scaled.map((score, i) => (hidden[i] === "1" ? -Infinity : score));
  const top = Math.max(...masked), powers = masked.map((score) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = powers.reduce((a, b) => a + b, 0), weights = powers.map((power) => (sum ? power / sum : 0));
  const parts = weights.map((weight, i) => weight * THINGS[i].pages);
  return { scores, scaled, masked, weights, parts, output: parts.reduce((a, b) => a + b, 0) };
}

const columnsOf = ({ scores, scaled, masked, weights, parts }) => [scores, scaled, masked, weights, parts];

/** The columns in view: scaling and mask only where they do something, or where one asks for their step. */
export const inView = ({ step, temperature, hidden }) => [0, temperature !== 1 || step === 2 ? 1 : -1,
  hidden.includes("1") || step === 3 ? 2 : -1, 3, 4].filter((c) => c >= 0);

/** Columns share the room, so that text never shrinks. */
function draw({ state, numbers, width }) {
  const view = inView(state);
  const LEFT = 76, ROW = 34, TOP = 46, room = (width - LEFT) / view.length, height = TOP + 6 * ROW;
  const full = [5, 5, 5, 1, 300]; // what fills a bar: fixed, so that a change of scale can be seen
  const columns = columnsOf(numbers);
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    svg("rect", { class: "live-now", x: LEFT + view.indexOf(state.step - 1) * room, y: 2, width: room, height: TOP + 5 * ROW, rx: 6 }),
    view.map((c, at) => svg("g", { class: c < state.step ? "" : "live-later" },
      svg("text", { class: "live-count", x: LEFT + (at + 0.5) * room, y: 14, "text-anchor": "middle" }, String(c + 1)),
      label(HEADS[c], { x: LEFT + (at + 0.5) * room, y: 34, "text-anchor": "middle", "font-size": room < 64 ? 11 : 13 }))),
    THINGS.map(({ name }, i) => svg("g", {
      transform: `translate(0 ${TOP + i * ROW})`, class: state.hidden[i] === "1" ? "live-masked" : "",
    }, label(name, { x: 0, y: 22 }), view.filter((c) => c < state.step).map((c, at) => [
      svg("rect", { class: c === 3 ? "live-share" : "live-bar", x: LEFT + at * room + 4, y: 4, height: 26, rx: 3,
        width: Math.max(0, Math.min(1, columns[c][i] / full[c])) * (room - 8) }),
      svg("text", { class: "live-number", x: LEFT + (at + 1) * room - 8, y: 22, "text-anchor": "end" }, number(columns[c][i], DIGITS[c])),
    ]))),
    state.step === 5
      ? label([`Σ = ${number(numbers.output, 1)} 页`, `Σ = ${number(numbers.output, 1)} pages`],
        { class: "live-strong", x: width - 8, y: TOP + 5 * ROW + 23, "text-anchor": "end" })
      : []);
}

/** This step, with the numbers of the thing that gets most. */
function explain({ state, numbers }) {
  const { scores, scaled, masked, weights, parts, output } = numbers;
  const at = weights.indexOf(Math.max(...weights)), { name: [thingZh, thingEn], key, pages } = THINGS[at];
  const { name: [queryZh, queryEn], wish: [wishZh, wishEn], query } = QUERIES[state.query];
  const asked = query.findIndex(Boolean), T = state.temperature;
  const score = number(scores[at], 1), after = number(scaled[at], 2), weight = number(weights[at], 3);
  const sum = number(masked.reduce((total, each) => total + Math.exp(each), 0), 1);
  const hidden = THINGS.filter((_, i) => state.hidden[i] === "1").map(({ name }) => name);
  if (hidden.length === THINGS.length && state.step > 2) return [
    "全都遮住了：每个权重都是 0，输出也是 0，而不是 NaN。",
    "Everything is hidden: every weight is 0 and so is the output, not NaN."];
  return [
    [`“${queryZh}”这个查询只问“${wishZh}”。${thingZh}的评分：5 × ${key[asked]} = ${score}。`,
      `The ${queryEn} asks only for “${wishEn}”. The score of the ${thingEn} is 5 × ${key[asked]} = ${score}.`],
    [`${thingZh}：${score} ÷ ${T} = ${after}。T 越大，评分越接近，权重越平均。`,
      `The ${thingEn}: ${score} ÷ ${T} = ${after}. The larger T, the closer the scores and the more equal the weights.`],
    hidden.length
      ? [`遮住了：${hidden.map(([zh]) => zh).join("、")}。评分变成 −∞，权重就正好是 0。`,
        `Hidden: ${hidden.map(([, en]) => en).join(", ")}. The score becomes −∞, so the weight is exactly 0.`]
      : ["还没有遮住任何东西。在下面遮住“书”试试。", "Nothing is hidden yet. Hide the book below and see."],
    [`${thingZh}的权重：exp(${after}) ÷ ${sum} ≈ ${weight}。除数是看得见的各项 exp 之和，所以权重之和为 1。`,
      `The weight of the ${thingEn}: exp(${after}) ÷ ${sum} ≈ ${weight}. The divisor sums exp over all that is visible, so the weights sum to 1.`],
    [`${thingZh}出 ${weight} × ${pages} 页。五份相加：${parts.map((part) => number(part, 1)).join(" + ")} ≈ ${number(output, 1)} 页。`,
      `The ${thingEn} gives ${weight} × ${pages} pages. The five parts together: ${parts.map((part) => number(part, 1)).join(" + ")} ≈ ${number(output, 1)} pages.`],
  ][state.step - 1];
}

const table = ({ numbers }) => ({
  columns: ["", ...HEADS],
  rows: [
    ...THINGS.map(({ name }, i) => [name, ...columnsOf(numbers).map((column, c) => number(column[i], DIGITS[c]))]),
    [["和", "sum"], "", "", "", number(numbers.weights.reduce((a, b) => a + b, 0), 3), number(numbers.output, 1)],
  ],
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["五样东西的评分、缩放、掩码、权重与加权和", "Scores, scaling, mask, weights and weighted sum of five things"],
  controls: [
    { kind: "walk", key: "step", title: ["步骤", "Step"], options: STEPS.map((name, i) => [i + 1, name]) },
    { kind: "slider", key: "temperature", title: ["温度 T", "Temperature T"], min: 0.2, max: 5, step: 0.1, write: (T) => number(T, 1) },
    { kind: "checks", key: "hidden", title: ["遮住", "Hide"], options: THINGS.map(({ name }) => name) },
    { kind: "choice", key: "query", title: ["查询", "Query"], options: Object.entries(QUERIES).map(([key, { name }]) => [key, name]) },
  ],
});
