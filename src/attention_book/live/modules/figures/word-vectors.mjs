/* Self-attention on a plane: three words ask each other, and each moves to the average that it is given. */
import { between, oneOf } from "../page/address.mjs";
import { control } from "../page/controls.mjs";
import { figure } from "../page/figure.mjs";
import { dot, softmax } from "../page/numbers.mjs";
import { both, el, label, number, svg } from "../page/words.mjs";

const WORDS = { tom: "Tom", chases: "chases", jerry: "Jerry" }, KEYS = Object.keys(WORDS);
const REACH = 1.45, FARTHEST = 1.3, SECONDS = 1.2;

/* Each word is two numbers: whether it is a verb, and whom it names. `moved` goes from the old vectors, 0, to
   the new, 1. */
const begin = {
  asks: "tom", projections: "own", moved: 1,
  tomVerb: 0, tomWho: 1, chasesVerb: 1, chasesWho: 0, jerryVerb: 0, jerryWho: -1,
};
const address = {
  asks: oneOf(KEYS), projections: oneOf(["own", "none"]), moved: between(0, 1),
  ...Object.fromEntries(KEYS.flatMap((word) => ["Verb", "Who"].map((part) => [word + part, between(-FARTHEST, FARTHEST)]))),
};

/** All numbers of the figure. Values are the words themselves; queries and keys too, where nothing projects. */
export function compute(state) {
  const words = KEYS.map((word) => [state[`${word}Verb`], state[`${word}Who`]]);
  const own = state.projections === "own";
  const queries = words.map(([verb, who]) => (own ? [Math.log(2) * (verb + who)] : [verb, who]));
  const keys = words.map(([verb, who]) => (own ? [who] : [verb, who]));
  const scores = queries.map((query) => keys.map((key) => dot(query, key) / Math.sqrt(key.length)));
  const weights = scores.map(softmax);
  const outputs = weights.map((row) => [0, 1].map((part) => dot(row, words.map((word) => word[part]))));
  return { words, queries, keys, scores, weights, outputs };
}

/* ---- the drawing: the plane, and beside or below it what the chosen word asks ---- */
const sideOf = (width) => (width < 560 ? Math.min(width, 340) : 320);
const placeOf = (width) => {
  const side = sideOf(width), left = width < 560 ? (width - side) / 2 : 0;
  return { side, left, at: ([x, y]) => [left + ((x + REACH) / (2 * REACH)) * side, ((REACH - y) / (2 * REACH)) * side] };
};
const between2 = (from, to, share) => from.map((each, i) => each + (to[i] - each) * share);

function draw({ state, numbers, width }) {
  const { side, left, at } = placeOf(width), wide = width >= 560, asks = KEYS.indexOf(state.asks);
  const { words, outputs, weights } = numbers, now = outputs.map((each, i) => between2(words[i], each, state.moved));
  const [x0, y0] = at([0, 0]), height = wide ? side : side + 142;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    svg("path", { class: "live-axis", d: `M${left} ${y0}h${side}M${x0} 0v${side}` }),
    label(["动词 →", "verb →"], { class: "live-muted", x: left + side - 4, y: y0 + 16, "text-anchor": "end", "font-size": 11 }),
    label(["↑ 谁", "↑ who"], { class: "live-muted", x: x0 + 6, y: 14, "font-size": 11 }),
    // Where an average of the three can lie.
    svg("polygon", { class: "live-surface live-dashed", points: words.map((word) => at(word).map((each) => each.toFixed(1)).join(",")).join(" ") }),
    words.map((word, i) => line("live-weight-line", at(word), at(now[asks]), { "stroke-width": 1 + 9 * weights[asks][i], "stroke-opacity": 0.35 + 0.65 * weights[asks][i] })),
    words.map((word, i) => (i === asks ? [] : line("live-axis", at(word), at(now[i])))),
    words.map((word, i) => svg("circle", { class: i === asks ? "live-handle live-query" : "live-handle live-word-vector", cx: at(word)[0], cy: at(word)[1], r: 9 })),
    now.map((place, i) => svg("circle", { class: "live-output", cx: at(place)[0], cy: at(place)[1], r: i === asks ? 7 : 5 })),
    words.map((word, i) => named(WORDS[KEYS[i]], at(word), at([0, 0]), 19, wide ? side + 28 : width)),
    state.moved < 0.3 ? [] : together(now.map(at)).map(({ place, names }) => svg("text", {
      class: "live-strong live-halo", lang: "en", y: place[1] - 9, "font-size": 12,
      x: Math.min(place[0] + 11, (wide ? side + 28 : width) - 8 * names.length) }, names)),
    asked(state, numbers, wide ? side + 28 : 0, wide ? 64 : side + 8, wide ? width - side - 28 : width));
}

