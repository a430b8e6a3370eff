/* One pass through the Transformer with everything on the way kept, for whoever wants to see it. The model
   itself says what it computes (`watch`): the order of the steps stands there, and nowhere else. */
import { logSoftmax } from "./kernels.mjs";
import { BOS, EOS, build, search } from "./model.mjs";

const MOST = 10; // words that a reading keeps, the most probable first

/** Translate greedily and keep all: vectors, scores, weights, units, what each station would say. `tokens`
    and `ids` are a text as the model takes it. A generator, which pauses after every word. What it returns
    is plain data, sequences as arrays of vectors: a Worker can hand it over. */
export function* trace(file, { tokens, ids }) {
  if (file.model !== "transformer") throw new Error(`model: ${file.model}`);
  const { config, tensors, target_vocabulary: words } = file, seen = new Map();
  const model = build(file, {}, (name, what) => seen.set(name, what));
  const memory = model.encode([...ids, EOS]), searching = search(model, memory, { limit: 2 * tokens.length + 10 });
  let beams, done = false;
  while (!done) {
    ({ value: beams, done } = searching.next());
    yield;
  }
  const [{ ids: target, open }] = beams, input = [BOS, ...target.slice(0, -1)];
  // All words at once: the causal mask makes each the same as when it was written.
  const { logits } = model.decode(input, memory);
  const parts = (name) => ({ weight: tensors.get(`${name}.weight`), bias: tensors.get(`${name}.bias`) });
  const look = (name) => {
    const { queries, keys, values, looks } = seen.get(name), outer = tensors.get(`${name}.W_o.weight`);
    const byHead = (what) => looks[0][what].map((_, head) => looks.map((each) => each[what][head]));
    const joined = looks.map(({ output }) => output), heads = looks[0].weights.length;
    return {
      ...seen.get(`${name}_norm`), queries, keys, values, scores: byHead("scores"), weights: byHead("weights"), joined,
      alone: Array.from({ length: heads }, (_, head) => joined.map((each) => ofHead(outer, each, head, heads))),
    };
  };
  const side = (name, kinds) => ({
    start: { ...seen.get(`${name}.embedding`), rows: seen.get(`${name}.embedding`).rows.map((each) => each.slice()) }, // not the table
    layers: Array.from({ length: config.num_layers }, (_, n) => Object.fromEntries(kinds.map((kind) => {
      const of = `${name}.layers.${n}`;
      if (kind !== "ff") return [kind, look(`${of}.${kind}_attention`)];
      return [kind, { ...seen.get(`${of}.feed_forward_norm`), units: seen.get(`${of}.feed_forward`).units, inner: parts(`${of}.feed_forward.W_1`) }];
    }))),
    end: { ...seen.get(`${name}.norm`), ...(config.norm === "pre" ? parts(`${name}.norm`) : {}) },
  });
  const enc = side("encoder", ["self", "ff"]), dec = side("decoder", ["self", "cross", "ff"]), readout = parts("readout");
  const stations = [dec.start.embedded, dec.start.after, ...dec.layers.flatMap((layer) => Object.values(layer).map(({ after }) => after))];
  return {
    size: config.d_model, heads: config.num_heads, headSize: config.d_model / config.num_heads, layers: config.num_layers,
    norm: config.norm, numWords: words.length,
    source: [...tokens, "<eos>"], input: input.map((id) => words[id]), target: target.map((id) => words[id]), targetIds: target, finished: !open,
    enc, dec,
    out: logits.map((each) => {
      const probabilities = probabilitiesOf(each), best = bestOf(probabilities);
      return { logits: each, probabilities, best: best.map((id) => ({
        id, word: words[id], logit: each[id], probability: probabilities[id],
        row: readout.weight.slice(id * config.d_model, (id + 1) * config.d_model), bias: readout.bias?.[id] ?? 0,
      })) };
    }),
    // What the decoder would write if its vector were read out as it is at each station: the last norm and
    // the output layer on vectors for which they were not trained (a "logit lens").
    readings: stations.map((xs) => model.readOut(xs).map((each) => {
      const probabilities = probabilitiesOf(each);
      return bestOf(probabilities).map((id) => ({ word: words[id], probability: probabilities[id] }));
    })),
  };
}

const probabilitiesOf = (logits) => logSoftmax(Float64Array.from(logits)).map(Math.exp);
const bestOf = (probabilities) => [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, MOST);

/** What one head alone adds to the vector: its part of the output matrix, times what it has found. */
function ofHead(outer, found, head, heads) {
  const size = found.length / heads;
  return Float32Array.from({ length: outer.length / found.length }, (_, r) => {
    let sum = 0;
    for (let c = head * size; c < (head + 1) * size; c++) sum += outer[r * found.length + c] * found[c];
    return sum;
  });
}
