/* Kernel regression: near points are heard more than far ones, and the bandwidth says what is near. */
import { between, oneOf } from "../page/address.mjs";
import { control } from "../page/controls.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

const END = 5; // both sets of points lie on 0 to 5
/** The notebook of the chapter, whose pages a reader can change; and one draw of its noisy curve. */
const POINTS = {
  week: { keys: [1, 2, 4], top: 80, ticks: [0, 20, 40, 60, 80], digits: 1, tall: 60 },
  curve: {
    keys: [0.2, 0.9, 1.1, 2, 2.3, 2.5, 2.7, 2.8, 3, 3.8, 4.6, 4.7],
    values: [0.7, 2.7, 2.7, 4.9, 3.8, 3.2, 2.8, 2.4, 1.9, 1.4, 2, 1.1],
    top: 5, ticks: [0, 1, 2, 3, 4, 5], digits: 2, tall: 100,
  },
};
const truth = (x) => 2 * Math.sin(x) + x ** 0.8;
const TESTS = Array.from({ length: 50 }, (_, i) => i / 10);
const GRID = Array.from({ length: 201 }, (_, i) => (i * END) / 200);

/** log K(u), up to a constant that the weights don't feel; −∞ where a kernel no longer listens. */
const LOG_KERNELS = {
  gaussian: (u) => -(u ** 2) / 2,
  boxcar: (u) => (Math.abs(u) <= 1 ? 0 : -Infinity),
  epanechnikov: (u) => Math.log(Math.max(0, 1 - u ** 2)),
  triangular: (u) => Math.log(Math.max(0, 1 - Math.abs(u))),
};
const KERNELS = [
  ["gaussian", ["高斯核", "Gaussian"]], ["boxcar", ["均匀核", "boxcar"]],
  ["epanechnikov", "Epanechnikov"], ["triangular", ["三角核", "triangular"]],
];
const PAGES = ["pages1", "pages2", "pages4"];

const begin = { points: "week", query: 3, bandwidth: 1, kernel: "gaussian", pages1: 10, pages2: 20, pages4: 60 };
const address = {
  query: between(0, END), bandwidth: between(0.05, 3), kernel: oneOf(Object.keys(LOG_KERNELS)),
  pages1: between(0, 80), pages2: between(0, 80), pages4: between(0, 80),
};

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const mean = (numbers) => sum(numbers) / numbers.length;

/** All numbers of the figure. Where no key is in reach, every weight is 0, and the answer too. */
export function compute(state) {
  const { keys } = POINTS[state.points], values = POINTS[state.points].values ?? PAGES.map((each) => state[each]);
  const scoresAt = (x) => keys.map((key) => LOG_KERNELS[state.kernel]((x - key) / state.bandwidth));
  const weightsAt = (x) => {
    const scores = scoresAt(x), top = Math.max(...scores);
    const powers = scores.map((score) => (top === -Infinity ? 0 : Math.exp(score - top))), total = sum(powers);
    return powers.map((power) => (total ? power / total : 0));
  };
  const answerAt = (x) => sum(weightsAt(x).map((weight, i) => weight * values[i]));
  const error = (predict) => mean(TESTS.map((x) => (predict(x) - truth(x)) ** 2));
  const weights = weightsAt(state.query), scores = scoresAt(state.query), average = mean(values);
  const heard = sum(weights.map((weight) => weight ** 2));
  return {
    keys, values, scores, weights, average, answer: answerAt(state.query), line: GRID.map(answerAt),
    heard: heard ? 1 / heard : 0, // how many equal weights would listen as widely
    ...(state.points === "curve" && { truth: truth(state.query), error: error(answerAt), averageError: error(() => average) }),
  };
}

const TOP = 34, BOTTOM = 190; // the plot; below it the weights
/** Where things lie in a drawing of some width. */
function places({ points }, width) {
  const LEFT = 40, RIGHT = 16, { top, tall } = POINTS[points];
  return {
    LEFT, right: width - RIGHT, tall, floor: BOTTOM + 36 + tall,
    x: (x) => LEFT + (x / END) * (width - LEFT - RIGHT), y: (y) => BOTTOM - (y / top) * (BOTTOM - TOP),
    xBack: (x) => ((x - LEFT) / (width - LEFT - RIGHT)) * END, yBack: (y) => ((BOTTOM - y) / (BOTTOM - TOP)) * top,
  };
}

