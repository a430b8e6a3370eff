/* What the next token is drawn with, and the draw: the rules of attention_book.decoding.sampling. */
import { logSoftmax, softmax } from "./kernels.mjs";

/** By so much a sum may fall short and still count as reached: what single precision hides. */
const ROUNDING = 4 * 2 ** -23;

/** A model's log-probabilities, the most probable first where equals keep their order. */
const sorted = (logits) => [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);

/** First the temperature, then top-k, top-p, min-p; what is kept is brought to the sum 1 again. */
export function distribution(logProbs, { temperature = 1, topK = null, topP = null, minP = null } = {}) {
  const top = logProbs.reduce((a, b) => Math.max(a, b), -Infinity);
  const logits = logProbs.map((value) => (value - top) / temperature);
  const drop = (ids) => { for (const id of ids) logits[id] = -Infinity; };
  if (topK !== null) drop(sorted(logits).slice(topK));
  if (topP !== null && topP < 1) {
    const order = sorted(logits), shares = softmax(logits);
    let sum = 0, count = 0;
    while (count < order.length) {
      sum += shares[order[count++]];
      if (sum >= topP * (1 - ROUNDING)) break;
    }
    drop(order.slice(count));
  }
  if (minP) drop([...logits.keys()].filter((id) => logits[id] < Math.log(minP)));
  return softmax(logits);
}

/** The token at which the summed shares, in the vocabulary's order, exceed a number from 0 to 1. */
export function drawn(shares, draw) {
  let sum = 0, last = 0;
  const total = shares.reduce((a, b) => a + b, 0);
  for (const [id, share] of shares.entries()) {
    if (!share) continue;
    sum += share;
    last = id;
    if (sum > draw * total) break;
  }
  return last;
}

/** What follows by a model, as log-probabilities; what is `never` written keeps its share. */
export function nextLogProbs(logits, never) {
  const logProbs = logSoftmax(Float64Array.from(logits));
  for (const id of never) logProbs[id] = -Infinity;
  return logProbs;
}
