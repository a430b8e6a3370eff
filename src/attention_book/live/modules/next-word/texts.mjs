/* What the figure of the next word says, in both languages. */
import { number } from "../page/words.mjs";

export const ABOUT = {
  "tang-poems": { lang: "zh-Hans", title: ["唐诗", "Tang poems (Chinese)"] },
  austen: { lang: "en", title: ["奥斯汀（英语）", "Jane Austen (English)"] },
};
export const TITLE = ["小语言模型写字：下一个词的概率，和它的缓存", "A small language model writes: probabilities of the next word, and its cache"];
export const END = ["（结束）", "(end)"];

export const percent = (share) => (share >= 0.0995 ? `${number(100 * share, 0)}%` : share >= 0.00095 ? `${number(100 * share, 1)}%` : "<0.1%");
const millions = (count) => [`${number(count / 1e4, 0)} 万`, `${number(count / 1e6, 2)} M`];

/** The sentence below the bars. `last`: the token that was written last, or null. */
export function reading({ first, kept, total, last, places, ended, temperature, topP }) {
  if (ended) return [`写完了，一共读了 ${places} 个词元。`, `The text has ended; ${places} tokens were read.`];
  const [zh, en] = last === null
    ? [`开头的 ${places} 个词元一遍读完，都进了缓存。`, `The ${places} tokens of the beginning were read in one pass, and all are in the cache.`]
    : [`读进“${last}”，缓存添了一格，共 ${places} 格。`, `“${last}” was read; the cache grew by one place, to ${places}.`];
  const [label, share] = first, way = temperature === 0 ? 0 : kept === total ? 1 : 2;
  const [zhWay, enWay] = [
    ["只取最可能的一个，别的划去。", "Only the most probable can follow."],
    [`${total} 个都可能抽到。`, `Any of the ${total} can be drawn.`],
    [`top-p ${topP} 留下 ${kept} 个，其余 ${total - kept} 个划去。`, `Top-p ${topP} keeps ${kept} and cuts off ${total - kept}.`],
  ][way];
  return [`${zh}接下来最可能是“${label}”，${share}。${zhWay}`, `${en} Most likely next: “${label}”, ${share}. ${enWay}`];
}

/** The table of what a pass costs. */
export const costs = (prefill, decode) => ({
  head: [["一遍计算", "one pass"], ["读开头（预填）", "the beginning (prefill)"], ["写下一个（解码）", "the next one (decode)"]],
  rows: [
    [["读进词元", "tokens read"], String(prefill.tokens), String(decode.tokens)],
    [["读权重", "weights read"], millions(prefill.weights), millions(decode.weights)],
    [["乘法", "multiplications"], millions(prefill.multiplications), millions(decode.multiplications)],
    [["每个权重乘几次", "uses of each weight"], number(prefill.uses, 1), number(decode.uses, 1)],
    [["从缓存读的数", "numbers read from the cache"], prefill.cache.toLocaleString("en-US"), decode.cache.toLocaleString("en-US")],
  ],
});

export const REFUSALS = {
  empty: () => ["请先写个开头。", "Write a beginning first."],
  unknown: ({ characters }) => [`这个模型没见过：${characters.join("")}`, `This model does not know: ${characters.join(" ")}`],
  characters: ({ most }) => [`太长了，最多 ${most} 个字符。`, `Too long: at most ${most} characters.`],
  tokens: ({ most }) => [`太长了，最多 ${most} 个词元。`, `Too long: at most ${most} tokens.`],
  checksum: () => ["权重在途中损坏，没有使用。", "The weights were damaged on their way, and are not used."],
  load: () => ["取不到模型。", "The model could not be loaded."],
  failed: ({ message }) => [`出错了：${message}`, `Something failed: ${message}`],
};