/** A line through points of the grid; where there is none (null), the pen is up. */
function path(points, x, y) {
  let down = false;
  return points.map((value, i) => {
    const step = value === null ? "" : `${down ? "L" : "M"}${x(GRID[i]).toFixed(1)} ${y(value).toFixed(1)}`;
    down = value !== null;
    return step;
  }).join("");
}

function draw({ state, numbers, width }) {
  const place = places(state, width), { x, y, LEFT, right, floor } = place, { ticks, digits } = POINTS[state.points];
  const week = state.points === "week", at = x(state.query), height = floor + 20, most = Math.max(...numbers.weights) || 1;
  const high = Math.max(TOP + 4, y(numbers.answer) - 8); // the answer stands to the right, unless a point is there
  const crowded = numbers.keys.some((key, i) => x(key) > at && x(key) < at + 50 && Math.abs(y(numbers.values[i]) - high) < 16);
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    ticks.map((tick) => [
      svg("line", { class: "live-axis", x1: LEFT, x2: right, y1: y(tick), y2: y(tick), "stroke-opacity": tick ? 0.35 : 1 }),
      svg("text", { class: "live-count", x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick))]),
    [0, 1, 2, 3, 4, 5].map((tick) =>
      svg("text", { class: "live-count", x: x(tick), y: BOTTOM + 15, "text-anchor": "middle" }, String(tick))),
    label(week ? ["页", "pages"] : "y", { class: "live-muted", x: 0, y: 16, "font-size": 11 }),
    week ? [] : svg("path", { class: "live-stroke-warm live-dashed", d: path(GRID.map(truth), x, y) }),
    svg("line", { class: "live-axis live-dashed", x1: at, x2: at, y1: 14, y2: floor }),
    svg("path", { class: "live-stroke", d: path(numbers.line, x, y) }),
    numbers.keys.map((key, i) => [
      svg("circle", { class: week ? "live-handle" : "live-point", cx: x(key), cy: y(numbers.values[i]), r: week ? 7 : 4 }),
      // The louder a point is heard, the fuller it is.
      svg("circle", { class: "live-weight-fill", cx: x(key), cy: y(numbers.values[i]), r: 4, "fill-opacity": (numbers.weights[i] / most).toFixed(3) })]),
    weightBars(state, numbers, place),
    svg("circle", { class: "live-handle live-query", cx: at, cy: 14, r: 8 }),
    label([`查询 ${state.query}`, `query ${state.query}`], // beside its handle, and inside the drawing
      state.query > 3.4 ? { x: at - 14, y: 18, "text-anchor": "end" } : { x: at + 14, y: 18 }),
    svg("circle", { class: "live-fill", cx: at, cy: y(numbers.answer), r: 6 }),
    svg("text", { class: "live-strong live-number live-halo", y: high,
      ...(state.query > 4.2 || crowded ? { x: at - 10, "text-anchor": "end" } : { x: at + 10 }) }, number(numbers.answer, digits)));
}

/** The weights as bars that end on the kernel, drawn around the query as high as makes their sum 1. */
function weightBars(state, { keys, scores, weights }, { x, LEFT, right, floor, tall }) {
  const total = sum(scores.map(Math.exp)) || 1, wide = keys.length > 5 ? 5 : 14;
  const kernel = GRID.map((each) => Math.exp(LOG_KERNELS[state.kernel]((state.query - each) / state.bandwidth)) / total);
  return [
    label(["权重", "weight"], { class: "live-muted", x: 0, y: floor - tall / 2, "font-size": 11 }),
    svg("line", { class: "live-axis", x1: LEFT, x2: right, y1: floor, y2: floor }),
    svg("path", { class: "live-axis", d: path(kernel.map((each) => (each > 1.15 ? null : each)), x, (weight) => floor - weight * tall) }),
    keys.map((key, i) => [
      svg("rect", { class: "live-weight-fill", x: x(key) - wide / 2, width: wide, y: floor - weights[i] * tall, height: weights[i] * tall }),
      keys.length > 5 ? [] : svg("text", { class: "live-count live-number", x: x(key), y: floor + 15, "text-anchor": "middle" },
        number(weights[i], 3))]),
  ];
}

