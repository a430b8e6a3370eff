/* Speculative sampling: what the draft proposes flows to what is written. Accepted words stay what they are,
   rejected ones are drawn again, and both together make p. */
import { oneOf } from "../../page/address.mjs";
import { figure } from "../../page/figure.mjs";
import { label, number, svg } from "../../page/words.mjs";

export const TARGET = [0.5, 0.3, 0.2];
export const DRAFTS = { other: [0.2, 0.5, 0.3], near: [0.45, 0.3, 0.25], same: TARGET, far: [0.05, 0.05, 0.9] };
const NAMES = [["词 1", "word 1"], ["词 2", "word 2"], ["词 3", "word 3"]];

const begin = { draft: "other", again: "rest" };
const address = { draft: oneOf(Object.keys(DRAFTS)), again: oneOf(["rest", "target"]) };

export function compute({ draft, again }) {
  const p = TARGET, q = DRAFTS[draft];
  const accepted = p.map((each, i) => Math.min(each, q[i])), rejected = q.map((each, i) => each - accepted[i]);
  const alpha = accepted.reduce((sum, each) => sum + each, 0), missing = p.map((each, i) => Math.max(0, each - q[i]));
  const total = missing.reduce((sum, each) => sum + each, 0);
  const rest = again === "target" || total === 0 ? p : missing.map((each) => each / total);
  const drawn = rest.map((each) => (1 - alpha) * each);
  return {
    p, q, accepted, rejected, alpha, rest, drawn, written: accepted.map((each, i) => each + drawn[i]),
    flows: rejected.map((each) => rest.map((share) => each * share)), // from a rejected word to the one drawn
  };
}

/* ---- the drawing: the draft at the left, what is written at the right, bands as high as the probabilities ---- */
const UNIT = 250, GAP = 26, TOP = 44, BLOCK = 14, NONE = 1e-9;
const HEIGHT = TOP + UNIT + 2 * GAP + 38;
const short = (value) => number(value, 2).replace(/^0\./, ".");
const right = ({ p, written }) => p.every((each, i) => Math.abs(each - written[i]) < NONE);

/** Where each of some heaps begins, one below the other. */
const tops = (heights) => heights.map((_, i) => TOP + i * GAP + UNIT * heights.slice(0, i).reduce((sum, each) => sum + each, 0));

function draw({ numbers, width }) {
  const { p, q, accepted, rejected, written, flows } = numbers, room = 66, left = room, end = width - room;
  const from = tops(q), to = tops(written), fits = right(numbers);
  const band = (kind, y, y2, share) => (share < NONE ? [] : svg("path", { class: kind, d: ribbon(left + BLOCK, y, end - BLOCK, y2, UNIT * share) }));
  const gone = accepted.map((each, i) => from[i] + UNIT * each), come = accepted.map((each, i) => to[i] + UNIT * each);
  const redrawn = flows.map((row, i) => row.map((share, j) => {
    const y = gone[i] + UNIT * row.slice(0, j).reduce((sum, each) => sum + each, 0), y2 = come[j];
    come[j] += UNIT * share;
    return band("live-flow-warm", y, y2, share);
  }));
  const block = (kind, x, y, share) => svg("rect", { class: kind, x, y, width: BLOCK, height: UNIT * share });
  const head = (text, x, anchor) => label(text, { class: "live-strong", x, y: 18, "text-anchor": anchor });
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT },
    head(["草稿 q", "the draft q"], 0, "start"), head(["写出的", "written"], width, "end"),
    redrawn,
    accepted.map((each, i) => band("live-flow", from[i], to[i], each)),
    q.map((value, i) => [
      block("live-fill", left, from[i], accepted[i]), block("live-fill-warm", left, gone[i], rejected[i]),
      label(NAMES[i], { x: 0, y: from[i] + UNIT * value / 2 - 6 }),
      svg("text", { class: "live-number", x: 0, y: from[i] + UNIT * value / 2 + 16 }, short(value)),
    ]),
    written.map((value, i) => [
      block("live-fill", end - BLOCK, to[i], accepted[i]), block("live-fill-warm", end - BLOCK, to[i] + UNIT * accepted[i], value - accepted[i]),
      svg("text", { class: "live-number live-strong", x: end + 8, y: to[i] + UNIT * value / 2 - 6 }, short(value)),
      label(Math.abs(value - p[i]) < NONE ? "= p" : [`p 是 ${short(p[i])}`, `p is ${short(p[i])}`], {
        class: Math.abs(value - p[i]) < NONE ? "live-muted" : "live-alarm-text", x: end + 8, y: to[i] + UNIT * value / 2 + 16, "font-size": 12 }),
    ]),
    // One name at a band of each kind.
    label(["收下", "accepted"], { class: "live-halo", x: width / 2, y: bandMiddle(from, to, accepted) + 5, "text-anchor": "middle" }),
    rejected.some((each) => each > NONE) ? label([`重抽 ${short(1 - numbers.alpha)}`, `drawn again ${short(1 - numbers.alpha)}`],
      { class: "live-halo live-alarm-text", x: left + BLOCK + 8, y: HEIGHT - 12 }) : [],
    label(fits ? ["合起来正是 p", "together: p"] : ["合起来不是 p", "not p"], { class: fits ? "live-strong" : "live-alarm-text", x: width, y: HEIGHT - 12, "text-anchor": "end" }));
}

