/* Who gets the blame: how the reader's output on the desk answers to each score, and why it hardly
   answers any more once one weight is nearly 1. */
import { between, bits } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";
import { THINGS } from "./steps.mjs";

const SCORES = THINGS.map(({ key }) => 5 * key[1]); // the reader asks for readable things only
const LARGEST_FACTOR = 4;
const LARGEST_PUSH = 75; // a quarter of the 300 pages: no more can ever be pushed upward

const begin = { factor: 1, hidden: "00000" };
const address = { factor: between(0, LARGEST_FACTOR), hidden: bits(THINGS.length) };

const sumOf = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** Weights, output and ∂o/∂sᵢ = αᵢ(vᵢ − o) for scores of which some are hidden. */
function blame(scores, hidden) {
  const visible = scores.map((score, i) => (hidden[i] === "1" ? -Infinity : score));
  const top = Math.max(...visible);
  const powers = visible.map((score) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = sumOf(powers), weights = powers.map((power) => (sum ? power / sum : 0));
  const output = sumOf(weights.map((weight, i) => weight * THINGS[i].pages));
  const gaps = THINGS.map(({ pages }) => pages - output);
  return { weights, output, gaps, derivatives: weights.map((weight, i) => weight * gaps[i]) };
}

/** What pushes upward, all together; as much pushes downward, for the derivatives sum to 0. */
const upward = ({ derivatives }) => sumOf(derivatives.filter((each) => each > 0));

/** All numbers of the figure; `curve` is the upward push at the factors 0, 0.1, … 4. */
export function compute({ factor, hidden }) {
  const at = (times) => blame(SCORES.map((score) => times * score), hidden), now = at(factor);
  const curve = Array.from({ length: 10 * LARGEST_FACTOR + 1 }, (_, i) => upward(at(i / 10)));
  return { scores: SCORES.map((score) => factor * score), ...now, push: upward(now), curve };
}

const signed = (value) => (value >= 0.05 ? "+" : "") + number(value, 1);
const LEFT = 74, ROW = 34, TOP = 30, LOWEST = TOP + THINGS.length * ROW, CURVE = { top: LOWEST + 68, height: 84 };

/** Where a factor lies below the rows, and how high so great a push. */
const factorAt = (factor, width) => 24 + (factor / LARGEST_FACTOR) * (width - 40);
const pushAt = (push) => CURVE.top + CURVE.height * (1 - push / LARGEST_PUSH);

function draw({ state, numbers, width }) {
  const room = width - LEFT, height = CURVE.top + CURVE.height + 34;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    THINGS.map(({ name }, i) => svg("g", { class: state.hidden[i] === "1" ? "live-masked" : "" },
      label(name, { x: 0, y: TOP + i * ROW + 22 }))),
    weightColumn(numbers, LEFT, 0.2 * room),
    pagesColumn(numbers, state.hidden, LEFT + 0.23 * room, 0.27 * room),
    derivativeColumn(numbers, LEFT + 0.56 * room, 0.44 * room),
    saturation(numbers, state.factor, width));
}

const head = (text, x) => label(text, { x, y: 16, "text-anchor": "middle" });

const weightColumn = ({ weights }, x, room) => [
  head(["权重 α", "weight α"], x + room / 2),
  weights.map((weight, i) => [
    svg("rect", { class: "live-share", x, y: TOP + i * ROW + 5, width: weight * room, height: 24, rx: 3 }),
    svg("text", { class: "live-number", x: x + room - 2, y: TOP + i * ROW + 22, "text-anchor": "end" }, number(weight, 3)),
  ])];

/** The pages of each thing on a line from 0 to 300, and how far they lie from the output. */
function pagesColumn({ output }, hidden, x, room) {
  const at = (pages) => x + (pages / 300) * room;
  return [
    head(["页数 v", "pages v"], x + room / 2),
    THINGS.map(({ pages }, i) => {
      const y = TOP + i * ROW + 17, kind = pages > output ? "" : "-warm";
      return [
        svg("line", { class: "live-axis", x1: x, x2: x + room, y1: y, y2: y }),
        hidden[i] === "1" ? [] : svg("line", { class: `live-stroke${kind}`, x1: at(output), x2: at(pages), y1: y, y2: y }),
        svg("circle", { class: hidden[i] === "1" ? "live-axis" : `live-fill${kind}`, cx: at(pages), cy: y, r: 4.5 }),
      ];
    }),
    svg("line", { class: "live-stroke live-dashed", x1: at(output), x2: at(output), y1: TOP, y2: LOWEST }),
    label([`输出 o = ${number(output, 1)}`, `output o = ${number(output, 1)}`],
      { class: "live-strong", x: x + room / 2, y: LOWEST + 16, "text-anchor": "middle" }),
  ];
}

/** Up is to the right, down to the left; the number stands on the other side. */
function derivativeColumn({ derivatives }, x, room) {
  const middle = x + room / 2;
  return [
    head(["导数", "derivative"], middle),
    svg("line", { class: "live-axis", x1: middle, x2: middle, y1: TOP, y2: LOWEST }),
    derivatives.map((each, i) => {
      const long = (Math.abs(each) / LARGEST_PUSH) * (room / 2), up = each > 0;
      return [
        svg("rect", { class: up ? "live-fill" : "live-fill-warm", x: up ? middle : middle - long,
          y: TOP + i * ROW + 7, width: long, height: 20 }),
        svg("text", { class: "live-number", x: middle + (up ? -4 : 4), y: TOP + i * ROW + 22,
          "text-anchor": up ? "end" : "start" }, signed(each)),
      ];
    })];
}

