/* What the drawings ask of a pass (engine/trace.mjs): the stations, a token's vector at each, and single
   numbers written out as their terms. Pure. */

export const length = (x) => Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
export const biggest = (x) => x.reduce((best, value, i) => (value > x[best] ? i : best), 0);

/** The stations of one side, "enc" or "dec", in order. */
export function stations(found, side) {
  const list = [{ kind: "embed" }, { kind: "place" }];
  for (let layer = 0; layer < found.layers; layer++)
    for (const kind of side === "enc" ? ["self", "ff"] : ["self", "cross", "ff"]) list.push({ kind, layer });
  list.push({ kind: "norm" });
  if (side === "dec") list.push({ kind: "out" });
  return list.map((station, n) => ({ ...station, side, n, of: list.length }));
}

export const sublayer = (found, { side, layer, kind }) => found[side].layers[layer][kind];
export const isLook = (kind) => kind === "self" || kind === "cross";
/** The words that a look goes to, and those that look. */
export const seen = (found, { side, kind }) => (side === "enc" || kind === "cross" ? found.source : found.input);
export const own = (found, side) => (side === "enc" ? found.source : found.input);

/** A token's vector at a station: before, what is added, after. */
export function passing(found, station, i) {
  const { start, end } = found[station.side];
  switch (station.kind) {
    case "embed": return { before: null, added: start.embedded[i], after: start.embedded[i] };
    case "place": return { before: start.embedded[i], added: start.positions[i], after: start.after[i] };
    case "norm": return { before: end.before[i], added: null, after: end.after[i] };
    case "out": return { before: end.after[i], added: null, after: end.after[i] };
    default: {
      const { before, added, after } = sublayer(found, station);
      return { before: before[i], added: added[i], after: after[i] };
    }
  }
}

/** The mean of all heads' weights of one row. */
export function meanRow({ weights }, i) {
  const mean = new Float32Array(weights[0][i].length);
  for (const head of weights) head[i].forEach((weight, j) => { mean[j] += weight / weights.length; });
  return mean;
}

/** What the decoder would write if the vector were read out at this station: words, the most probable first. */
export const reading = (found, { n }, i) => found.readings[Math.min(n, found.readings.length - 1)][i];

/** The words that may come next, the ten most probable first, with their rows of the output layer. */
export const likely = (found, i) => found.out[i].best;

/* ---- one number: its terms as [what, factor, factor, product], their sum, and what becomes of it ---- */

const summed = (terms) => terms.reduce((total, term) => total + term.at(-1), 0);
const byWeight = (terms) => terms.sort((a, b) => Math.abs(b[3]) - Math.abs(a[3]));

export function dotProduct({ headSize }, look, head, i, j) {
  const at = head * headSize, terms = Array.from({ length: headSize }, (_, c) => {
    const [q, k] = [look.queries[i][at + c], look.keys[j][at + c]];
    return [c + 1, q, k, q * k];
  });
  return { terms, sum: summed(terms), result: summed(terms) / Math.sqrt(headSize) };
}

export function quotient(scores) {
  const terms = [...scores].map((score, j) => [j, score, Math.exp(score)]), sum = summed(terms);
  return { terms, sum, shares: terms.map((term) => term[2] / sum) };
}

export function mixture({ headSize }, look, head, i, c) {
  const at = head * headSize + c;
  const terms = [...look.weights[head][i]].map((weight, j) => [j, weight, look.values[j][at], weight * look.values[j][at]]);
  return { terms, result: summed(terms) };
}

const products = (x, row) => [...x].map((value, c) => [c + 1, value, row[c], value * row[c]]);

/** A unit of the feed-forward network: its inputs times its weights, and its bias. */
export function unitSum({ read, inner }, i, u) {
  const x = read[i], terms = byWeight(products(x, inner.weight.subarray(u * x.length, (u + 1) * x.length)));
  const bias = inner.bias[u], sum = summed(terms) + bias;
  return { terms, bias, sum, result: Math.max(0, sum) };
}

/** The score of the nth likely word: its row of the output layer times the vector, and its bias. */
export function wordSum(found, i, n) {
  const { row, bias } = likely(found, i)[n], terms = byWeight(products(found.dec.end.after[i], row)), sum = summed(terms) + bias;
  return { terms, bias, sum, result: sum };
}

/** The last norm of a side, number by number: (x − mean) ÷ deviation × gain + shift. */
export function normOf(found, side, i) {
  const { before, weight: gain, bias: shift } = found[side].end, x = before[i];
  const mean = x.reduce((sum, value) => sum + value / x.length, 0);
  const deviation = Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2 / x.length, 0) + 1e-5);
  return { mean, deviation, gain, shift };
}

/** The number of a layer's stream that changes most, of those whose sum comes out in print, to two digits. */
export function tellingNumber(found, station, i) {
  const rounded = (x) => Number(x.toFixed(2)), sums = Array.from({ length: found.size }, (_, c) => streamSum(found, station, i, c));
  const exact = ({ first, parts, last }) => Math.abs(parts.reduce((sum, [, x]) => sum + rounded(x), rounded(first)) - rounded(last)) < 0.005;
  return biggest(sums.map((each) => (exact(each) ? Math.abs(each.last - each.first) : 0)));
}

/** One number of a layer's stream: what flows in, what each sublayer adds, what flows out. */
export function streamSum(found, { side, layer }, i, c) {
  const parts = Object.entries(found[side].layers[layer]);
  return { first: parts[0][1].before[i][c], parts: parts.map(([kind, each]) => [kind, each.added[i][c]]), last: parts.at(-1)[1].after[i][c] };
}
