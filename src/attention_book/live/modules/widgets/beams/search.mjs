/* Beam search over prefixes that are known already, with the numbers of the package's `beam_search`. */

export const WIDTHS = [1, 2, 3, 4, 5];
export const PENALTIES = Array.from({ length: 21 }, (_, i) => i / 10);
const END = 0; // <eos> is the first of the words
const MICRO = 1e-6; // log-probabilities come as whole numbers

const grown = new WeakMap();

/** What may follow each prefix, the most probable first; prefix 0 is the empty one. `tree` lists for
    each of the others its parent, its last word, and its log-probability from the start. */
function treeOf(data) {
  if (!grown.has(data)) {
    const nodes = [{ number: 0, words: [], sum: 0, finished: false, next: [] }];
    for (let i = 0; i < data.tree.length; i += 3) {
      const [parent, word, sum] = data.tree.slice(i, i + 3), before = nodes[parent];
      const node = { number: nodes.length, parent, words: [...before.words, data.words[word]], sum: sum * MICRO, finished: word === END, next: [] };
      before.next.push(node);
      nodes.push(node);
    }
    grown.set(data, nodes);
  }
  return grown.get(data);
}

/** Every step of the search: the candidates as they rank, of which the first `width` are kept.
    `from` is the rank that a candidate's prefix had in the step before. */
export function search(data, width, penalty) {
  const nodes = treeOf(data), factor = (length) => ((5 + length) / 6) ** penalty, steps = [];
  let beams = [nodes[0]];
  for (;;) {
    const ranked = beams
      .flatMap((node, from) => (node.finished ? [node] : node.next).map((next) => ({ ...next, from, score: next.sum / factor(next.words.length) })))
      .sort((a, b) => b.score - a.score);
    const kept = ranked.slice(0, width);
    steps.push({ kept, dropped: ranked.slice(width) });
    beams = kept.map(({ number }) => nodes[number]);
    if (settled(kept, factor(data.limit)) || steps.length >= data.limit) return steps;
  }
}

/** Whether the best can no longer change: a log-probability only falls, so an open prefix can at most
    reach the score that it would have with no further cost at the longest length. */
function settled(kept, factor) {
  const best = Math.max(...kept.filter(({ finished }) => finished).map(({ score }) => score));
  return best > Math.max(...kept.filter(({ finished }) => !finished).map(({ sum }) => sum / factor));
}
