/* What the translator says, in both languages. */

export const LANGUAGES = { en: ["英", "English"], fr: ["法", "French"], zh: ["汉", "Chinese"] };
export const LANG = { en: "en", fr: "fr", zh: "zh-Hans" };
export const ARCHITECTURES = {
  transformer: ["Transformer", "Transformer"], seq2seq: ["循环网络＋Bahdanau 注意力", "Recurrent with Bahdanau attention"],
};

/** A model by its languages and its kind; an open vocabulary with its size, for it is larger. */
export const titleOf = ({ source, target, model, subwords, bytes }) => {
  const [[fromZh, fromEn], [toZh, toEn], [kindZh, kindEn]] = [LANGUAGES[source], LANGUAGES[target], ARCHITECTURES[model]];
  const size = bytes ? ` ${(bytes / 1e6).toFixed(1)} MB` : "";
  const [openZh, openEn] = subwords ? [`，开放词表${size && `（${size.trim()}）`}`, `, open vocabulary${size && ` (${size.trim()})`}`] : ["", ""];
  return [`${kindZh}，${fromZh}译${toZh}${openZh}`, `${kindEn}, ${fromEn} to ${toEn}${openEn}`];
};

/** What a model that others' sentences taught does well and badly, as its output shows. */
const EXPERIENCE = {
  "tatoeba-eng-fra": [
    "什么文字它都读得进去，这样短的日常句子大多译得通顺；性数配合、少见的词和更长的句子常常译错，有时还会生造词。",
    "It can read any text, and everyday sentences as short as these mostly come out well. Agreement, rarer words and longer sentences often go wrong, and some words it makes up."],
};

/** Where its sentences are from, before and after the link to them, and the license's name. */
export const originOf = ({ name, origin }) => {
  const count = origin.num_pairs.toLocaleString("en-US"), [zh, en] = EXPERIENCE[name] ?? ["", ""];
  return {
    before: [`它只学过 ${count} 对句子，英语句子最长 ${origin.longest} 个词。${zh}句子来自 `,
      `It was trained on ${count} pairs of sentences, with at most ${origin.longest} English words each. ${en}${en && " "}Sentences: `],
    after: ["，许可证 ", ", "], end: ["。", "."],
  };
};

export const SWITCHES = {
  noPositions: ["不加位置", "no positions"],
  noMask: ["不加因果掩码", "no causal mask"],
  noScaling: ["不缩放评分", "no scaling"],
  headOff: ["去掉正在看的头", "without the heads shown"],
};

export const REFUSALS = {
  empty: () => ["请先写一句话。", "Write a sentence first."],
  characters: ({ found, most }) => [
    `这段文字有 ${found} 个字符，这里最多接受 ${most} 个。`,
    `This text has ${found} characters; at most ${most} are accepted here.`],
  tokens: ({ found, most }) => [
    `这句话有 ${found} 个词元，这里最多译 ${most} 个；模型训练时见过的句子更短。`,
    `This sentence has ${found} tokens; at most ${most} are translated here. The model was trained on shorter ones.`],
  checksum: () => [
    "权重在途中损坏，校验和不符，没有使用。",
    "The weights were damaged on their way: the checksum does not match, so they are not used."],
  format: () => ["这不是模型文件。", "This is not a model file."],
  load: () => ["取不到文件。", "A file could not be loaded."],
  back: () => ["仍用原来的模型。", "The model before is back."],
  cancelled: () => ["已停止。", "Stopped."],
  failed: ({ message }) => [`出错了：${message}`, `Something failed: ${message}`],
};
