/* What each screen says, one sentence in each language, and how places are named. */
import { visible } from "../page/words.mjs";
import { percent, PHONE, plain, short } from "./draw.mjs";
import { biggest, isLook, length, likely, meanRow, normOf, own, passing, reading, seen, sublayer } from "./passing.mjs";

export const SIDES = { enc: ["编码器", "Encoder"], dec: ["解码器", "Decoder"] };
export const KINDS = {
  embed: ["词嵌入", "embedding"], place: ["加位置", "+ position"], self: ["自注意力", "self-attention"], cross: ["交叉注意力", "cross-attention"],
  ff: ["前馈网络", "feed-forward"], norm: ["归一化", "norm"], out: ["下一个词", "next word"],
};
/** What each station shows, from the whole to the part. */
export const LEVELS = {
  embed: ["model", "strips"], place: ["model", "strips"], norm: ["model", "strips"],
  self: ["model", "layer", "head", "number"], cross: ["model", "layer", "head", "number"],
  ff: ["model", "layer", "units", "number"], out: ["model", "words", "number"],
};

export const nameOf = (kind, side) => (kind === "norm" && side === "enc" ? ["归一化 → 记忆", "norm → memory"]
  : kind === "out" ? ["softmax → 下一个词", "softmax → next word"] : KINDS[kind]);
const quote = (word) => `“${visible(word, 14)}”`;
const layerName = ({ side, layer }) => [`${SIDES[side][0]}第 ${layer + 1} 层`, `${SIDES[side][1]} layer ${layer + 1}`];

/** The way here, from the whole to the part, one name for each level. */
export function path({ station, level, head, found, here }) {
  const names = [["模型", "Model"]];
  if (!station || level < 1) return names;
  const kinds = LEVELS[station.kind];
  names.push(kinds[1] === "layer" ? [`第 ${station.layer + 1} 层`, `Layer ${station.layer + 1}`] : KINDS[station.kind]);
  if (level > 1 && isLook(station.kind)) names.push([`头 ${head + 1}`, `Head ${head + 1}`]);
  if (level > 1 && station.kind === "ff") {
    const { length: count } = sublayer(found, station).units[here];
    names.push([`${count} 个单元`, `${count} units`]);
  }
  if (kinds[level] === "number") names.push(["一个数", "Number"]);
  return names;
}

/** Where a station is, in few words. */
export function placeName(station) {
  const { side, kind, layer } = station, name = nameOf(kind, side), of = layer === undefined ? SIDES[side] : layerName(station);
  return [`${of[0]} · ${name[0]}`, `${of[1]} · ${name[1]}`];
}

/** The one sentence of this screen. */
export function sentence(view) {
  const kind = view.station ? LEVELS[view.station.kind][view.level] : "all";
  return { all: overview, model: atStation, layer: aLayer, head: aHead, number: aNumber, units: someUnits, words: someWords, strips: atStrips }[kind](view);
}

function overview({ found, word }) {
  const [{ word: next, probability }] = likely(found, word), soFar = found.soFar[word];
  const looked = found.source[biggest(meanRow(found.dec.layers.at(-1).cross, word))]; // whichever word is followed
  return [`左边的编码器读完了整个源句，右边的解码器${soFar ? `已写下“${soFar}”` : "还没写一个词"}。接下来最可能写${quote(next)}（${percent(probability)}）；这时它最多看${quote(looked)}。`,
    `The encoder, left, has read the whole source. The decoder, right, has written ${soFar ? `“${soFar}”` : "nothing yet"}. Most likely it goes on with ${quote(next)} (${percent(probability)}); at this moment it looks most at ${quote(looked)}.`];
}

function most({ found, station }, row) {
  const at = biggest(row);
  return [quote(seen(found, station)[at]), row[at].toFixed(2)];
}

function atStation(view) {
  const { found, station, here } = view, { side, kind } = station, me = quote(own(found, side)[here]), now = passing(found, station, here), added = now.added ? plain(length(now.added), 1) : "";
  if (isLook(kind)) {
    const [what, weight] = most(view, meanRow(sublayer(found, station), here)), zh = `（${weight}，${found.heads} 个头平均）`, en = `(${weight}, the mean of ${found.heads} heads)`;
    const looks = side === "enc" ? [`${me}看整个源句`, `${me} looks at the whole source`] : kind === "self" ? [`${me}只看已经写下的词`, `${me} looks only at what is already written`] : [`${me}回头看源句`, `${me} looks back at the source`];
    return [`${looks[0]}，最多看${what}${zh}。看到的加进它的向量，这一份长 ${added}。`, `${looks[1]}, most at ${what} ${en}. What it finds, a vector of length ${added}, is added to its own.`];
  }
  if (kind === "embed") return [`${me}变成 ${found.size} 个数：词嵌入表里它那一行，乘以 √${found.size} = ${short(Math.sqrt(found.size))}。`,
    `${me} becomes ${found.size} numbers: its row of the embedding table, times √${found.size} = ${short(Math.sqrt(found.size))}.`];
  if (kind === "place") return [`再加上位置 ${here} 的编码：从此向量也说得出${me}站在哪里。`, `The encoding of position ${here} is added. Now the vector also says where ${me} stands.`];
  if (kind === "ff") {
    const units = sublayer(found, station).units[here], on = units.filter((value) => value > 0).length;
    return [`前馈网络只看${me}自己：${units.length} 个单元亮了 ${on} 个。它们写的加进向量，这一份长 ${added}。`,
      `The feed-forward network sees ${me} alone: ${on} of its ${units.length} units are on. What they write, a vector of length ${added}, is added.`];
  }
  if (kind === "norm") return side === "enc"
    ? [`归一化以后，${me}成为“记忆”的一行：解码器每一层的交叉注意力都从这里取键和值。`, `Normalized, ${me} is one row of the memory, from which every cross-attention of the decoder takes its keys and values.`]
    : [`输出之前再归一化一次：长度回到 ${plain(length(now.after), 1)}。`, `One last norm before the output brings the length back to ${plain(length(now.after), 1)}.`];
  const [first, second] = likely(found, here);
  return [`向量和 ${found.numWords} 个词各做一次点积，softmax 变成概率：${quote(first.word)} ${percent(first.probability)}，其次${quote(second.word)} ${percent(second.probability)}。`,
    `A dot product with each of the ${found.numWords} words, then softmax: ${quote(first.word)} comes first with ${percent(first.probability)}, ${quote(second.word)} second with ${percent(second.probability)}.`];
}

