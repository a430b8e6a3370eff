/* What a head shows, in a sentence of each language; and all its numbers, in a table. */
import { both, el, isolated, number, visible } from "../../page/words.mjs";
import { nameOf } from "./grid.mjs";
import { FAINT } from "./ink.mjs";
import { columnOf, rowOf, share, sumOf } from "./weights.mjs";

const ENOUGH = 0.95, PART = /.\((\d)\/(\d)\)/u; // of a row's sum; a mark of foundations.labels
const MOST = 3, ROWS = 12; // words named in a sentence; rows of the table written at a time

export function explain({ kind, layer, head, query, key, threshold }, weights) {
  const [zh, en] = nameOf(layer, head), after = hidden(weights, threshold);
  const [lineZh, lineEn] = looks({ kind, query, key }, weights);
  return [`${zh}。${lineZh}${after[0]}`, `${en}. ${lineEn}${after[1]}`];
}

function looks({ kind, query, key }, weights) {
  const from = query && isolated(visible(kind.queries[query - 1])), to = key && isolated(visible(kind.keys[key - 1]));
  if (query && key) {
    const weight = number(rowOf(kind, weights, query)[key - 1], 3);
    return [`“${from}”给“${to}”的权重是 ${weight}。`, `“${from}” gives “${to}” the weight ${weight}.`];
  }
  if (query) {
    const row = rowOf(kind, weights, query), best = greatest(row, kind.keys), [lackZh, lackEn] = lacking(kind, weights, query);
    return best.length
      ? [`“${from}”看得最多的是${best.map(([word, n]) => `“${word}” ${n}`).join("、")}。${lackZh}`,
        `“${from}” looks most at ${best.map(([word, n]) => `“${word}” ${n}`).join(", ")}.${lackEn}`]
      : [`“${from}”什么也没看：这一行的权重都是 0。`, `“${from}” looks at nothing: all weights of its row are 0.`];
  }
  if (key) {
    const best = greatest(columnOf(kind, weights, key), kind.queries);
    return best.length
      ? [`看“${to}”最多的是${best.map(([word, n]) => `“${word}” ${n}`).join("、")}。`,
        `“${to}” is looked at most by ${best.map(([word, n]) => `“${word}” ${n}`).join(", ")}.`]
      : [`没有谁看“${to}”。`, `Nothing looks at “${to}”.`];
  }
  return ["指着一个词，看它的一行。", "Point at a word to see its row."];
}

/** A row need not sum to 1: a sink has taken its share, or columns were cut away. */
function lacking(kind, weights, query) {
  const sum = sumOf(kind, weights, query);
  return sum < ENOUGH ? [`这一行之和是 ${number(sum, 2)}。`, ` Its row sums to ${number(sum, 2)}.`] : ["", ""];
}

/** What the marks of cut characters mean, where there are any. */
export function legend({ queries, keys }) {
  const marked = [...queries, ...keys].find((token) => PART.test(token));
  if (!marked) return [];
  const [example, , count] = PART.exec(marked);
  return [el("p", { class: "live-note" }, both([
    `${example} 是被分词器切成字节的一个字的一部分，这个字共有 ${count} 部分。`,
    `${example} is a part of a character that the tokenizer has cut into bytes; it has ${count} parts.`]))];
}

const greatest = (weights, names) => [...weights].map((weight, i) => [isolated(visible(names[i])), weight])
  .filter(([, weight]) => weight >= FAINT).sort((a, b) => b[1] - a[1]).slice(0, MOST)
  .map(([word, weight]) => [word, number(weight, 2)]);

/** What a threshold takes away: pale cells are many, and together they weigh. */
function hidden(weights, threshold) {
  if (threshold <= FAINT) return ["", ""];
  const gone = 100 * (1 - share(weights, threshold));
  const percent = gone > 0 && gone < 1 ? "<1" : gone.toFixed(0);
  return [`小于 ${number(threshold)} 的格子没有画，它们占全部权重的 ${percent}%。`,
    ` Cells below ${number(threshold)} are not drawn; they hold ${percent}% of all weight.`];
}

/** All numbers of a head, written in slices where there are many; `stop` ends the writing. */
export function table({ kind, weights, element }) {
  const head = el("thead", {}, el("tr", {}, el("td", {}, both(["查询＼键", "query \\ key"])),
    kind.keys.map((token) => el("th", { scope: "col" }, el("bdi", { translate: "no" }, visible(token))))));
  const body = el("tbody", {});
  element.replaceChildren(head, body);
  element.setAttribute("dir", kind.directions[1]);
  let i = 0, timer = 0;
  function more() {
    for (let end = i + ROWS; i < Math.min(end, kind.queries.length); i++) body.append(el("tr", {},
      el("th", { scope: "row" }, el("bdi", { translate: "no" }, visible(kind.queries[i]))),
      [...rowOf(kind, weights, i + 1)].map((weight) => el("td", {}, number(weight, 3)))));
    timer = i < kind.queries.length ? setTimeout(more) : 0;
  }
  more();
  return () => clearTimeout(timer);
}
