/* What the viewer was given: for each kind of attention its tokens, and for each head its weights in
   thousandths, row by row. Layers, heads and tokens are numbered from 1; head 0 is the mean of all heads. */

const kept = new WeakMap();

export const kindOf = (data, key) => data.kinds.find((kind) => kind.key === key) ?? data.kinds[0];

/** The weights of a head, one number for each query and key, row by row. */
export function weightsOf(kind, layer, head) {
  if (!kept.has(kind)) kept.set(kind, new Map());
  const found = kept.get(kind), name = `${layer}.${head}`;
  if (!found.has(name)) found.set(name, head ? read(kind.weights[layer - 1][head - 1]) : mean(kind.weights[layer - 1]));
  return found.get(name);
}

const read = (thousandths) => Float32Array.from(thousandths, (each) => each / 1000);

function mean(heads) {
  const sum = new Float32Array(heads[0].length);
  for (const head of heads) for (let i = 0; i < sum.length; i++) sum[i] += head[i];
  return sum.map((each) => each / (1000 * heads.length));
}

/** What a query gives to each key. */
export const rowOf = (kind, weights, query) =>
  weights.subarray((query - 1) * kind.keys.length, query * kind.keys.length);

/** What a key gets from each query. */
export const columnOf = (kind, weights, key) =>
  kind.queries.map((_, i) => weights[i * kind.keys.length + key - 1]);

/** How much of all weight stands in cells of at least `threshold`: from 0 to 1. */
export function share(weights, threshold) {
  let all = 0, drawn = 0;
  for (const each of weights) {
    all += each;
    if (each >= threshold) drawn += each;
  }
  return all ? drawn / all : 1;
}

/** The state as it can be shown, whoever wrote it: an address, or a cell of a notebook. */
export function checked(state) {
  const kind = kindOf(state.data, state.kind);
  const within = (value, least, most, otherwise) =>
    (Number.isInteger(value) && value >= least && value <= most ? value : otherwise);
  return {
    kind, threshold: Math.min(1, Math.max(0, Number(state.threshold) || 0)),
    layer: within(state.layer, 1, kind.weights.length, kind.first.layer),
    head: within(state.head, 0, kind.weights[0].length, kind.first.head),
    query: within(state.query, 0, kind.queries.length, 0), key: within(state.key, 0, kind.keys.length, 0),
  };
}
