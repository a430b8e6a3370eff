/* What the translator says, in both languages. */

export const LANGUAGES = { en: ["英", "English"], fr: ["法", "French"], zh: ["汉", "Chinese"] };
export const LANG = { en: "en", fr: "fr", zh: "zh-Hans" };
export const ARCHITECTURES = {
  transformer: ["Transformer", "Transformer"], seq2seq: ["循环网络＋Bahdanau 注意力", "Recurrent with Bahdanau attention"],
};

/** A model by its languages and its kind. */
export const titleOf = ({ source, target, model }) => {
  const [[fromZh, fromEn], [toZh, toEn], [kindZh, kindEn]] = [LANGUAGES[source], LANGUAGES[target], ARCHITECTURES[model]];
  return [`${kindZh}，${fromZh}译${toZh}`, `${kindEn}, ${fromEn} to ${toEn}`];
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
  cancelled: () => ["已停止。", "Stopped."],
  failed: ({ message }) => [`出错了：${message}`, `Something failed: ${message}`],
};
