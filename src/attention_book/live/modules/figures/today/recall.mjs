/* Recall from a state of fixed size: random keys written once or twice, each then asked for. */
import { oneOf } from "../../page/address.mjs";
import { figure } from "../../page/figure.mjs";
import { label, number, svg } from "../../page/words.mjs";

const MOST = 32, DRAWS = 40, WORDS = 64, SHARPNESS = 16; // of softmax: what scores are multiplied by
const SIZES = [8, 16, 24];
export const KINDS = ["sum", "delta", "softmax"];
const NAMES = { sum: ["求和", "sum"], delta: ["delta 规则", "delta rule"], softmax: ["softmax", "softmax"] };

const begin = { pairs: 16, size: 16, times: 1 };
const address = {
  pairs: oneOf(Array.from({ length: MOST - 1 }, (_, i) => i + 2)), size: oneOf(SIZES), times: oneOf([1, 2]),
};

/** Random numbers between 0 and 1 that are the same on every page (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** A random direction: normal numbers (Box and Muller), scaled to length 1. */
function direction(random, size) {
  const x = Array.from({ length: size }, () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
  const length = Math.sqrt(dot(x, x));
  return x.map((each) => each / length);
}

/** What a state of rows by columns answers to a key: the key times the matrix. */
function read(state, key) {
  const found = Array(state[0].length).fill(0);
  for (let r = 0; r < key.length; r++) for (let c = 0; c < found.length; c++) found[c] += key[r] * state[r][c];
  return found;
}

/** Write one pair: the value itself, or by the delta rule what it differs by from the answer so far. */
function write(state, key, value, corrects) {
  const known = corrects ? read(state, key) : null, written = corrects ? value.map((each, c) => each - known[c]) : value;
  key.forEach((each, r) => written.forEach((change, c) => { state[r][c] += each * change; }));
}

/** What each key reads in the end, by its kind of memory. */
export function answers(kind, keys, values, asked) {
  if (kind === "softmax") {
    return asked.map((query) => {
      const scores = keys.map((key) => SHARPNESS * dot(query, key)), most = Math.max(...scores);
      const powers = scores.map((score) => Math.exp(score - most)), total = powers.reduce((a, b) => a + b, 0);
      return read(values, powers.map((power) => power / total));
    });
  }
  const state = keys[0].map(() => values[0].map(() => 0));
  keys.forEach((key, j) => write(state, key, values[j], kind === "delta"));
  return asked.map((query) => read(state, query));
}

/** Many draws; of the first, all that was drawn and read. */
export function compute({ pairs, size, times }) {
  const random = randomNumbers(7), right = Object.fromEntries(KINDS.map((kind) => [kind, Array(pairs).fill(0)]));
  const words = Array.from({ length: WORDS }, () => direction(random, size));
  let first;
  for (let draw = 0; draw < DRAWS; draw++) {
    const asked = Array.from({ length: pairs }, () => direction(random, size));
    const keys = times === 2 ? [...asked, ...asked] : asked;
    const labels = keys.map(() => Math.floor(WORDS * random())), values = labels.map((each) => words[each]);
    const reads = Object.fromEntries(KINDS.map((kind) => [kind, answers(kind, keys, values, asked)]));
    first ??= { keys, values, reads };
    for (const kind of KINDS) {
      reads[kind].forEach((found, i) => {
        const scores = words.map((word) => dot(word, found));
        right[kind][i] += scores.indexOf(Math.max(...scores)) === labels[keys.length - pairs + i] ? 1 / DRAWS : 0;
      });
    }
  }
  const means = Object.fromEntries(KINDS.map((kind) => [kind, right[kind].reduce((a, b) => a + b, 0) / pairs]));
  return { shares: right, means, first };
}

const LINE = 26, BARS = 64, PANEL = LINE + BARS + 22, LEFT = 34;
const percent = (share) => `${Math.round(100 * share)}%`;

/** One panel for each memory: a bar for each pair, from the first that was written to the last. */
function draw({ state, numbers, width }) {
  const height = KINDS.length * PANEL + 24;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    KINDS.map((kind, k) => svg("g", { transform: `translate(0 ${k * PANEL})` }, panel(kind, state, numbers, width))),
    label(["← 最早写入", "← written first"], { x: LEFT, y: KINDS.length * PANEL + 12, "font-size": 12, class: "live-muted" }),
    label(["最后写入 →", "written last →"], { x: width, y: KINDS.length * PANEL + 12, "text-anchor": "end", "font-size": 12, class: "live-muted" }));
}

