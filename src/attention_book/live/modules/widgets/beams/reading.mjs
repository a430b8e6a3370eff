/* What a step of a beam search did, in a sentence of each language; and all its numbers, in a table. */
import { el, number, visible } from "../../page/words.mjs";
import { onThe } from "./tree.mjs";

const text = ({ words }) => words.map((word) => visible(word)).join(" ");
/** Without its <eos>, unless there is nothing else. */
const sentence = ({ words, finished }) => text({ words: finished && words.length > 1 ? words.slice(0, -1) : words });

export function explain({ state, numbers }) {
  const { steps, now } = numbers;
  return now < steps.length ? onTheWay(state, numbers) : atTheEnd(state, numbers);
}

/** Who competes for the places, and which is the best that gets none. */
function onTheWay({ width }, { steps, now, greedy }) {
  const { kept, dropped } = steps[now - 1], [first] = kept, [lost] = dropped, dies = diesAt(steps, greedy) === now;
  const tail = dies
    ? ["贪心的那条路就在这一步断了。", " Here greedy search’s path dies."]
    : ["", ""];
  return [
    `第 ${now} 步，束宽 ${width}：领先的是“${text(first)}”（${number(first.score)}）；没能留下的里面，最好的是“${text(lost)}”（${number(lost.score)}）。${tail[0]}`,
    `Step ${now}, width ${width}: “${text(first)}” leads (${number(first.score)}); the best that is not kept is “${text(lost)}” (${number(lost.score)}).${tail[1]}`,
  ];
}

/** What was found, what greedy search writes instead, and where its path was lost. */
function atTheEnd({ width, penalty }, { steps, best, greedy }) {
  const count = steps.length, found = sentence(best), score = number(best.score), alpha = number(penalty, 1);
  const [zh, en] = [
    `束宽 ${width}，α = ${alpha}：走了 ${count} 步，得分最高的是“${found}”（${score}）。`,
    `Width ${width}, α = ${alpha}: after ${count} steps “${found}” has the best score (${score}).`];
  if (onThe(greedy, best) && best.finished === greedy.finished) {
    return [`${zh}这正是贪心写的那一句。`, `${en} That is what greedy search writes.`];
  }
  const parts = best.words.findIndex((word, i) => word !== greedy.words[i]), dies = diesAt(steps, greedy);
  const place = 1 + steps[parts].kept.findIndex(({ words }) => words.length > parts && words.every((word, i) => word === best.words[i]));
  const [ends, endsEn] = dies
    ? [`这条路在第 ${dies} 步被淘汰`, `its path is dropped at step ${dies}`]
    : ["这条路留到了最后，却没有得胜", "its path stays to the end, but does not win"];
  return [
    `${zh}第 ${parts + 1} 步，“${visible(best.words[parts])}”只排第 ${place}，贪心选了更靠前的“${visible(greedy.words[parts])}”，写成“${sentence(greedy)}”；${ends}。`,
    `${en} At step ${parts + 1} “${visible(best.words[parts])}” was only in place ${place}; greedy search took “${visible(greedy.words[parts])}”, further ahead, and writes “${sentence(greedy)}”; ${endsEn}.`,
  ];
}

/** The step at which no prefix that is kept begins what greedy search writes; 0: there is none. */
export function diesAt(steps, greedy) {
  return 1 + steps.findIndex(({ kept }) => !kept.some((each) => onThe(greedy, each)));
}

export function table({ state, numbers }) {
  const { steps, now } = numbers, words = (each) => el("bdi", { translate: "no", lang: state.data.language }, text(each));
  const row = (step, each, rank, fate) => [String(step), String(rank + 1), words(each), String(each.words.length),
    number(each.sum, 4), number(each.score, 4), fate];
  return {
    columns: [["步", "step"], ["名次", "rank"], ["前缀", "prefix"], ["词元数", "tokens"], ["对数概率", "log-probability"], ["得分", "score"], ["去留", "fate"]],
    rows: steps.slice(0, now).flatMap(({ kept, dropped }, t) => [
      ...kept.map((each, rank) => row(t + 1, each, rank, ["留下", "kept"])),
      ...dropped.slice(0, 3).map((each, i) => row(t + 1, each, kept.length + i, ["淘汰", "dropped"])),
    ]),
  };
}
