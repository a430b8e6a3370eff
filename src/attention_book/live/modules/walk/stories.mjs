/* Where something is to be seen: sentences and words at which the decoder's vector would say one word until it
   looks at the source, and another from there on. Chosen by the build, by this rule. */
import { logSoftmax } from "../engine/kernels.mjs";
import { BOS, build, EOS, search } from "../engine/model.mjs";
import { read } from "../engine/serve.mjs";
import { proposed } from "../translator/pieces.mjs";

const LEAST = 7, MOST = 10; // tokens of a sentence: enough for a story, not too many for a telephone
const FEW = 0.1, SHOWN = 4;
const probabilities = (logits) => logSoftmax(Float64Array.from(logits)).map(Math.exp);
const best = (values) => values.reduce((top, value, i) => (value > values[top] ? i : top), 0);

/** Stories [{ text, word, from, to, distance }], the best first, at most four, each with other words. `word` counts
    what is written before. Of the sentences that come with a model those places count at which every station
    before one look at the source would say `from`, and that look and every station after it `to`, both of them words
    that few of the translations use (meat, not the); they are ordered by how far apart the first reading and the
    last are, as distributions (total variation). Where there is no such place, all count. */
export function stories(file, example) {
  const sentences = (file.sentences ?? example.sentences).map((each) => proposed(each, example)), words = file.target_vocabulary;
  const short = sentences.map((text) => ({ text, ids: read(text, file).ids })), fit = short.filter(({ ids }) => ids.length >= LEAST && ids.length <= MOST), texts = fit.length ? fit : short;
  const all = texts.map(({ text, ids }) => told(file, ids).map((each) => ({ text, ...each, from: words[each.from], to: words[each.to] })));
  const uses = new Map();
  for (const places of all) for (const word of new Set(places.map(({ to }) => to))) uses.set(word, (uses.get(word) ?? 0) + 1);
  const spoken = all.flat().filter(({ from, to }) => from !== to && [from, to].every((word) => /^▁?\p{L}+$/u.test(word)));
  const clear = spoken.filter(({ turns, from, to }) => turns && [from, to].every((word) => (uses.get(word) ?? 0) <= FEW * all.length));
  const chosen = [];
  for (const { turns, ...each } of [clear, spoken, all.flat()].find((places) => places.length).sort((a, b) => b.distance - a.distance))
    if (chosen.length < SHOWN && chosen.every((other) => other.text !== each.text && other.to !== each.to && other.from !== each.from)) chosen.push(each);
  return chosen;
}

/** Of each place of a translation: what its vector says at first and at last, how far the two are apart, and whether
    it turns from the one to the other at a look at the source, at once. */
function told(file, ids) {
  const seen = new Map(), model = build(file, {}, (name, what) => { if (/^decoder\.(embedding|.*_norm)$/.test(name)) seen.set(name, what); });
  const memory = model.encode([...ids, EOS]), searching = search(model, memory, { limit: 2 * ids.length + 10 });
  let step = searching.next();
  while (!step.done) step = searching.next();
  const [{ ids: target }] = step.value;
  model.decode([BOS, ...target.slice(0, -1)], memory);
  const names = [...seen.keys()], xs = names.map((name) => seen.get(name).after), readings = [seen.get(names[0]).embedded, ...xs].map((each) => model.readOut(each).map(probabilities));
  return target.map((_, word) => {
    const says = readings.map((each) => best(each[word])), [from, to] = [says[0], says.at(-1)], at = says.indexOf(to);
    const turns = from !== to && names[at - 1]?.includes("cross") && says.every((id, n) => id === (n < at ? from : to));
    const [before, after] = [readings[0][word], readings.at(-1)[word]];
    return { word, from, to, turns, distance: before.reduce((sum, p, i) => sum + Math.abs(p - after[i]), 0) / 2 };
  });
}
