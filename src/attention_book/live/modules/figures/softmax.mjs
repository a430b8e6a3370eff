/* Why dot products are divided by √d: the larger d, the larger the scores, and one key takes everything. */
import { between, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

/** How many standard deviations each key's dot product lies from 0: their mean is 0, their spread 1. */
export const KEYS = [0.5, -1.2, 0.8, 1.5, -0.5, -1.1];
const SIZES = Array.from({ length: 10 }, (_, doublings) => 2 ** doublings);
const LARGEST = 1.5 * Math.sqrt(512); // what fills a bar of scores: fixed, so that growth can be seen

const begin = { doublings: 8, divide: "no", temperature: 1 };
const address = {
  doublings: oneOf(SIZES.map((_, doublings) => doublings)), divide: oneOf(["no", "yes"]), temperature: between(0.2, 5),
};

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** All numbers of the figure. The dot product of d independent features has the spread √d. */
export function compute({ doublings, divide, temperature }) {
  const d = SIZES[doublings], scores = KEYS.map((key) => key * Math.sqrt(d));
  const inputs = scores.map((score) => score / (divide === "yes" ? Math.sqrt(d) : 1) / temperature);
  const top = Math.max(...inputs), powers = inputs.map((input) => Math.exp(input - top)), total = sum(powers);
  const weights = powers.map((power) => power / total);
  // 1 − α as the sum of the others: near 1, the difference would have no digits left.
  const slopes = weights.map((weight, i) => weight * sum(weights.filter((_, j) => j !== i)));
  const entropy = -sum(weights.map((weight) => (weight ? weight * Math.log(weight) : 0)));
  return { d, scores, inputs, weights, slopes, entropy };
}

/** A small number as it is: 0.0000137 and not 0.000; one that no column has room for, by its bound. */
export function small(value) {
  if (value >= 0.001 || value === 0) return number(value, 3);
  return value < 1e-6 ? "< 0.000001" : value.toFixed(1 - Math.floor(Math.log10(value)));
}

const PANELS = [
  { name: ["进 softmax 的评分", "scores into softmax"], of: "inputs", full: LARGEST, zero: 90, tall: 42, write: (score) => number(score, 1) },
  { name: ["权重", "weights"], of: "weights", full: 1, zero: 228, tall: 56, write: (weight) => number(weight, 3) },
  { name: ["权重的导数 α(1 − α)", "derivative of the weight, α(1 − α)"],
    of: "slopes", full: 0.25, zero: 330, tall: 56, write: (slope) => number(slope, 3) },
];

/** Three rows of bars, one column for each key. */
function draw({ numbers, width }) {
  const room = width / KEYS.length;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} 338`, width, height: 338 },
    PANELS.map(({ name, of, full, zero, tall, write }) => svg("g", {},
      label(name, { class: "live-strong", x: 0, y: zero - tall - 22, "font-size": 12 }),
      svg("line", { class: "live-axis", x1: 0, x2: width, y1: zero, y2: zero }),
      numbers[of].map((value, i) => {
        const high = Math.max(-1, Math.min(1, value / full)) * tall, middle = (i + 0.5) * room;
        return [
          svg("rect", { class: of === "weights" ? "live-weight-fill" : "live-fill", x: middle - room * 0.3, width: room * 0.6, y: zero - Math.max(0, high), height: Math.abs(high) }),
          svg("text", { class: "live-number", x: middle, "text-anchor": "middle", "font-size": 12,
            y: high < 0 ? zero - high + 13 : zero - high - 4 }, write(value))];
      }))));
}

function explain({ state, numbers: { d, weights, slopes, entropy } }) {
  const at = weights.indexOf(Math.max(...weights)), most = number(weights[at], 3), slope = small(slopes[at]);
  const divided = state.divide === "yes", spread = number((divided ? 1 : Math.sqrt(d)) / state.temperature, 1);
  const found = number(entropy, 2), equal = number(Math.log(KEYS.length), 2), stuck = slopes[at] < 0.01;
  return [
    `d = ${d}，${divided ? "除以 √d" : "不除以 √d"}：进 softmax 的评分标准差是 ${spread}。最大的权重是 ${most}，熵是 ${found}（六个键平分时是 ${equal}）；这个权重的导数是 ${slope}${stuck ? "，评分动一点，它几乎不动。" : "，评分动一点，它就跟着动。"}`,
    `d = ${d}, ${divided ? "divided by √d" : "not divided by √d"}: the scores that enter softmax have a standard deviation of ${spread}. The largest weight is ${most}, and the entropy ${found} (${equal} for equal shares); the derivative of that weight is ${slope}, ${stuck ? "so it hardly moves when its score moves a little." : "so it moves when its score moves a little."}`,
  ];
}

const table = ({ numbers: { scores, inputs, weights, slopes, entropy } }) => ({
  columns: ["", ["标准差的倍数", "standard deviations"], ["点积", "dot product"], ["进 softmax", "into softmax"],
    ["权重 α", "weight α"], "α(1 − α)"],
  rows: [
    ...KEYS.map((key, i) => [[`键 ${i + 1}`, `key ${i + 1}`], number(key, 1), number(scores[i], 2), number(inputs[i], 2),
      small(weights[i]), small(slopes[i])]),
    [["熵", "entropy"], "", "", "", number(entropy, 3), ""],
  ],
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["六个键的评分、权重，以及权重对自己评分的导数",
    "The scores of six keys, their weights, and the derivative of each weight with respect to its own score"],
  controls: [
    { kind: "choice", key: "divide", title: ["点积", "Dot product"], options: [["no", ["不缩放", "as it is"]], ["yes", ["除以 √d", "divided by √d"]]] },
    { kind: "slider", key: "doublings", title: ["特征数 d", "Feature size d"], min: 0, max: 9, step: 1, write: (doublings) => String(SIZES[doublings]) },
    { kind: "slider", key: "temperature", title: ["温度 T", "Temperature T"], min: 0.2, max: 5, step: 0.1, write: (T) => number(T, 1) },
  ],
});
