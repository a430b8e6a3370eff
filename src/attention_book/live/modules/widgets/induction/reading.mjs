/* What happened, in a sentence of each language; and all numbers, in a table. */
import { isolated, number, visible } from "../../page/words.mjs";

const shown = (word) => isolated(visible(word, 20));
const share = (part) => `${Math.round(100 * part)}%`;

const PROBLEMS = {
  none: () => ["写几个词，让其中一个再出现一次。", "Write a few words, and one of them again."],
  long: ({ longest }) => [`模型最多读 ${longest} 个词，后面的没有读。`, `The model reads ${longest} words at most; it did not read the rest.`],
  many: ({ names }) => [`模型只认得出 ${names[0][1]} 个不同的词，从第 ${names[0][1] + 1} 个不同的词起没有读。`,
    `The model tells ${names[0][1]} different words apart; it did not read on from the next one.`],
};

export function explain({ state, numbers }) {
  const problem = numbers.problem ? PROBLEMS[numbers.problem](state.data) : null;
  if (!numbers.words.length) return problem;
  const told = read(state, numbers);
  return problem ? [`${told[0]}${problem[0]}`, `${told[1]} ${problem[1]}`] : told;
}

function read({ cut }, { words, asks, after, guesses, share: onAfter }) {
  const asking = shown(words[asks]), best = shown(guesses[0].word), chance = number(guesses[0].chance, 2);
  if (!after.length) return [
    `“${asking}”前面没有出现过，哪一条笔记上都没有它，第二层无处可找。猜得最像的“${best}”也只有 ${chance}。`,
    `“${asking}” has not stood here before, so no note names it, and layer 2 has nothing to find. The best guess, “${best}”, gets ${chance}.`];
  const last = words[after.at(-1)], follower = shown(last), its = number(guesses.find(({ word }) => word === last).chance, 2);
  if (cut === "1") return [
    `第一层不许看前一个词，“${follower}”下面就没有“${asking}”这条笔记。第二层只给它 ${share(onAfter)} 的权重，猜它的概率是 ${its}。`,
    `Layer 1 may not see the word before, so “${follower}” has no note of “${asking}”. Layer 2 gives it ${share(onAfter)} of its weight, and as the next word it gets ${its}.`];
  return [
    `“${asking}”出现过，第一层在紧跟着的“${follower}”那里记下了它。第二层找的就是这条笔记，${share(onAfter)} 的权重落在那里，于是猜“${best}”，概率 ${chance}。`,
    `“${asking}” has stood here before, and at “${follower}”, right after it, layer 1 noted it. Layer 2 looks for that note, with ${share(onAfter)} of its weight, and guesses “${best}”, with ${chance}.`];
}

export function table({ numbers: { words, asks, looks, before } }) {
  return {
    columns: ["", ["词", "word"], ["第一层看前一个词", "layer 1 at the word before"], ["第二层看它", "layer 2 at it"]],
    rows: words.slice(0, asks + 1).map((word, place) => [String(place + 1), isolated(visible(word)), place ? number(before[place], 3) : "", number(looks[place], 3)]),
  };
}
