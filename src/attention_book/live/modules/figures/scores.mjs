/* Four scores on the plane: where a key would score high, which of four keys wins, and with what weight. */
import { between, oneOf } from "../page/address.mjs";
import { control } from "../page/controls.mjs";
import { figure } from "../page/figure.mjs";
import { dot, softmax } from "../page/numbers.mjs";
import { label, number, svg } from "../page/words.mjs";

const KEYS = ["a", "b", "c", "d"], POINTS = ["q", ...KEYS];
const NAMES = {
  dot: ["点积", "dot"], scaled: ["缩放点积", "scaled"], cosine: ["余弦", "cosine"], additive: ["加性", "additive"],
};
const KINDS = Object.keys(NAMES);
const LONGEST = 3, REACH = 3.2, CELLS = 18; // the plane shows −3.2 to 3.2 each way, in 18 × 18 cells
const HIGHEST = { dot: 6, scaled: 6, cosine: 1, additive: 5 }; // the score that fills a cell

/* A vector has a length and an angle in degrees. D is twice as long as C, in the same direction. */
const begin = {
  score: "dot", point: "b",
  qLength: 2, qAngle: 45, aLength: 1, aAngle: 60, bLength: 2.8, bAngle: 5,
  cLength: 1.2, cAngle: 115, dLength: 2.4, dAngle: 115,
  wk1: 1, wk2: 1, wq2: -0.5, wv: 3,
};
const address = {
  score: oneOf(KINDS), point: oneOf(POINTS),
  ...Object.fromEntries(POINTS.flatMap((point) =>
    [[`${point}Length`, between(0, LONGEST)], [`${point}Angle`, between(-180, 180)]])),
  wk1: between(-2, 2), wk2: between(-2, 2), wq2: between(-2, 2), wv: between(0, 5),
};

const length = (vector) => Math.hypot(...vector);
const vector = (state, point) => {
  const far = state[`${point}Length`], angle = (state[`${point}Angle`] * Math.PI) / 180;
  return [far * Math.cos(angle), far * Math.sin(angle)];
};

/** The four scores, each a function of query and key. The additive one has a single hidden unit. */
const scoresOf = ({ wk1, wk2, wq2, wv }) => ({
  dot,
  scaled: (q, k) => dot(q, k) / Math.sqrt(2),
  cosine: (q, k) => dot(q, k) / (length(q) * length(k) || 1), // no direction: 0
  additive: (q, k) => wv * Math.tanh(wq2 * q[1] + wk1 * k[0] + wk2 * k[1]),
});

const middle = (cell) => ((cell + 0.5) / CELLS) * 2 * REACH - REACH;
const each = (change) => Object.fromEntries(KINDS.map((kind) => [kind, change(kind)]));

/** All numbers of the figure; `field` is the chosen score of a key in the middle of each cell, the
    rows from below. */
export function compute(state) {
  const query = vector(state, "q"), keys = KEYS.map((point) => vector(state, point)), functions = scoresOf(state);
  const scores = each((kind) => keys.map((key) => functions[kind](query, key)));
  const weights = each((kind) => softmax(scores[kind]));
  const cells = [...Array(CELLS).keys()];
  const field = cells.map((row) => cells.map((column) => functions[state.score](query, [middle(column), middle(row)])));
  return { query, keys, scores, weights, field };
}

const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

/* ---- the drawing: the plane, and beside or below it the weights under all four scores ---- */
const sideOf = (width) => (width < 600 ? Math.min(width, 360) : 320);
const placeOf = (width) => {
  const side = sideOf(width), left = width < 600 ? (width - side) / 2 : 0;
  return { side, left, at: ([x, y]) => [left + ((x + REACH) / (2 * REACH)) * side, ((REACH - y) / (2 * REACH)) * side] };
};

function draw({ state, numbers, width }) {
  const { side } = placeOf(width), wide = width >= 600;
  const height = wide ? side + 30 : side + 232;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    plane(state, numbers, width),
    wide ? weightsOf(state, numbers, side + 24, 40, width - side - 24) : weightsOf(state, numbers, 0, side + 30, width));
}