/** The push at every factor: what a softmax still passes on as it saturates. */
function saturation({ curve, push }, factor, width) {
  const bottom = pushAt(0), dot = { cx: factorAt(factor, width), cy: pushAt(push) };
  return [
    label([`传回评分的梯度：该升的共 ${signed(push)}`, `gradient passed back: ${signed(push)} upward`],
      { x: 24, y: CURVE.top - 16 }),
    svg("line", { class: "live-axis", x1: 24, x2: width - 16, y1: bottom, y2: bottom }),
    svg("polyline", { class: "live-stroke", points: curve.map((each, i) => `${factorAt(i / 10, width)},${pushAt(each)}`).join(" ") }),
    svg("line", { class: "live-stroke-warm live-dashed", x1: dot.cx, x2: dot.cx, y1: bottom, y2: dot.cy }),
    [0, 1, 2, 3, 4].map((each) => svg("text", { class: "live-count", x: factorAt(each, width), y: bottom + 16, "text-anchor": "middle" }, `× ${each}`)),
    svg("circle", { class: "live-handle", ...dot, r: 7 }),
  ];
}

const handles = ({ state, numbers, width }) => [{
  x: factorAt(state.factor, width), y: pushAt(numbers.push),
  move(x) {
    const factor = ((x - 24) / (width - 40)) * LARGEST_FACTOR;
    return { factor: Math.round(10 * Math.max(0, Math.min(LARGEST_FACTOR, factor))) / 10 };
  },
}];

function explain({ state, numbers }) {
  const { weights, output, derivatives } = numbers, names = THINGS.map(({ name }) => name);
  const visible = names.filter((_, i) => state.hidden[i] === "0");
  const most = weights.indexOf(Math.max(...weights));
  const up = derivatives.indexOf(Math.max(...derivatives)), down = derivatives.indexOf(Math.min(...derivatives));
  const [zh, en] = visible.length === 0
    ? ["全都遮住了：输出是 0，每个导数也恰好是 0。", "Everything is hidden: the output is 0, and so is every derivative, exactly."]
    : visible.length === 1
      ? [`只看得见${names[most][0]}，权重恰好是 1：它的评分怎么变，输出都不变，导数是 0。`,
        `Only the ${names[most][1]} is visible, with a weight of exactly 1: whatever its score, the output stays, and the derivative is 0.`]
      : weights[most] > 0.95
        ? [`${names[most][0]}占了 ${number(weights[most], 3)} 的权重，softmax 饱和了：最大的导数只有 ${signed(derivatives[up])}，评分再怎么改，输出也难动。`,
          `The ${names[most][1]} has ${number(weights[most], 3)} of the weight, and softmax is saturated: the largest derivative is ${signed(derivatives[up])}, and hardly any score moves the output.`]
        : [`${names[up][0]}有 ${THINGS[up].pages} 页，高于平均 ${number(output, 1)}，该升（${signed(derivatives[up])}）；降得最多的是${names[down][0]}（${signed(derivatives[down])}）。升降相加，正好是 0。`,
          `The ${names[up][1]}, with ${THINGS[up].pages} pages, beats the average of ${number(output, 1)} and should rise (${signed(derivatives[up])}); the ${names[down][1]} should fall most (${signed(derivatives[down])}). The derivatives sum to 0.`];
  return visible.length === names.length || visible.length === 0 ? [zh, en]
    : [`${zh}遮住的，导数恰好是 0。`, `${en} What is hidden has a derivative of exactly 0.`];
}

const table = ({ numbers }) => ({
  columns: ["", ["评分", "score"], ["权重 α", "weight α"], ["页数 v", "pages v"], "v − o", "α(v − o)"],
  rows: [
    ...THINGS.map(({ name, pages }, i) => [name, number(numbers.scores[i], 2), number(numbers.weights[i], 3), pages,
      signed(numbers.gaps[i]), number(numbers.derivatives[i], 2)]),
    [["和", "sum"], "", number(sumOf(numbers.weights), 3), "", "", number(sumOf(numbers.derivatives), 2)],
    [["输出 o", "output o"], "", "", number(numbers.output, 1), "", ""],
  ],
});

export default figure({
  begin, address, compute, draw, explain, table, handles,
  title: ["五样东西的权重、页数、与输出之差，以及输出对每个评分的导数；下面是传回评分的梯度随倍数的变化",
    "Weight, pages, distance from the output and derivative with respect to its score for five things; below, the gradient passed back for every factor"],
  controls: [
    { kind: "slider", key: "factor", title: ["评分乘以", "Scores times"], min: 0, max: LARGEST_FACTOR, step: 0.1, write: (factor) => number(factor, 1) },
    { kind: "checks", key: "hidden", title: ["遮住", "Hide"], options: THINGS.map(({ name }) => name) },
  ],
});
