/* One step of Bahdanau's decoder, on paper: the previous state asks three source states. The matrices
   are those that the chapter writes by hand, with one hidden unit. */
import { between, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { label, number, svg } from "../page/words.mjs";

const WORDS = { chases: [["Tom", [0, 0.4]], ["chases", [0.4, 0.2]], ["Jerry", [0.2, -0.3]]],
  swapped: [["Jerry", [0, -0.4]], ["chases", [0.4, -0.2]], ["Tom", [0.2, 0.3]]] };
const TARGETS = [["汤姆", [0, 1], "Tom"], ["追逐", [1, 0], "chases"], ["杰瑞", [0, -1], "Jerry"]];
const LOOK = 2.5 * Math.log(3), SHARP = -2 * Math.log(2), READ = 10 * Math.log(2);

const begin = { verb: 0.2, who: -0.3, order: "chases" };
const address = { verb: between(-0.6, 1), who: between(-0.6, 0.6), order: oneOf(Object.keys(WORDS)) };

export function softmax(scores) {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** Scores, weights, context, and the words read off the context. */
export function compute({ verb, who, order }) {
  const states = WORDS[order].map(([, state]) => state), query = [verb, who];
  const inner = states.map((state) => Math.tanh(LOOK * (state[0] - verb)));
  const scores = inner.map((value) => SHARP * value), weights = softmax(scores);
  const context = [0, 1].map((c) => weights.reduce((sum, weight, j) => sum + weight * states[j][c], 0));
  const read = (state) => softmax(TARGETS.map(([, word]) => READ * (word[0] * state[0] + word[1] * state[1])));
  return { query, states, inner, scores, weights, context, written: read(context), shut: read(states[2]) };
}

const SPAN = { left: -0.6, right: 1, top: 0.6, bottom: -0.6 };
const planeWidth = (width) => (width < 520 ? width - 8 : Math.round(width * 0.5));
const HEIGHT = 230;

const toPixels = (width) => ([x, y]) => [
  8 + ((x - SPAN.left) / (SPAN.right - SPAN.left)) * (planeWidth(width) - 16),
  12 + ((SPAN.top - y) / (SPAN.top - SPAN.bottom)) * (HEIGHT - 24),
];

function draw({ state, numbers, width }) {
  const place = toPixels(width), narrow = width < 520, [cx, cy] = place(numbers.context), [qx, qy] = place(numbers.query);
  const words = WORDS[state.order], right = narrow ? 4 : planeWidth(width) + 24, top = narrow ? HEIGHT + 18 : 6;
  const height = narrow ? HEIGHT + 230 : HEIGHT + 6, room = width - right - 8;
  const [x0, y0] = place([0, 0]);
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    svg("path", { class: "live-axis", d: `M8,${y0} H${planeWidth(width) - 8} M${x0},12 V${HEIGHT - 12}` }),
    label(["动词 →", "verb →"], { class: "live-muted", x: planeWidth(width) - 10, y: y0 + 16, "text-anchor": "end", "font-size": 11 }),
    label(["↑ 谁", "↑ who"], { class: "live-muted", x: x0 + 6, y: 18, "font-size": 11 }),
    words.map(([word, at], j) => {
      const [x, y] = place(at);
      return [
        svg("line", { class: "live-stroke", x1: x, y1: y, x2: cx, y2: cy, "stroke-opacity": 0.15 + 0.85 * numbers.weights[j], "stroke-width": 1 + 6 * numbers.weights[j] }),
        svg("circle", { class: "live-fill", cx: x, cy: y, r: 6 }),
      ];
    }),
    svg("rect", { class: "live-fill-warm", x: cx - 5, y: cy - 5, width: 10, height: 10 }),
    svg("circle", { class: "live-handle", cx: qx, cy: qy, r: 9 }),
    names(words, numbers, width).map(({ text, x, y, ...rest }) => svg("text", { class: "live-halo", x, y, ...rest }, text)),
    bars(["权重", "weights"], words.map(([word]) => word), numbers.weights, { x: right, y: top, room, digits: 3 }),
    bars(["写哪个词", "next word"], TARGETS.map(([word]) => word), numbers.written, { x: right, y: top + 112, room, digits: 3 }));
}

/** Where the names stand: those of the words beside them, and that of s where it covers none. */
function names(words, { context, query }, width) {
  const place = toPixels(width), [cx, cy] = place(context), [qx, qy] = place(query);
  const fixed = [
    ...words.map(([text, at]) => ({ text, x: place(at)[0] + 10, y: place(at)[1] + (at[1] > 0 ? -8 : 18), lang: "en" })),
    { text: "C", x: cx - 22, y: cy + 4, class: "live-strong live-halo" },
  ];
  const points = [...words.map(([, at]) => place(at)), [cx, cy]];
  const covers = ([x, y]) => x < 0 || x > planeWidth(width) || fixed.some((each) => x < each.x + 8 * each.text.length && x + 8 > each.x && Math.abs(y - each.y) < 14)
    || points.some((point) => Math.abs(x + 4 - point[0]) < 11 && Math.abs(y - 4 - point[1]) < 11);
  const sides = [[qx + 14, qy + 5], [qx - 21, qy + 5], [qx - 4, qy - 14], [qx - 4, qy + 23]];
  const [x, y] = sides.find((side) => !covers(side)) ?? sides[0];
  return [...fixed, { text: "s", x, y, class: "live-strong live-halo" }];
}

function bars(title, names, values, { x, y, room, digits }) {
  const LEFT = 58, full = room - LEFT - 48;
  return svg("g", { transform: `translate(${x} ${y})` },
    label(title, { class: "live-muted", x: 0, y: 14 }),
    names.map((name, i) => [
      svg("text", { x: 0, y: 40 + i * 26 }, name),
      svg("rect", { class: "live-bar", x: LEFT, y: 25 + i * 26, width: full * values[i], height: 20, rx: 3 }),
      svg("text", { class: "live-number", x: room, y: 40 + i * 26, "text-anchor": "end" }, number(values[i], digits)),
    ]));
}

function explain({ state, numbers }) {
  const { weights, written, shut } = numbers, most = weights.indexOf(Math.max(...weights));
  const word = WORDS[state.order][most][0], best = written.indexOf(Math.max(...written)), [target, , meaning] = TARGETS[best];
  return [
    `这个查询最看重 ${word}（${number(weights[most], 3)}），最可能写出“${target}”（${number(written[best], 3)}）；合上书只凭最后一个状态，“${target}”只得 ${number(shut[best], 3)}。把 s 上下拖，权重纹丝不动：这一个隐单元只看横坐标。`,
    `This query looks mostly at ${word} (${number(weights[most], 3)}); the most probable next word is the one for ${meaning} (${number(written[best], 3)}). With the book shut, from the last state alone, it gets ${number(shut[best], 3)}. Drag s up or down and no weight moves: the single hidden unit looks at the horizontal axis only.`,
  ];
}

const table = ({ state, numbers }) => ({
  columns: ["", "h", "u = tanh", ["评分", "score"], ["权重", "weight"]],
  rows: [
    ...WORDS[state.order].map(([word, at], j) => [word, `(${at.map((x) => number(x, 1)).join(", ")})`,
      number(numbers.inner[j], 3), number(numbers.scores[j], 3), number(numbers.weights[j], 3)]),
    ["C", `(${numbers.context.map((x) => number(x, 3)).join(", ")})`, "", "", "1"],
    ...TARGETS.map(([word], i) => [word, "", "", ["概率", "probability"], number(numbers.written[i], 3)]),
  ],
});

const clamp = (value, low, high) => Math.round(Math.max(low, Math.min(high, value)) * 100) / 100;

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["解码器的一个状态、三个源状态、权重与上下文", "A state of the decoder, three source states, weights and context"],
  controls: [
    { kind: "slider", key: "verb", title: ["s：是不是动词", "s: verb"], min: -0.6, max: 1, step: 0.05, write: (x) => number(x, 2) },
    { kind: "slider", key: "who", title: ["s：指的是谁", "s: who"], min: -0.6, max: 0.6, step: 0.05, write: (x) => number(x, 2) },
    { kind: "choice", key: "order", title: ["句子", "Sentence"], options: [["chases", "Tom chases Jerry"], ["swapped", "Jerry chases Tom"]] },
  ],
  handles({ numbers, width }) {
    const [x, y] = toPixels(width)(numbers.query);
    const back = (px, py) => ({
      verb: clamp(SPAN.left + ((px - 8) / (planeWidth(width) - 16)) * (SPAN.right - SPAN.left), SPAN.left, SPAN.right),
      who: clamp(SPAN.top - ((py - 12) / (HEIGHT - 24)) * (SPAN.top - SPAN.bottom), SPAN.bottom, SPAN.top),
    });
    return [{ x, y, move: back }];
  },
});
