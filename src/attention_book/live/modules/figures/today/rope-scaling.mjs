/* RoPE scaling: three of the 16 pairs of features as dials. A slow pair must not turn to angles that it never
   had in training; the fastest must keep neighboring words apart. */
import { between, oneOf } from "../../page/address.mjs";
import { figure } from "../../page/figure.mjs";
import { label, number, svg } from "../../page/words.mjs";

const D = 32, BASE = 10000, TRAINED = 64, TURN = 2 * Math.PI; // the model of the chapter
const METHODS = [
  ["none", ["不改", "none"]], ["linear", ["位置插值", "interpolation"]], ["ntk", "NTK"], ["yarn", "YaRN"],
];

const begin = { method: "linear", s: 8 };
const address = { method: oneOf(METHODS.map(([key]) => key)), s: between(1, 16) };

const trainedFrequencies = Array.from({ length: D / 2 }, (_, j) => BASE ** ((-2 * j) / D));

/** YaRN's ramp: 0 where a pair stays, 1 where it is interpolated; its ends are whole pairs, outward. */
function ramp() {
  const pair = (turns) => (D * Math.log(TRAINED / (turns * TURN))) / (2 * Math.log(BASE));
  const first = Math.max(Math.floor(pair(32)), 0), last = Math.min(Math.ceil(pair(1)), D - 1);
  return trainedFrequencies.map((_, j) => Math.min(1, Math.max(0, (j - first) / (last - first || 0.001))));
}
const SCALED = {
  none: () => trainedFrequencies,
  linear: (s) => trainedFrequencies.map((each) => each / s),
  ntk: (s) => trainedFrequencies.map((_, j) => (BASE * s ** (D / (D - 2))) ** ((-2 * j) / D)),
  yarn: (s) => ramp().map((r, j) => (1 - r) * trainedFrequencies[j] + (r * trainedFrequencies[j]) / s),
};

/** All numbers: for each pair its frequency, the turns that it was trained to make and those that it makes
    now, its step compared with the trained one; which pairs reach angles they never had; which are fast. */
export function compute({ method, s }) {
  const frequencies = SCALED[method](s), length = TRAINED * s;
  const trained = trainedFrequencies.map((each) => (TRAINED * each) / TURN), reached = frequencies.map((each) => (length * each) / TURN);
  const fast = trained.map((turns) => turns >= 1); // every angle was seen, however far it turns
  return {
    length, frequencies, trained, reached, fast,
    steps: frequencies.map((each, j) => each / trainedFrequencies[j]),
    unseen: reached.map((turns, j) => !fast[j] && turns > trained[j] * (1 + 1e-9)),
    magnitude: method === "yarn" ? 0.1 * Math.log(s) + 1 : 1,
  };
}

/* ---- the drawing: the fastest pair with five words in a row; two slow pairs with the angles that they knew
   from training, and those that they reach now ---- */
const FAST = 0, SLOW = [6, 9], WORDS = 5, TOP = 62;

/** Where the dials stand: beside each other, the fastest first. */
function dials(width) {
  const room = width / 3, radius = Math.min(78, room / 2 - 14);
  return { radius, y: TOP + radius + 16, centers: [0, 1, 2].map((i) => (i + 0.5) * room), height: TOP + 2 * radius + 96 };
}
const spot = (turns, far) => [far * Math.cos(TURN * turns), -far * Math.sin(TURN * turns)];

/** A part of a ring, in turns from one angle to another; a whole turn is the most. */
function arc(kind, from, to, far, breadth) {
  const end = Math.min(to, from + 0.9999), [x, y] = spot(from, far), [x2, y2] = spot(end, far);
  return end <= from ? [] : svg("path", { class: kind, "stroke-width": breadth, d: `M${x} ${y}A${far} ${far} 0 ${end - from > 0.5 ? 1 : 0} 0 ${x2} ${y2}` });
}

function draw({ numbers, width }) {
  const { radius, y, centers, height } = dials(width), wide = width >= 560;
  const under = (text, line, kind) => label(text, { class: kind, y: radius + 28 + 28 * line, "text-anchor": "middle", "font-size": 12 });
  const title = (text, x) => label(text, { class: "live-strong", x, y: 18, "text-anchor": "middle" });
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    title(["最快的一对", "fastest pair"], centers[0]), title(wide ? ["两对慢的：转到多远", "two slow pairs: how far they turn"] : ["两对慢的", "two slow pairs"], (centers[1] + centers[2]) / 2),
    label(["五个相邻的词", "5 words in a row"], { class: "live-muted", x: centers[0], y: 46, "text-anchor": "middle", "font-size": 12 }),
    label(["灰：训练时见过", "gray: known from training"], { class: "live-muted", x: (centers[1] + centers[2]) / 2, y: 46, "text-anchor": "middle", "font-size": 12 }),
    svg("g", { transform: `translate(${centers[0]} ${y})` }, neighbors(numbers, radius, under)),
    SLOW.map((j, i) => svg("g", { transform: `translate(${centers[i + 1]} ${y})` }, reach(numbers, j, radius, under))));
}