function panel(kind, { pairs }, { shares, means }, width) {
  const room = (width - LEFT) / pairs, y = (share) => LINE + BARS * (1 - share), [zh, en] = NAMES[kind];
  return [
    label([`${zh}：记起 ${percent(means[kind])}`, `${en}: ${percent(means[kind])} recalled`], { x: LEFT, y: 16, "font-size": 13, class: "live-strong" }),
    [0, 1].map((share) => [
      svg("line", { class: "live-axis", x1: LEFT, x2: width, y1: y(share), y2: y(share) }),
      svg("text", { class: "live-number", x: LEFT - 4, y: y(share) + 4, "text-anchor": "end", "font-size": 11 }, percent(share)),
    ]),
    shares[kind].map((share, i) => svg("rect", {
      class: kind === "delta" ? "live-fill-warm" : "live-fill",
      x: LEFT + (i + 0.12) * room, width: 0.76 * room, y: y(share), height: BARS * share,
    })),
  ];
}

function explain({ state: { pairs, size, times }, numbers: { means, shares } }) {
  const [sum, delta, softmax] = KINDS.map((kind) => percent(means[kind])), oldest = percent(shares.delta[0]);
  const zh = `${size} 维里的 ${pairs} 个随机的键，各写${times === 2 ? "两次，以第二次为准" : "一次"}，抽 ${DRAWS} 回：求和记起 ${sum}，delta 规则 ${delta}，softmax ${softmax}。`;
  const en = `${pairs} random keys in ${size} dimensions, each written ${times === 2 ? "twice, and the last value counts" : "once"}; in ${DRAWS} draws the sum recalls ${sum}, the delta rule ${delta}, softmax ${softmax}.`;
  const end = times === 2
    ? ["求和与 softmax 把新旧两个值都留着，分不出先后；delta 规则改写了。", "The sum and softmax keep both values and cannot tell which is later; the delta rule has overwritten."]
    : [`求和对新旧一样；delta 规则总记得最后一个，最早的只记起 ${oldest}。`, `The sum treats old and new alike; the delta rule always knows the last pair, and the first in ${oldest} of the draws.`];
  return [zh + end[0], `${en} ${end[1]}`];
}

const table = ({ numbers: { shares, means } }) => ({
  columns: [["第几个写入", "written as number"], ...KINDS.map((kind) => NAMES[kind])],
  rows: [
    ...shares.sum.map((_, i) => [String(i + 1), ...KINDS.map((kind) => percent(shares[kind][i]))]),
    [["平均", "mean"], ...KINDS.map((kind) => percent(means[kind]))],
  ],
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["随机的键写进三种记忆之后，每个键被记起的比例", "How often each of some random keys is recalled from three kinds of memory"],
  controls: [
    { kind: "slider", key: "pairs", title: ["键的个数", "Number of keys"], min: 2, max: MOST, step: 1 },
    { kind: "choice", key: "size", title: ["维数 d（状态有 d² 个数）", "Dimensions d (the state has d² numbers)"], options: SIZES.map((size) => [size, String(size)]) },
    { kind: "choice", key: "times", title: ["每个键写几次", "How often each key is written"], options: [[1, ["一次", "once"]], [2, ["两次", "twice"]]] },
  ],
});
