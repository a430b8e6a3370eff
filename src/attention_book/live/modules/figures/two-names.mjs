/* Two names in one average cancel; two heads keep one each. */
import { between, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { dot, softmax } from "../page/numbers.mjs";
import { label, number, svg } from "../page/words.mjs";

const ORDERS = { chases: ["Tom", "chases", "Jerry"], swapped: ["Jerry", "chases", "Tom"] };
const VECTORS = { Tom: [0, 1], chases: [1, 0], Jerry: [0, -1] };
const ROWS = { one: ["一个头", "one head"], first: ["头 1", "head 1"], second: ["头 2", "head 2"] };

/* `lean`: how far the single head leans to Tom, or, below 0, to Jerry; `sharp`: the queries of the two heads. */
const begin = { lean: 0, sharp: 1, order: "chases" };
const address = { lean: between(-4, 4), sharp: between(0, 4), order: oneOf(Object.keys(ORDERS)) };

/** What the verb sees, in units of ln 2: the single head passes the verb by; the second head's keys are those of
    the first with the opposite sign. Each brings back the average of the words' vectors. */
export function compute({ lean, sharp, order }) {
  const words = ORDERS[order].map((word) => VECTORS[word]);
  const scores = {
    one: words.map(([verb, who]) => lean * who - 2 * verb),
    first: words.map(([, who]) => sharp * who), second: words.map(([, who]) => -sharp * who),
  };
  return Object.fromEntries(Object.entries(scores).map(([row, each]) => {
    const weights = softmax(each.map((score) => Math.LN2 * score));
    return [row, { weights, output: [0, 1].map((part) => dot(weights, words.map((word) => word[part]))) }];
  }));
}

/* ---- the drawing: a row for each average, its weights as discs in rings, and where it falls between the names */
const RING = 17, ROW = 78, TOP = 48;

function draw({ state, numbers, width }) {
  const wide = width >= 560, LEFT = wide ? 76 : 58, cell = wide ? 76 : 60, line = wide ? LEFT + 3 * cell + 30 : LEFT;
  const each = wide ? ROW : ROW + 46, long = width - line - 22, height = TOP + 3 * each + 4;
  const across = (j) => LEFT + (j + 0.5) * cell, on = (who) => line + 10 + ((who + 1) / 2) * (long - 10);
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${height}`, width, height },
    ORDERS[state.order].map((word, j) => svg("text", { lang: "en", class: word === "chases" ? "live-strong" : "", x: across(j), y: 20, "text-anchor": "middle" }, word)),
    wide ? label(["带回的“谁”", "“who” that comes back"], { class: "live-muted", x: on(0), y: 20, "text-anchor": "middle", "font-size": 12 }) : [],
    Object.entries(ROWS).map(([row, name], r) => {
      const y = TOP + r * each + 20, { weights, output } = numbers[row], level = wide ? y : y + 62;
      return svg("g", {},
        r === 1 ? svg("path", { class: "live-axis live-dashed", d: `M0 ${y - 34}h${width}` }) : [],
        label(name, { class: "live-strong", x: 0, y: y + 5 }),
        weights.map((weight, j) => [
          svg("circle", { class: "live-ring", cx: across(j), cy: y, r: RING }),
          svg("circle", { class: "live-weight-fill", cx: across(j), cy: y, r: RING * Math.sqrt(weight) }),
          svg("text", { class: "live-count live-number", x: across(j), y: y + RING + 14, "text-anchor": "middle" }, number(weight, 2)),
        ]),
        svg("path", { class: "live-axis", d: `M${on(-1)} ${level}H${on(1)}${[-1, 0, 1].map((who) => `M${on(who)} ${level - 5}v10`).join("")}` }),
        [["Jerry", -1], ["0", 0], ["Tom", 1]].map(([text, who]) => svg("text", {
          class: "live-muted", lang: "en", x: on(who), y: level + 20, "text-anchor": "middle", "font-size": 11 }, text)),
        svg("circle", { class: "live-output", cx: on(output[1]), cy: level, r: 8 }),
        svg("text", { class: "live-number live-strong live-halo", x: on(output[1]), y: level - 13, "text-anchor": "middle" }, signed(output[1])));
    }));
}

const signed = (value) => (Math.abs(value) < 0.005 ? "0" : (value > 0 ? "+" : "") + number(value, 2));

function explain({ state, numbers: { one, first, second } }) {
  const found = signed(one.output[1]), pair = `${signed(first.output[1])}, ${signed(second.output[1])}`;
  const [nearer, other] = state.lean > 0 ? ["Tom", "Jerry"] : ["Jerry", "Tom"];
  const [zh, en] = Math.abs(one.output[1]) < 0.005
    ? ["一个头公平地看 Tom 和 Jerry，一正一负抵消了，带回 0：两个名字都没了。", "One head looks at Tom and Jerry alike; one is positive, the other negative, and it brings back 0: both names are lost."]
    : [`一个头偏向 ${nearer}，带回 ${found}：离 ${nearer} 近了，离 ${other} 就远了。`, `One head that leans to ${nearer} brings back ${found}: nearer to ${nearer} is farther from ${other}.`];
  return state.sharp === 0
    ? [`${zh}两个头要是不挑，也各带回 0。`, `${en} Two heads that do not choose bring back 0 each.`]
    : [`${zh}两个头各看一个，带回 (${pair})，两个名字都在。`, `${en} Two heads look at one each and bring back (${pair}): both names are there.`];
}

const table = ({ state, numbers }) => ({
  columns: ["", ...ORDERS[state.order].map((word) => [`${word} 的权重`, `weight of ${word}`]), ["带回", "brings back"]],
  rows: Object.entries(ROWS).map(([row, name]) => [name, ...numbers[row].weights.map((weight) => number(weight, 3)),
    `(${numbers[row].output.map((value) => number(value, 3)).join(", ")})`]),
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["动词问两个名字：一个头的权重和带回的数，两个头的权重和带回的数", "The verb asks for two names: the weights of one head and what it brings back, and the same for two heads"],
  controls: [
    { kind: "slider", key: "lean", title: ["一个头偏向谁", "whom one head leans to"], min: -4, max: 4, step: 0.25,
      write: (lean) => (lean ? `${lean > 0 ? "Tom" : "Jerry"} ${number(Math.abs(lean), 2)}` : ["不偏", "nobody"]) },
    { kind: "slider", key: "sharp", title: ["两个头挑得多严", "how strictly two choose"], min: 0, max: 4, step: 0.25, write: (sharp) => number(sharp, 2) },
    { kind: "choice", key: "order", title: ["句子", "Sentence"], options: [["chases", "Tom chases Jerry"], ["swapped", "Jerry chases Tom"]] },
  ],
});
