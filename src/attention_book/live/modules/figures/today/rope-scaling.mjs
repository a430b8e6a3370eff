/* RoPE scaling: how far each pair of features turns in a text s times as long as the trained ones, and how
   far in one step. A slow pair must not turn further than it was trained to; a fast one must keep its step. */
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

/* ---- the drawing: a row for each pair; to the right of the bar, how long a step is ---- */
const LEFT = 26, TOP = 24, ROW = 15, LOW = 1e-3, HIGH = 300, STEP = 46;
const xOf = (turns, width) => LEFT + (Math.log(Math.max(turns, LOW) / LOW) / Math.log(HIGH / LOW)) * (width - LEFT - STEP - 6);

function draw({ numbers, width }) {
  const { trained, reached, unseen, steps } = numbers, bottom = TOP + ROW * trained.length, height = bottom + 40, plotted = width - LEFT - STEP;
  const ticks = [[0.001, "0.001"], [0.01, "0.01"], [0.1, "0.1"], [1, "1"], [10, "10"], [100, "100"]];
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    label(["对", "pair"], { class: "live-count", x: 0, y: 14 }),
    label(["一步", "step"], { class: "live-count", x: width - 2, y: 14, "text-anchor": "end" }),
    trained.map((turns, j) => {
      const y = TOP + j * ROW, blurred = numbers.fast[j] && steps[j] < 0.5;
      return [
        svg("rect", { class: "live-bar", x: LEFT, width: xOf(turns, width) - LEFT, y, height: ROW - 2 }),
        svg("rect", { class: unseen[j] ? "live-fill-warm" : "live-fill", x: LEFT, width: xOf(reached[j], width) - LEFT, y: y + 4, height: ROW - 10 }),
        svg("text", { class: "live-count live-number", x: LEFT - 6, y: y + 11, "text-anchor": "end" }, String(j)),
        svg("text", { class: `live-count live-number${blurred ? " live-alarm-text" : ""}`, x: width - 2, y: y + 11, "text-anchor": "end" },
          `×${number(steps[j], 2)}`),
      ];
    }),
    svg("line", { class: "live-axis live-dashed", x1: xOf(1, width), x2: xOf(1, width), y1: TOP - 6, y2: bottom }),
    svg("line", { class: "live-axis", x1: LEFT, x2: LEFT + plotted, y1: bottom, y2: bottom }),
    ticks.map(([turns, text]) => svg("text", { class: "live-count live-number", x: xOf(turns, width), y: bottom + 14, "text-anchor": "middle" }, text)),
    label(["整段文字里转的圈数", "full turns in the whole text"], { class: "live-count", x: LEFT + plotted / 2, y: bottom + 32, "text-anchor": "middle" }));
}

function explain({ state, numbers: { length, unseen, steps, fast, magnitude } }) {
  const lost = unseen.filter(Boolean).length, near = steps[0], worst = Math.min(...steps.filter((_, j) => fast[j]));
  const zh = [`长度 ${number(length, 0)}（训练时 64）。`], en = [`Length ${number(length, 0)} (64 in training).`];
  if (state.s === 1) return ["长度与训练时相同，四种方法都什么也不改。", "The length is that of training, and none of the four methods changes anything."];
  zh.push(lost ? `${lost} 对转到了没见过的角度（橙色）。` : "没有一对转到没见过的角度。");
  en.push(lost ? `${lost} pairs reach angles that they never had (orange).` : "No pair reaches an angle that it never had.");
  zh.push(near < 0.999 ? `可是最快的一对一步只转原来的 ${number(near, 2)} 倍，相邻的词挤在一起。`
    : `最快的一对一步不变，快的对里最慢的是原来的 ${number(worst, 2)} 倍。`);
  en.push(near < 0.999 ? `But a step turns the fastest pair only ${number(near, 2)} times as far, and neighboring words run together.`
    : `The fastest pair keeps its step; among the fast pairs the least is ${number(worst, 2)} of the trained one.`);
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
  title: ["16 对特征，每对一行：训练时转了多少圈，文字变长之后转多少圈，一步转得有多远",
    "A row for each of 16 pairs of features: its turns in training, its turns in the longer text, and how far one step turns it"],
  controls: [
    { kind: "choice", key: "method", title: ["方法", "Method"], options: METHODS },
    { kind: "slider", key: "s", title: ["长度倍数 s", "Times as long, s"], min: 1, max: 16, step: 0.5, write: (s) => number(s, 1) },
  ],
});