/** Five words in a row, at the angles to which the fastest pair turns them. */
function neighbors({ frequencies, steps }, radius, under) {
  const step = frequencies[FAST] / TURN, blurred = steps[FAST] < 0.5;
  return [
    svg("circle", { class: "live-axis", r: radius }),
    Array.from({ length: WORDS }, (_, i) => {
      const [x, y] = spot(i * step, radius);
      return [svg("line", { class: "live-query-line", x1: 0, y1: 0, x2: x, y2: y }), svg("circle", { class: "live-word-dot", cx: x, cy: y, r: 5 })];
    }),
    under([`相邻两词差 ${number(360 * step, 0)}°`, `${number(360 * step, 0)}° apart`], 0, blurred ? "live-alarm-text" : ""),
    under(blurred ? ["挤在一起", "run together"] : ["分得开", "kept apart"], 1, blurred ? "live-alarm-text" : "live-muted"),
  ];
}

/** The angles that a slow pair had in training, and those that it reaches now. */
function reach({ trained, reached, unseen }, j, radius, under) {
  const [x, y] = spot(reached[j], radius - 14);
  return [
    svg("circle", { class: "live-axis", r: radius }),
    arc("live-known", 0, trained[j], radius, 10),
    arc("live-stroke", 0, Math.min(reached[j], trained[j]), radius - 14, 5),
    unseen[j] ? arc("live-stroke-warm", trained[j], reached[j], radius - 14, 5) : [],
    svg("line", { class: unseen[j] ? "live-stroke-warm" : "live-stroke", x1: 0, y1: 0, x2: x, y2: y }),
    under([`转到 ${degrees(reached[j])}`, `reaches ${degrees(reached[j])}`], 0, unseen[j] ? "live-alarm-text" : ""),
    under(unseen[j] ? ["没见过的角度", "angles never seen"] : ["都见过", "all known"], 1, unseen[j] ? "live-alarm-text" : "live-muted"),
  ];
}

const degrees = (turns) => `${number(360 * turns, 0)}°`;

function explain({ state, numbers: { length, unseen, steps, frequencies, magnitude } }) {
  if (state.s === 1) return ["长度与训练时相同，四种方法都什么也不改。", "The length is that of training, and none of the four methods changes anything."];
  const lost = unseen.filter(Boolean).length, all = unseen.length, near = number((360 * frequencies[FAST]) / TURN, 0), kept = steps[FAST] > 0.999;
  const zh = [`文字长到 ${number(length, 0)} 个词元（训练时 ${TRAINED}）。`], en = [`The text has ${number(length, 0)} tokens (${TRAINED} in training).`];
  zh.push(lost ? `${all} 对里有 ${lost} 对转到了没见过的角度；` : "没有一对转到没见过的角度；");
  en.push(lost ? `${lost} of the ${all} pairs reach angles that they never had;` : "No pair reaches an angle that it never had;");
  zh.push(kept ? `最快的一对照旧，相邻的词差 ${near}°。` : `可是最快的一对，相邻的词只差 ${near}°，挤在一起。`);
  en.push(kept ? `the fastest pair is as it was, and keeps neighbors ${near}° apart.` : `but in the fastest pair neighbors are only ${near}° apart and run together.`);
  if (magnitude > 1) {
    zh.push(`查询和键再乘 ${number(magnitude, 3)}。`);
    en.push(`Queries and keys are also multiplied by ${number(magnitude, 3)}.`);
  }
  return [zh.join(""), en.join(" ")];
}

function table({ numbers: { frequencies, trained, reached, steps } }) {
  return {
    columns: [["对", "pair"], ["每步弧度", "radians a step"], ["与训练时之比", "against training"], ["训练时的圈数", "turns in training"], ["现在的圈数", "turns now"]],
    rows: frequencies.map((each, j) => [String(j), number(each, 5), number(steps[j], 3), number(trained[j], 4), number(reached[j], 4)]),
  };
}

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["三只表盘：最快的一对特征把相邻的词隔开多远，两对慢的转到的角度训练时见过没有",
    "Three dials: how far the fastest pair of features keeps neighboring words apart, and whether two slow pairs turn to angles known from training"],
  controls: [
    { kind: "choice", key: "method", title: ["方法", "Method"], options: METHODS },
    { kind: "slider", key: "s", title: ["文字长到几倍", "Times as long"], min: 1, max: 16, step: 0.5, write: (s) => number(s, 1) },
  ],
});
