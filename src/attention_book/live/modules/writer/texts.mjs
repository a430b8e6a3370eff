/* What the page that writes says, in both languages. */
import { REFUSALS as COMMON } from "../translator/texts.mjs";
import { number } from "../page/words.mjs";

export const TITLE = ["接下来可能的词，和它们的概率", "What may come next, with its probability"];
export const LOADING = ["正在打开模型……", "Opening the model …"];
export const OPEN = ["模型已打开。", "The model is open."];
export const END = ["结束", "end of text"];
export const HALF = ["半个字符", "part of a character"];

/** Why the writing has stopped. */
export const STOPPED = {
  end: ["这段写完了。再按一次，从开头另写一段。", "The text has ended. Press again to write another from the beginning."],
  stop: ["已停下。", "Stopped."],
  full: ["这里最多写这么长。", "This is as long as a text may get here."],
};

export const REFUSALS = {
  ...COMMON,
  empty: () => ["请先写一个开头。", "Write a beginning first."],
  unknown: ({ characters }) => [
    `模型不认识：${characters.slice(0, 20).join("、")}。请换掉${characters.length > 1 ? "这些字符" : "这个字符"}。`,
    `The model does not know ${characters.slice(0, 20).join(", ")}. Please replace ${characters.length > 1 ? "these characters" : "this character"}.`],
  tokens: ({ found, most }) => [
    `这段文字有 ${found - 1} 个词元，这里最多 ${most - 1} 个。`,
    `This text has ${found - 1} tokens; at most ${most - 1} are accepted here.`],
};

/** What the draw is from, below the bars. */
export const drawnFrom = ({ kept, entropy }, size) => [
  `从 ${size} 个词元中的 ${kept} 个里抽。宽而淡的一条是模型的概率，也就是右边的数；窄而浓的一条是照这些设置抽中的概率；最长的一条占满。模型的熵：${number(entropy)} 奈特。`,
  `Drawn from ${kept} of ${size} tokens. The broad, faint bar is the model's probability, the number on the right; the narrow, strong one is the probability of being drawn with these settings; the longest fills the place. The model's entropy: ${number(entropy)} nats.`];

/** What the model is. */
export const about = ({ parameters, vocabulary, subwords, bytes }) => [
  `模型有 ${number(parameters / 1e4, 0)} 万个参数，每个权重 8 位，共 ${number(bytes / 1e6, 1)} MB，全在这个文件里。它的词元是 ${vocabulary} 个${subwords ? "子词，上面一行可能只是一个词的一部分" : "字符"}。它只会接着写，不知道写的是真是假。`,
  `The model has ${number(parameters / 1e6, 1)} million parameters, 8 bits a weight, ${number(bytes / 1e6, 1)} MB in all, which are in this file. Its tokens are ${vocabulary} ${subwords ? "subwords: a line above may be only a part of a word" : "characters"}. It only goes on with a text, and does not know what is true.`];
