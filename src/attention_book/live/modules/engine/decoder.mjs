/* A decoder-only language model: GPT's layers of 2018 or Llama's of 2023, as its settings say. It reads tokens
   behind what it has read, whose keys and values it keeps, and says what follows each. */
import { add, layerNorm, linear, parts, relu, rmsNorm, rotated, row, silu, sinusoid, softmax } from "./kernels.mjs";

const KNOWN = {
  norm: ["pre", "post"], norm_kind: ["layer", "rms"], feed_forward: ["relu", "swiglu"],
  positions: ["rotary", "sinusoidal", "learned", "none"],
};

export class Decoder {
  constructor({ config, tensors }) {
    for (const [name, known] of Object.entries(KNOWN)) {
      if (!known.includes(config[name])) throw new Error(`${name}: ${config[name]}`);
    }
    const head = config.d_k ?? config.d_model / config.num_heads, groups = config.num_kv_heads ?? config.num_heads;
    Object.assign(this, { config, tensors, head, groups });
  }

  /** Nothing read: for each layer the keys and values of every token. */
  start() {
    return { past: Array.from({ length: this.config.num_layers }, () => ({ keys: [], values: [] })) };
  }

  /** Read tokens at once; the logits after the last. The state given is left as it was. */
  read(ids, state) {
    const offset = state.past[0].keys.length, past = [];
    let xs = ids.map((id, i) => this.#embed(id, offset + i));
    state.past.forEach((before, layer) => {
      const name = `stack.layers.${layer}`;
      xs = this.#around(xs, `${name}.self_attention_norm`, (ys) => {
        const { queries, keys, values } = this.#project(ys, `${name}.self_attention`, offset);
        past.push({ keys: [...before.keys, ...keys], values: [...before.values, ...values] });
        return queries.map((query, i) =>
          linear(this.#look(query, past[layer], offset + i + 1), this.#part(`${name}.self_attention.W_o`)));
      });
      xs = this.#around(xs, `${name}.feed_forward_norm`, (ys) => ys.map((y) => this.#think(y, `${name}.feed_forward`)));
    });
    const last = xs.at(-1);
    return { logits: linear(this.#endsInNorm() ? this.#norm(last, "stack.norm") : last, this.#part("readout")), state: { past } };
  }

  #part(name) { return parts(this.tensors, name); }

  #endsInNorm() { return this.config.final_norm ?? this.config.norm !== "post"; }

  #norm(x, name) {
    return (this.config.norm_kind === "rms" ? rmsNorm : layerNorm)(x, this.#part(name), this.config.eps);
  }

  #embed(id, position) {
    const { d_model: size, embedding_scale: scale, positions } = this.config;
    const x = row(this.tensors.get("stack.embedding.weight"), size, id).map((value) => value * (scale ?? Math.sqrt(size)));
    if (positions === "sinusoidal") return add(x, sinusoid(position, size));
    return positions === "learned" ? add(x, row(this.tensors.get("stack.positions.table"), size, position)) : x;
  }

  /** Residual connection and norm, before the sublayer or after the sum. */
  #around(xs, name, sublayer) {
    const pre = this.config.norm === "pre", added = sublayer(pre ? xs.map((x) => this.#norm(x, `${name}.norm`)) : xs);
    const sums = xs.map((x, i) => add(x, added[i]));
    return pre ? sums : sums.map((x) => this.#norm(x, `${name}.norm`));
  }

  /** What tokens ask, and are found by, each turned by its own position; and what they hand on. */
  #project(xs, name, offset) {
    const { positions, rotary } = this.config;
    const project = (which) => xs.map((x) => linear(x, this.#part(`${name}.${which}`)));
    const turned = (all) => (positions === "rotary" ? all.map((x, i) => rotated(x, offset + i, this.head, rotary.base)) : all);
    return { queries: turned(project("W_q")), keys: turned(project("W_k")), values: project("W_v") };
  }

  /** One token looks at the first `count`; several heads of queries share one of keys and values. */
  #look(query, { keys, values }, count) {
    const { head: size, config } = this, scale = config.scale ?? 1 / Math.sqrt(size), output = new Float32Array(query.length);
    const sharing = config.num_heads / this.groups;
    for (let head = 0; head < config.num_heads; head++) {
      const own = head * size, shared = Math.floor(head / sharing) * size, scores = new Float64Array(count);
      for (let j = 0; j < count; j++) {
        let sum = 0;
        for (let c = 0; c < size; c++) sum += query[own + c] * keys[j][shared + c];
        scores[j] = sum * scale;
      }
      softmax(scores).forEach((weight, j) => {
        for (let c = 0; c < size; c++) output[own + c] += weight * values[j][shared + c];
      });
    }
    return output;
  }

  #think(x, name) {
    const inner = linear(x, this.#part(`${name}.W_1`));
    if (this.config.feed_forward === "relu") return linear(relu(inner), this.#part(`${name}.W_2`));
    const gate = silu(linear(x, this.#part(`${name}.W_gate`)));
    return linear(gate.map((value, i) => value * inner[i]), this.#part(`${name}.W_2`));
  }
}