/** A band between two heights, as high as its share at both ends. */
function ribbon(x, y, x2, y2, high) {
  const middle = (x + x2) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${y2} ${x2} ${y2}V${y2 + high}C${middle} ${y2 + high} ${middle} ${y + high} ${x} ${y + high}Z`;
}

/** The middle of the broadest band of what is accepted. */
function bandMiddle(from, to, accepted) {
  const most = accepted.indexOf(Math.max(...accepted));
  return (from[most] + to[most] + UNIT * accepted[most]) / 2;
}

function explain({ state: { draft, again }, numbers }) {
  const alpha = number(numbers.alpha, 2), lost = number(1 - numbers.alpha, 2), list = numbers.written.map(short).join(", ");
  if (draft === "same") return [`草稿就是 p，样样收下，没有什么要重抽，写出的是 (${list})。`, `The draft is p itself: all of it is accepted, nothing is drawn again, and (${list}) is written.`];
  const many = numbers.q.map((each, i) => each > TARGET[i] + NONE).map((is, i) => (is ? i + 1 : 0)).filter(Boolean);
  const few = numbers.q.map((each, i) => each < TARGET[i] - NONE).map((is, i) => (is ? i + 1 : 0)).filter(Boolean);
  const zh = `草稿把词 ${many.join("、")} 写多了：多出的 ${lost} 被拒，其余 ${alpha} 收下。`;
  const en = `The draft has too much of ${many.map((i) => `word ${i}`).join(" and ")}: ${lost} of it is rejected, the other ${alpha} accepted.`;
  return again === "rest"
    ? [`${zh}重抽的只补给写少了的词 ${few.join("、")}，所以写出的是 (${list})，正是 p。`,
      `${en} What is drawn again goes only to ${few.map((i) => `word ${i}`).join(" and ")}, of which there was too little. So (${list}) is written, exactly p.`]
    : [`${zh}重抽若照 p，写多了的词又分到一份，写出的是 (${list})，不是 p。`,
      `${en} If what is drawn again follows p, the words of which there was too much get a share once more, and (${list}) is written, which is not p.`];
}

const table = ({ numbers }) => ({
  columns: [["词", "word"], "p", "q", ["收下", "accepted"], ["被拒", "rejected"], ["重抽得到", "drawn again"], ["写出", "written"]],
  rows: NAMES.map((name, i) => [name, ...["p", "q", "accepted", "rejected", "drawn", "written"].map((key) => number(numbers[key][i], 3))]),
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["投机采样：草稿的概率流向写出的词，收下的不变，被拒的重抽", "Speculative sampling: the draft's probability flows to the words written; what is accepted stays, what is rejected is drawn again"],
  controls: [
    { kind: "choice", key: "again", title: ["被拒之后", "After a rejection"], options: [["rest", ["补差额", "draw what is missing"]], ["target", ["照 p 重抽", "draw from p"]]] },
    { kind: "choice", key: "draft", title: ["草稿 q", "The draft q"],
      options: [["other", ["正文里的", "of the text"]], ["near", ["相近", "near"]], ["same", ["就是 p", "p itself"]], ["far", ["很远", "far"]]] },
  ],
});
