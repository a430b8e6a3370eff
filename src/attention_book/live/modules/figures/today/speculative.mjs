/* Speculative sampling: what is accepted of a draft, what is drawn after a rejection, and that both make p. */
import { oneOf } from "../../page/address.mjs";
import { figure } from "../../page/figure.mjs";
import { label, number, svg } from "../../page/words.mjs";

export const TARGET = [0.5, 0.3, 0.2];
export const DRAFTS = { other: [0.2, 0.5, 0.3], near: [0.45, 0.3, 0.25], same: TARGET, far: [0.05, 0.05, 0.9] };
const NAMES = [["词 1", "word 1"], ["词 2", "word 2"], ["词 3", "word 3"]], ROUNDS = [1, 2, 3, 4, 5, 6, 7, 8];

const begin = { draft: "other", again: "rest", guesses: 4 };
const address = { draft: oneOf(Object.keys(DRAFTS)), again: oneOf(["rest", "target"]), guesses: oneOf(ROUNDS) };

export function compute({ draft, again, guesses }) {
  const p = TARGET, q = DRAFTS[draft];
  const accepted = p.map((each, i) => Math.min(each, q[i]));
  const alpha = accepted.reduce((sum, each) => sum + each, 0), missing = p.map((each, i) => Math.max(0, each - q[i]));
  const total = missing.reduce((sum, each) => sum + each, 0);
  const rest = again === "target" || total === 0 ? p : missing.map((each) => each / total);
  const drawn = rest.map((each) => (1 - alpha) * each);
  return {
    p, q, accepted, alpha, rest, drawn, written: accepted.map((each, i) => each + drawn[i]),
    reached: [0, ...ROUNDS].slice(0, guesses + 1).map((n) => alpha ** n),
    words: [0, ...ROUNDS].slice(0, guesses + 1).reduce((sum, n) => sum + alpha ** n, 0),
  };
}

const UNIT = 130; // the height of a probability of 1, above and below
const TOP = 40, BASE = TOP + 0.55 * UNIT, BELOW = BASE + 52, HEIGHT = BELOW + 0.95 * UNIT + 102;
const short = (value) => number(value, 2).replace(/^0\./, ".");
const right = ({ p, written }) => p.every((each, i) => Math.abs(each - written[i]) < 1e-9);

function draw({ numbers, width }) {
  const { p, q, accepted, drawn, written, reached } = numbers, room = width / 3, bar = Math.min(64, room - 34);
  const y = (value) => BASE - UNIT * value, x = (i) => (i + 0.5) * room - bar / 2;
  const deep = (value) => UNIT * value, each = Math.min(40, (width - 8) / 9);
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT },
    label(["写出的：收下的（蓝）＋重抽的（橙）；虚线是 p", "written: accepted (blue) + drawn (orange); dashed: p"], { x: 0, y: 14, "font-size": 11, class: "live-muted" }),
    svg("line", { class: "live-axis", x1: 0, x2: width, y1: BASE, y2: BASE }),
    p.map((value, i) => [
      svg("rect", { class: "live-fill", x: x(i), y: y(accepted[i]), width: bar, height: BASE - y(accepted[i]) }),
      svg("rect", { class: "live-fill-warm", x: x(i), y: y(written[i]), width: bar, height: y(accepted[i]) - y(written[i]) }),
      svg("line", { class: "live-stroke live-dashed", x1: x(i) - 9, x2: x(i) + bar + 9, y1: y(value), y2: y(value) }),
      svg("text", { class: "live-number", x: x(i) + bar / 2, y: Math.min(y(written[i]), y(value)) - 7, "font-size": 12, "text-anchor": "middle" }, short(written[i])),
      label(NAMES[i], { x: x(i) + bar / 2, y: BASE + 16, "font-size": 12, "text-anchor": "middle" }),
    ]),
    label(["草稿 q：收下的（蓝），被拒的（虚线框）", "the draft q: accepted (blue), rejected (dashed)"], { x: 0, y: BELOW - 12, "font-size": 11, class: "live-muted" }),
    q.map((value, i) => [
      svg("rect", { class: "live-fill", x: x(i), y: BELOW, width: bar, height: deep(accepted[i]) }),
      value > accepted[i] + 1e-9 ? svg("rect", { class: "live-changed", x: x(i), y: BELOW + deep(accepted[i]), width: bar, height: deep(value - accepted[i]) }) : [],
      svg("text", { class: "live-number", x: x(i) + bar / 2, y: BELOW + deep(value) + 15, "font-size": 12, "text-anchor": "middle" }, short(value)),
    ]),
    label([`一轮写到第几个词（平均 ${number(numbers.words, 2)} 个）`, `words that a round reaches (${number(numbers.words, 2)} on average)`], { x: 0, y: HEIGHT - 66, "font-size": 11, class: "live-muted" }),
    reached.map((chance, n) => [
      svg("rect", { class: "live-surface", x: n * each, y: HEIGHT - 56, width: each - 4, height: 32 }),
      svg("rect", { class: "live-fill", x: n * each, y: HEIGHT - 24 - 32 * chance, width: each - 4, height: 32 * chance }),
      svg("text", { class: "live-count", x: (n + 0.5) * each - 2, y: HEIGHT - 8, "font-size": 11, "text-anchor": "middle" }, short(chance)),
    ]));
}

function explain({ state: { draft, again, guesses }, numbers }) {
  const alpha = number(numbers.alpha, 2), list = numbers.written.map(short).join(", "), fits = right(numbers);
  const what = draft === "same" ? ["草稿就是目标，从不拒绝", "The draft is the target and is never rejected"]
    : again === "rest" ? [`被拒的 ${number(1 - numbers.alpha, 2)} 从 (p − q)₊ 重抽`, `The rejected ${number(1 - numbers.alpha, 2)} are drawn from (p − q)₊`]
      : [`被拒的 ${number(1 - numbers.alpha, 2)} 从 p 重抽`, `The rejected ${number(1 - numbers.alpha, 2)} are drawn from p`];
  return [
    `收下 α = ${alpha}。${what[0]}，写出的分布是 (${list})，${fits ? "正是 p" : "不是 p"}。猜 ${guesses} 个，一轮平均写 ${number(numbers.words, 2)} 个词。`,
    `α = ${alpha} is accepted. ${what[1]}; what is written has the distribution (${list}), ${fits ? "exactly p" : "which is not p"}. With ${guesses} ${guesses === 1 ? "guess" : "guesses"} a round writes ${number(numbers.words, 2)} words on average.`];
}

const table = ({ numbers }) => ({
  columns: [["词", "word"], "p", "q", ["收下", "accepted"], ["重抽", "drawn"], ["写出", "written"]],
  rows: NAMES.map((name, i) => [name, ...["p", "q", "accepted", "drawn", "written"].map((key) => number(numbers[key][i], 3))]),
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["投机采样：收下的与重抽的合起来是目标的分布", "Speculative sampling: what is accepted and what is drawn make the target's distribution"],
  controls: [
    { kind: "choice", key: "draft", title: ["草稿 q", "The draft q"],
      options: [["other", ["正文里的", "of the text"]], ["near", ["相近", "near"]], ["same", ["就是目标", "the target"]], ["far", ["很远", "far"]]] },
    { kind: "choice", key: "again", title: ["被拒之后", "After a rejection"], options: [["rest", ["从差额重抽", "draw what is missing"]], ["target", ["从 p 重抽", "draw from p"]]] },
    { kind: "slider", key: "guesses", title: ["一轮猜几个", "Guesses in a round"], min: 1, max: 8, step: 1 },
  ],
});