function aLayer({ found, station }) {
  return station.side === "enc"
    ? [`一层只做加法：流进来的 ${found.size} 个数，加上自注意力和前馈网络各写的一份，就是流出去的。`, `A layer only adds: ${found.size} numbers flow in, self-attention and the feed-forward network each add something to them, and the sums flow out.`]
    : [`一层只做加法：流进来的 ${found.size} 个数，加上两种注意力和前馈网络各写的一份，就是流出去的。`, `A layer only adds: ${found.size} numbers flow in, the two attentions and the feed-forward network each add something to them, and the sums flow out.`];
}

function aHead(view) {
  const { found, station, here, head } = view, me = quote(own(found, station.side)[here]), [what, weight] = most(view, sublayer(found, station).weights[head][here]);
  const [zh, en] = station.side === "enc" || station.kind === "cross" ? ["源词", "source word"] : ["已写的词", "written word"];
  return [`头 ${head + 1}：“权重”一列说${me}看各个${zh}看得多重，加起来是 1；最多看${what}，${weight}。`,
    `Head ${head + 1}: the column “weight” says how much ${me} looks at each ${en}. The weights sum to 1; the largest, ${weight}, is that of ${what}.`];
}

function aNumber(view) {
  const { found, station, here, part, pick, v } = view;
  if (station.kind === "ff") return [`单元 ${pick + 1}：${found.size} 个乘积相加，再加偏置；大于 0 就亮，否则是 0（ReLU）。`, `Unit ${pick + 1}: ${found.size} products and a bias, added up. Above 0 it is on; otherwise it is 0 (ReLU).`];
  if (station.kind === "out") {
    const word = quote(likely(found, here)[pick].word);
    return [`${word}的得分：它在输出层的一行与向量的点积，${found.size} 个乘积相加。`, `The score of ${word}: the dot product of the vector and the word’s row in the output layer, ${found.size} products added up.`];
  }
  const me = quote(own(found, station.side)[here]), it = quote(seen(found, station)[pick] ?? ""), root = `√${found.headSize} = ${short(Math.sqrt(found.headSize))}`;
  return {
    score: [`${me}的查询与${it}的键：${found.headSize} 个乘积相加，再除以 ${root}。`, `The query of ${me} and the key of ${it}: ${found.headSize} products, added up, then divided by ${root}.`],
    weight: [`softmax：取 e 的幂，指数是${it}的评分，再除以这一行所有幂之和。`, `Softmax: e to the score of ${it}, divided by the sum of all such powers in the row.`],
    value: [`这个头带回的第 ${v + 1} 个数：每个词的值乘以它的权重，再相加。`, `Number ${v + 1} of what this head brings back: each word’s value times its weight, added up.`],
  }[part];
}

function someUnits({ found, station, here }) {
  const units = sublayer(found, station).units[here], on = units.filter((value) => value > 0).length, best = biggest(units) + 1;
  return [`${units.length} 个单元各是一个开关：${on} 个亮着，别的都是 0。最亮的是第 ${best} 个。`, `Each of the ${units.length} units is a switch: ${on} are on, all others are 0. Unit ${best} is the brightest.`];
}

function someWords({ found, here }) {
  const [{ word, probability }] = likely(found, here);
  return [`每个词一个得分；softmax 把 ${found.numWords} 个得分变成总和为 1 的概率。${quote(word)}得 ${percent(probability)}。`,
    `A score for every word; softmax turns the ${found.numWords} scores into probabilities that sum to 1. ${quote(word)} gets ${percent(probability)}.`];
}

function atStrips({ found, station, here }) {
  const me = quote(own(found, station.side)[here]);
  if (station.kind === "embed") return [`同一个词总是同样的 ${found.size} 个数：${me}的嵌入。`, `The same word always has the same ${found.size} numbers: the embedding of ${me}.`];
  if (station.kind === "place") return [`两条相加：一条说它是哪个词，一条说它站在位置 ${here}。`, `Two strips are added: which word it is, and that it stands at position ${here}.`];
  const { mean, deviation } = normOf(found, station.side, here);
  return [`归一化：每个数减去均值 ${plain(mean)}，除以标准差 ${plain(deviation)}，再乘以一个学到的数，加上一个学到的数。`, `The norm: from each number subtract the mean ${plain(mean)}, divide by the standard deviation ${plain(deviation)}, then multiply by a learned gain and add a learned shift.`];
}

/** What the vector is now, in few words: beside the strip above the towers. */
export function card({ found, station, here }) {
  const { before, added, after } = passing(found, station, here), total = plain(length(after), 1);
  return added && before ? [`向量加了 ${plain(length(added), 1)}（粉色），现在长 ${total}`, `its vector: ${plain(length(added), 1)} added (pink), length ${total}`] : [`向量现在长 ${total}`, `its vector: length ${total}`];
}
