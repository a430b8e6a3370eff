/* Which attention of a translation is shown: whose, of which layer, of which head. */

export const KINDS = {
  cross: { rows: "target", columns: "source", name: ["译词看源词", "target looks at source"] },
  self: { rows: "target", columns: "input", name: ["译词看译词", "target looks at target"] },
  encoder: { rows: "source", columns: "source", name: ["源词看源词", "source looks at source"] },
};

/** In place of a number: the mean of a layer's heads, or of all layers. */
export const MEAN = -1;

/** The weights of a view as rows of numbers. Rows may differ in length: a word sees those before it. */
export function weightsOf(attention, { kind, layer, head }) {
  const layers = layer === MEAN ? attention[kind] : [attention[kind][layer] ?? attention[kind][0]];
  const heads = layers.flatMap((each) => (head === MEAN || layer === MEAN ? each : [each[head] ?? each[0]]));
  if (heads.length === 1) return heads[0];
  return heads[0].map((row, i) =>
    Array.from(row, (_, j) => heads.reduce((sum, each) => sum + each[i][j], 0) / heads.length));
}

/** The row with which to begin: a word that looks at another place than its own. */
export function tellingRow(weights) {
  const found = weights.findIndex((row, i) => [...row.keys()].some((j) => j !== i && row[j] === Math.max(...row)));
  return Math.max(0, found);
}

/** The places of a row that have most weight, at most three. */
export const heaviest = (row) =>
  [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3).filter((j) => row[j] >= 0.02);

/** Whether a view is the one that was measured best, and what to say of it. */
export function captionOf({ best, subwords }, { kind, layer, head }) {
  const rows = ["颜色越重，看得越多；每行之和为 1。", "The stronger the color, the more attention; every row sums to 1."];
  if (!best || kind !== "cross" || layer !== best.layer || head !== best.head) return rows;
  const percent = Math.round(best.rate * 100);
  if (subwords) return [
    `${rows[0]}真实语料没有词对齐的标准答案，只能数原文和译文里写法相同的词（多是人名）：验证集上这样的词有 ${best.words} 个，这张图有 ${percent}% 看对了地方。`,
    `${rows[1]} Real text comes without a gold alignment. What can be counted are words spelled alike in both sentences, mostly names: of the ${best.words} on the validation sentences, this view looks at the right place ${percent}% of the time.`];
  const [zh, en] = best.rates.length === 1
    ? [`在验证集上，它看得最多的源词有 ${percent}% 是对的。`, `On the validation sentences the source word it looks at most is the right one ${percent}% of the time.`]
    : [`先显示这一张，因为在验证集上它看对词的次数最多：${percent}%。`, `This view is shown first because on the validation sentences it looks at the right word most often: ${percent}% of the time.`];
  return [rows[0] + zh, `${rows[1]} ${en}`];
}