function plane({ score, point }, { query, keys, scores, field }, width) {
  const { side, left, at } = placeOf(width), cell = side / CELLS, winner = largest(scores[score]);
  const full = HIGHEST[score], [x0, y0] = at([0, 0]), [xq, yq] = at(query);
  const arrow = (tip, kind) => svg("line", { class: kind, x1: x0, y1: y0, x2: at(tip)[0], y2: at(tip)[1] });
  return [
    field.flatMap((row, r) => row.map((value, c) => svg("rect", {
      class: value < 0 ? "live-muted" : "live-score", x: left + c * cell, y: side - (r + 1) * cell, width: cell, height: cell,
      "shape-rendering": "crispEdges", "fill-opacity": (Math.min(1, Math.abs(value) / full) * 0.6).toFixed(3),
    }))),
    svg("path", { class: "live-axis", d: `M${left} ${y0}h${side}M${x0} 0v${side}` }),
    keys.map((key) => arrow(key, "live-key-line")), arrow(query, "live-query-line"),
    keys.map((key, i) => {
      const [x, y] = at(key), won = i === winner;
      return [
        KEYS[i] === point ? svg("circle", { class: "live-axis live-dashed", cx: x, cy: y, r: 16 }) : [],
        svg("circle", { class: won ? "live-key live-full" : "live-key", cx: x, cy: y, r: won ? 12 : 10 }),
        svg("text", { class: won ? "live-strong live-on-fill" : "", x, y: y + 4.5, "text-anchor": "middle" }, KEYS[i].toUpperCase()),
      ];
    }),
    point === "q" ? svg("circle", { class: "live-axis live-dashed", cx: xq, cy: yq, r: 17 }) : [],
    svg("circle", { class: "live-handle live-query", cx: xq, cy: yq, r: 11 }),
    svg("text", { class: "live-strong", x: xq, y: yq + 4, "text-anchor": "middle" }, "q"),
    label([`底色最重处：评分到 ${full}（紫）或 −${full}（灰）`, `strongest shade: ${full} or more (violet), −${full} (gray)`],
      { class: "live-count", x: left + side / 2, y: side + 18, "text-anchor": "middle" }),
  ];
}

/** One row for each score: the weights of the four keys. The chosen score stands out. */
function weightsOf({ score }, { weights }, x, top, room) {
  const LEFT = 72, ROW = 40, column = (room - LEFT) / KEYS.length, y = (row) => top + 26 + row * ROW;
  return [
    label(["权重", "weights"], { class: "live-muted", x, y: top + 16 }),
    KEYS.map((key, i) => svg("text", { x: x + LEFT + (i + 0.5) * column, y: top + 16, "text-anchor": "middle" }, key.toUpperCase())),
    KINDS.map((kind, row) => [
      kind === score ? svg("rect", { class: "live-now", x: x + 1, y: y(row) + 1, width: room - 2, height: ROW - 2, rx: 6 }) : [],
      label(NAMES[kind], { class: kind === score ? "live-strong" : "", x: x + 6, y: y(row) + 25 }),
      weights[kind].map((weight, i) => [
        svg("rect", { class: "live-share", x: x + LEFT + i * column + 3, y: y(row) + 7, width: weight * (column - 6), height: ROW - 14, rx: 3 }),
        svg("text", { class: `live-number ${i === largest(weights[kind]) ? "live-strong" : ""}`,
          x: x + LEFT + (i + 1) * column - 7, y: y(row) + 25, "text-anchor": "end" }, number(weight, 2)),
      ]),
    ])];
}

const handles = ({ state, width }) => POINTS.map((point) => {
  const { side, left, at } = placeOf(width), [x, y] = at(vector(state, point));
  return {
    x, y,
    move(toX, toY) {
      const tip = [((toX - left) / side) * 2 * REACH - REACH, REACH - (toY / side) * 2 * REACH];
      return {
        point,
        [`${point}Length`]: Math.round(20 * Math.min(LONGEST, length(tip))) / 20,
        [`${point}Angle`]: Math.round((Math.atan2(tip[1], tip[0]) * 180) / Math.PI),
      };
    },
  };
});