/** The query slides along the top; the pages of the notebook move up and down. */
function handles({ state, numbers, width }) {
  const { x, y, xBack, yBack } = places(state, width);
  const within = (value, most, digits) => Number(Math.max(0, Math.min(most, value)).toFixed(digits));
  const query = { x: x(state.query), y: 14, move: (to) => ({ query: within(xBack(to), END, 1) }) };
  return state.points === "curve" ? [query] : [query, ...PAGES.map((key, i) => ({
    x: x(numbers.keys[i]), y: y(numbers.values[i]), move: (_, to) => ({ [key]: within(yBack(to), 80, 0) }),
  }))];
}

function explain({ state, numbers: { weights, answer, average, heard, truth, error, averageError } }) {
  const { query, bandwidth } = state, h = number(bandwidth, 2), found = number(answer, POINTS[state.points].digits);
  if (weights.every((weight) => weight === 0)) return [
    `查询 ${query} 在带宽 ${h} 之内一个键也够不着：权重全是 0，答案也只好是 0，而不是 NaN。`,
    `From query ${query} no key is within the bandwidth of ${h}: all weights are 0, and the answer is 0, not NaN.`];
  if (state.points === "week") {
    const listed = weights.map((weight) => number(weight, 3)), plain = number(average, 1);
    return [
      `第 ${query} 天猜 ${found} 页：第 1、2、4 天的权重是 ${listed.join("、")}。三天听得一样多，就是平均数 ${plain} 页；带宽越大，答案离它越近。`,
      `The guess for day ${query} is ${found} pages: days 1, 2 and 4 have the weights ${listed.join(", ")}. Listening to all three alike gives the average, ${plain} pages; the larger the bandwidth, the nearer the answer comes to it.`];
  }
  const [near, wrong, plain] = [truth, error, averageError].map((each) => number(each, 2));
  return [
    `查询 ${query} 大约听了 ${number(heard, 1)} 个点，答 ${found}，真值是 ${near}。整条线的均方误差是 ${wrong}；不分远近的平均数是 ${plain}。`,
    `Query ${query} hears about ${number(heard, 1)} points and answers ${found}; the truth is ${near}. The mean squared error of the whole line is ${wrong}; that of the plain average, which ignores the query, is ${plain}.`];
}

function table({ state, numbers: { keys, values, weights, answer } }) {
  return {
    columns: ["", ["键", "key"], ["距离", "distance"], ["权重", "weight"], ["值", "value"], ["权重 × 值", "weight × value"]],
    rows: [
      ...keys.map((key, i) => [String(i + 1), String(key), number(Math.abs(state.query - key), 1), number(weights[i], 3),
        String(values[i]), number(weights[i] * values[i], 3)]),
      [["和", "sum"], "", "", number(sum(weights), 3), "", number(answer, 3)],
    ],
  };
}

/** The pages of one day; the curve's points stay where they are. */
const pages = (key, day) => ({
  kind: "custom", key,
  build: (host) => (host.get("points") === "curve"
    ? { element: "", follow: () => {} }
    : control({ kind: "slider", key, min: 0, max: 80, step: 1, title: [`第 ${day} 天的页数`, `Pages on day ${day}`] }, host)),
});

export default figure({
  begin, address, compute, draw, handles, explain, table,
  title: ["已知的点，核回归的曲线，查询处的答案，以及每个点的权重",
    "Known points, the line of kernel regression, the answer at the query, and the weight of each point"],
  controls: [
    { kind: "slider", key: "query", title: ["查询", "Query"], min: 0, max: END, step: 0.1 },
    { kind: "slider", key: "bandwidth", title: ["带宽 h", "Bandwidth h"], min: 0.05, max: 3, step: 0.05, write: (h) => number(h, 2) },
    { kind: "choice", key: "kernel", title: ["核", "Kernel"], options: KERNELS },
    ...[1, 2, 4].map((day) => pages(`pages${day}`, day)),
  ],
});