const line = (kind, [x1, y1], [x2, y2], more = {}) => svg("line", { class: kind, x1, y1, x2, y2, ...more });

/** A word's name beside its vector, on the side away from the middle, and within the drawing. */
function named(name, [x, y], [x0, y0], far, room) {
  const dx = x - x0, dy = y - y0, long = Math.hypot(dx, dy) || 1;
  const anchor = Math.abs(dx) < 0.35 * long ? "middle" : dx > 0 ? "start" : "end";
  const shift = anchor === "middle" ? 0 : Math.sign(dx) * 14, breadth = 10 * name.length;
  const reach = anchor === "start" ? [0, room - breadth] : anchor === "end" ? [breadth, room] : [breadth / 2, room - breadth / 2];
  return svg("text", { class: "live-halo", lang: "en", "text-anchor": anchor,
    x: Math.max(reach[0], Math.min(reach[1], x + shift)), y: y + (anchor === "middle" ? Math.sign(dy) * far + (dy > 0 ? 7 : -1) : -10) }, name);
}

/** The names of the new vectors; those that lie on one another stand in one line. */
function together(places) {
  const groups = [];
  places.forEach((place, i) => {
    const found = groups.find((each) => Math.hypot(each.place[0] - place[0], each.place[1] - place[1]) < 12);
    if (found) found.names += `, ${WORDS[KEYS[i]]}′`;
    else groups.push({ place, names: `${WORDS[KEYS[i]]}′` });
  });
  return groups;
}

/** What the chosen word asks: a row for each key, its score, and its weight as a bar. */
function asked(state, { scores, weights }, x, y, room) {
  const asks = KEYS.indexOf(state.asks), SCORE = 108, BAR = 122, full = room - BAR - 50;
  return svg("g", { transform: `translate(${x} ${y})` },
    label([`${WORDS[state.asks]} 问`, `${WORDS[state.asks]} asks`], { class: "live-strong", x: 0, y: 16 }),
    label(["评分", "score"], { class: "live-muted", x: SCORE, y: 16, "text-anchor": "end", "font-size": 12 }),
    label(["权重", "weight"], { class: "live-muted", x: BAR, y: 16, "font-size": 12 }),
    KEYS.map((word, i) => [
      svg("text", { lang: "en", x: 0, y: 47 + i * 34 }, WORDS[word]),
      svg("text", { class: "live-number", x: SCORE, y: 47 + i * 34, "text-anchor": "end" }, number(scores[asks][i], 2)),
      svg("rect", { class: "live-weight-fill", x: BAR, y: 32 + i * 34, width: full * weights[asks][i], height: 20, rx: 3 }),
      svg("text", { class: "live-number", x: room, y: 47 + i * 34, "text-anchor": "end" }, number(weights[asks][i], 3)),
    ]));
}

const handles = ({ numbers, width }) => KEYS.map((word, i) => {
  const { side, left, at } = placeOf(width), [x, y] = at(numbers.words[i]);
  const within = (value) => Math.round(20 * Math.max(-FARTHEST, Math.min(FARTHEST, value))) / 20;
  return {
    x, y,
    move: (toX, toY) => ({
      asks: word,
      [`${word}Verb`]: within(((toX - left) / side) * 2 * REACH - REACH),
      [`${word}Who`]: within(REACH - (toY / side) * 2 * REACH),
    }),
  };
});

