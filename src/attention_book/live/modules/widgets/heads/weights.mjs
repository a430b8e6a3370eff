/* What the viewer was given: for each kind of attention its tokens, and for each head its weights in
   thousandths, row by row, packed by attention_book.live.viewer.weights. Layers and heads have the numbers
   of their model, from 1; head 0 is the mean of the heads that are there. Tokens are numbered from 1. */

const LOW = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-", HIGH = "!#$%()*,./:;=?@", END = "|";
const CODES = new Int16Array(128); // a letter's part of a number; one that a second follows, negative
[...LOW].forEach((letter, i) => { CODES[letter.charCodeAt(0)] = i; });
[...HIGH].forEach((letter, i) => { CODES[letter.charCodeAt(0)] = -64 * (i + 1); });

const kept = new WeakMap();

export const kindOf = (data, key) => data.kinds.find((kind) => kind.key === key) ?? data.kinds[0];

/** The weights of a head, one number for each query and key, row by row. */
export function weightsOf(kind, layer, head) {
  if (!kept.has(kind)) kept.set(kind, new Map());
  const found = kept.get(kind), name = `${layer}.${head}`;
  if (!found.has(name)) found.set(name, unpacked(kind, layer, head));
  return found.get(name);
}

/** The same, read anew: a thousand heads, each looked at once, need not be kept. */
export function unpacked(kind, layer, head) {
  const heads = kind.weights[kind.layers.indexOf(layer)];
  const sum = new Float32Array(kind.queries.length * kind.keys.length);
  if (head) return read(heads[kind.heads.indexOf(head)], kind.keys.length, sum).map((each) => each / 1000);
  for (const each of heads) read(each, kind.keys.length, sum);
  return sum.map((each) => each / (1000 * heads.length));
}

/** Add the thousandths of a head to numbers; where a row ends early, the rest of it is 0. */
function read(text, columns, sum) {
  for (let at = 0, row = 0, place = 0; at < text.length; at++) {
    if (text[at] === END) {
      row += columns;
      place = row;
      continue;
    }
    const code = CODES[text.charCodeAt(at)];
    sum[place++] += code < 0 ? CODES[text.charCodeAt(++at)] - code : code;
  }
  return sum;
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

/** What a query gives to all keys together. */
export const sumOf = (kind, weights, query) => rowOf(kind, weights, query).reduce((sum, each) => sum + each, 0);

/** The state as it can be shown, whoever wrote it: an address, or a cell of a notebook. */
export function checked(state) {
  const kind = kindOf(state.data, state.kind);
  const within = (value, least, most, otherwise) =>
    (Number.isInteger(value) && value >= least && value <= most ? value : otherwise);
  return {
    kind, threshold: Math.min(1, Math.max(0, Number(state.threshold) || 0)),
    layer: kind.layers.includes(state.layer) ? state.layer : kind.first.layer,
    head: [0, ...kind.heads].includes(state.head) ? state.head : kind.first.head,
    query: within(state.query, 0, kind.queries.length, 0), key: within(state.key, 0, kind.keys.length, 0),
  };
}