/* ---- the sentence and the table ---- */
const degrees = (cosine) => Math.round((Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI);

function explain({ state, numbers }) {
  const { keys, scores, weights } = numbers, won = largest(scores[state.score]), aimed = largest(scores.cosine);
  const W = KEYS[won].toUpperCase(), A = KEYS[aimed].toUpperCase();
  const long = (i) => number(length(keys[i]), 2), off = (i) => degrees(scores.cosine[i]);
  const score = number(scores[state.score][won], 2), weight = number(weights[state.score][won], 2);
  const byDot = number(weights.dot[won], 2), wv = number(state.wv, 1);
  const first = KEYS.filter((_, i) => scores[state.score][i] > scores[state.score][won] - 1e-9).map((key) => key.toUpperCase());
  if (first.length > 1) return [
    `${first.join("、")} 并列第一，都得 ${score}，权重各是 ${weight}。${state.score === "cosine" ? "方向相同就打平，长短不论。" : "动一动其中一个。"}`,
    `${first.join(", ")} tie for first with a score of ${score} and a weight of ${weight} each. ${state.score === "cosine" ? "The same direction is a tie, whatever the lengths." : "Move one of them."}`];
  return {
    dot: won === aimed
      ? [`${W} 得分最高：${score}，权重 ${weight}；它的方向也最准，只差 ${off(won)}°。把别的键拉长，看它能不能后来居上。`,
        `${W} wins with a score of ${score} and a weight of ${weight}; it also points best, ${off(won)}° off. Stretch another key and see whether it can overtake.`]
      : [`${W} 得分最高：${score}，权重 ${weight}。论方向，${A} 更准（差 ${off(aimed)}°，${W} 差 ${off(won)}°）；但 ${W} 长 ${long(won)}，${A} 只长 ${long(aimed)}：点积把长度也算进去。`,
        `${W} wins with a score of ${score} and a weight of ${weight}. ${A} points better (${off(aimed)}° off, ${W} ${off(won)}°), but ${W} is ${long(won)} long and ${A} only ${long(aimed)}: the dot product counts length.`],
    scaled: [`每个点积都除以 √2 ≈ 1.41：名次不变，差距变小，${W} 的权重从 ${byDot} 变成 ${weight}。长度照样算数。`,
      `Every dot product is divided by √2 ≈ 1.41: the order stays, the gaps shrink, and the weight of ${W} goes from ${byDot} to ${weight}. Length still counts.`],
    cosine: [`${W} 得分最高，因为它的方向最准，只差 ${off(won)}°。长度不起作用：拉长哪个键都没有变化。评分只在 −1 与 1 之间，最大的权重也只有 ${weight}。`,
      `${W} wins because it points best, ${off(won)}° off. Length plays no part: stretch any key and nothing moves. Scores stay between −1 and 1, so even the largest weight is only ${weight}.`],
    additive: [`${W} 得分最高：${score}，而上限是 ${wv}，再拉长也过不去。转动查询，底色的条纹只平移，不转向：条纹的方向由 W_k 决定。`,
      `${W} wins with ${score}; the ceiling is ${wv}, however long the key. Turn the query: the bands shift but never turn, for W_k alone sets their direction.`],
  }[state.score];
}

const table = ({ numbers: { keys, scores, weights } }) => ({
  columns: ["", ["长度", "length"], ["夹角", "angle to q"],
    ...KINDS.flatMap((kind) => [[`${NAMES[kind][0]}：评分`, `${NAMES[kind][1]}: score`], [`${NAMES[kind][0]}：权重`, `${NAMES[kind][1]}: weight`]])],
  rows: keys.map((key, i) => [KEYS[i].toUpperCase(), number(length(key), 2), `${degrees(scores.cosine[i])}°`,
    ...KINDS.flatMap((kind) => [number(scores[kind][i], 3), number(weights[kind][i], 3)])]),
});

/** A slider for the length or the angle of whichever vector is chosen. */
const ofThePoint = (part, description) => ({
  kind: "custom",
  build(host) {
    const key = () => host.get("point") + part;
    const slider = control({ kind: "slider", key: part, ...description },
      { get: () => host.get(key()), set: (changes) => host.set({ [key()]: changes[part] }) });
    return { element: slider.element, follow: (state) => slider.follow({ [part]: state[state.point + part] }) };
  },
});
const entry = (key, title, min = -2, max = 2) => ({ kind: "slider", key, title, min, max, step: 0.1, write: (value) => number(value, 1) });

export default figure({
  begin, address, compute, draw, explain, table, handles,
  title: ["平面上的一个查询和四个键，底色是各处的评分，旁边是四种评分下的权重",
    "A query and four keys on a plane, shaded by the score at each place, with the weights under four scores"],
  controls: [
    { kind: "choice", key: "score", title: ["评分", "Score"], options: KINDS.map((kind) => [kind, NAMES[kind]]) },
    { kind: "choice", key: "point", title: ["移动", "Move"], options: POINTS.map((point) =>
      [point, point === "q" ? ["查询 q", "query q"] : [`键 ${point.toUpperCase()}`, `key ${point.toUpperCase()}`]]) },
    ofThePoint("Length", { title: ["它的长度", "Its length"], min: 0, max: LONGEST, step: 0.05, write: (far) => number(far, 2) }),
    ofThePoint("Angle", { title: ["它的方向", "Its direction"], min: -180, max: 180, step: 1, write: (angle) => `${number(angle, 0)}°` }),
    entry("wk1", ["加性：W_k 第 1 项", "additive: W_k, entry 1"]), entry("wk2", ["加性：W_k 第 2 项", "additive: W_k, entry 2"]),
    entry("wq2", ["加性：W_q 第 2 项", "additive: W_q, entry 2"]), entry("wv", ["加性：w_v（上限）", "additive: w_v (ceiling)"], 0, 5),
  ],
});