/* ---- the sentence and the table ---- */
const pair = (vector) => `(${vector.map((each) => number(each, 2)).join(", ")})`;

function explain({ state, numbers: { weights, outputs, words } }) {
  const asks = KEYS.indexOf(state.asks), name = WORDS[state.asks], row = weights[asks];
  const most = row.indexOf(Math.max(...row)), share = number(row[most], 3);
  const [zh, en] = state.projections === "none"
    ? [`不投影，${name} 拿自己的向量去问，也凭同一个向量被找到：`, `Without projections ${name} asks with its own vector and is found by it: `]
    : [`${name} 问，`, `${name} asks: `];
  const zhMost = most === asks ? `看自己最多（${share}）` : `看 ${WORDS[KEYS[most]]} 最多（${share}）`;
  const enMost = most === asks ? `it looks at itself most (${share})` : `it looks at ${WORDS[KEYS[most]]} most (${share})`;
  return [
    `${zh}${zhMost}。三个值按权重平均，它就从 ${pair(words[asks])} 挪到 ${pair(outputs[asks])}；平均数总落在三个词围成的三角形里。`,
    `${en}${enMost}. The average of the three values moves it from ${pair(words[asks])} to ${pair(outputs[asks])}; an average always lies in the triangle of the three words.`,
  ];
}

const table = ({ numbers: { words, queries, keys, scores, weights, outputs } }) => ({
  columns: ["", "x", ["查询", "query"], ["键", "key"], ["评分", "scores"], ["权重", "weights"], ["输出", "output"]],
  rows: KEYS.map((word, i) => [WORDS[word], pair(words[i]),
    ...[queries, keys, scores, weights].map((each) => each[i].map((value) => number(value, 3)).join(", ")), pair(outputs[i])]),
});

/** A slider for one of the two numbers of whichever word asks. */
const ofTheWord = (part, title) => ({
  kind: "custom",
  build(host) {
    const key = () => host.get("asks") + part;
    const slider = control({ kind: "slider", key: part, title, min: -FARTHEST, max: FARTHEST, step: 0.05, write: (value) => number(value, 2) },
      { get: () => host.get(key()), set: (changes) => host.set({ [key()]: changes[part] }) });
    return { element: slider.element, follow: (state) => slider.follow({ [part]: state[state.asks + part] }) };
  },
});

/** From the old vectors to the new, as long as one looks; at once for who wants no motion. */
const play = {
  kind: "custom",
  build(host) {
    const start = () => {
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return host.set({ moved: host.get("moved") < 1 ? 1 : 0 });
      const began = performance.now();
      const step = (time) => {
        const share = Math.min(1, Math.max(0, (time - began) / (1000 * SECONDS)));
        host.set({ moved: Math.round(100 * share * share * (3 - 2 * share)) / 100 });
        if (share < 1) requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    };
    return { element: el("button", { type: "button", click: start }, both(["▶ 看它们挪过去", "▶ Watch them move"])), follow: () => {} };
  },
};

export default figure({
  begin, address, compute, draw, explain, table, handles,
  title: ["平面上的三个词：谁问，看谁多少，挪到哪里", "Three words on a plane: who asks, how much it looks at whom, and where it moves"],
  controls: [
    { kind: "choice", key: "asks", title: ["谁问", "Who asks"], options: KEYS.map((word) => [word, WORDS[word]]) },
    play,
    ofTheWord("Verb", ["它的第一个数：动词", "its first number, verb"]), ofTheWord("Who", ["它的第二个数：谁", "its second number, who"]),
    { kind: "slider", key: "moved", title: ["从旧向量到新向量", "old to new vectors"], min: 0, max: 1, step: 0.01, write: (share) => number(share, 2) },
    { kind: "choice", key: "projections", title: ["查询和键", "Queries, keys"], options: [
      ["own", ["各有投影", "a projection each"]], ["none", ["不投影", "no projections"]]] },
  ],
});
