/* Two layers of attention without a feed-forward network, and the words that a reader writes. */
import { add, attend, layerNorm, linear, softmax } from "../../engine/kernels.mjs";
import { tokenize } from "../../engine/tokens.mjs";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const opened = new WeakMap();

/** The weights by name, from whole numbers with one scale a row (attention_book.live.viewer.induction). */
export function weightsOf(data) {
  if (!opened.has(data)) opened.set(data, unpacked(data));
  return opened.get(data);
}

function unpacked({ names, scales, codes }) {
  const found = {}, whole = decoded(codes);
  let row = 0, at = 0;
  for (const [name, rows, columns] of names) {
    found[name] = Float32Array.from({ length: rows * columns }, (_, i) => whole[at + i] * scales[row + Math.floor(i / columns)]);
    [row, at] = [row + rows, at + rows * columns];
  }
  return found;
}

/** Base64, by hand: the engine that draws the book's pages has no atob. */
function decoded(text) {
  const whole = new Int8Array(Math.floor((text.replace(/=+$/, "").length * 3) / 4));
  for (let i = 0, at = 0; i < text.length; i += 4) {
    const [a, b, c, d] = [0, 1, 2, 3].map((k) => LETTERS.indexOf(text[i + k]));
    whole[at++] = (a << 2) | (b >> 4);
    if (c >= 0) whole[at++] = (b << 4) | (c >> 2);
    if (d >= 0) whole[at++] = (c << 6) | d;
  }
  return whole;
}

/** Neighboring features of a vector, turned by an angle that grows with its place. */
const turned = (x, place) => x.map((value, c) => {
  const first = c - (c % 2), angle = place * 10000 ** (-first / x.length), other = x[c % 2 ? first : c + 1];
  return c % 2 ? other * Math.sin(angle) + value * Math.cos(angle) : value * Math.cos(angle) - other * Math.sin(angle);
});

/** Read tokens: the weights of both layers, [layer][query][key], and the scores of every next token. With `cut`,
    no query of layer 1 may see the word before it. */
export function read(weights, tokens, cut = false) {
  const part = (name) => ({ weight: weights[`${name}.weight`], bias: weights[`${name}.bias`] });
  const size = weights["norm.weight"].length;
  let stream = tokens.map((token) => weights["embedding.weight"].subarray(token * size, (token + 1) * size));
  const layers = [0, 1].map((layer) => {
    const of = (name) => part(`layers.${layer}.attention.${name}`);
    const normed = stream.map((x) => layerNorm(x, part(`layers.${layer}.add_norm.norm`)));
    const keys = normed.map((x, place) => turned(linear(x, of("W_k")), place)), values = normed.map((x) => linear(x, of("W_v")));
    const seen = normed.map((x, place) => attend(turned(linear(x, of("W_q")), place), { keys, values }, {
      count: place + 1, numHeads: 1, scale: size ** -0.5, hidden: cut && layer === 0 ? (key) => key === place - 1 : undefined }));
    stream = stream.map((x, place) => add(x, linear(seen[place].output, of("W_o"))));
    return seen.map((each) => Array.from(each.weights[0]));
  });
  return { layers, logits: stream.map((x) => linear(layerNorm(x, part("norm")), part("readout"))) };
}

/** The words of a text, as many as the model can read, each new one with the next number; and what is wrong. */
export function wordsOf(text, { longest, names }) {
  const numbers = new Map(), [, kinds] = names.find(([name]) => name === "embedding.weight");
  const words = [], tokens = [];
  for (const word of tokenize(text, "zh")) {
    if (words.length === longest) return { words, tokens, problem: "long" };
    if (!numbers.has(word) && numbers.size === kinds) return { words, tokens, problem: "many" };
    if (!numbers.has(word)) numbers.set(word, numbers.size);
    words.push(word);
    tokens.push(numbers.get(word));
  }
  return { words, tokens, problem: words.length ? "" : "none" };
}

/** All that the figure shows. `at`: which word asks, counted from 1; 0 is the last. */
export function compute({ data, text, at, cut }) {
  const { words, tokens, problem } = wordsOf(text, data);
  if (!words.length) return { words, problem };
  const asks = (at && at <= words.length ? at : words.length) - 1;
  const { layers, logits } = read(weightsOf(data), tokens, cut === "1");
  const chances = softmax(Array.from(logits[asks])), kinds = [...new Set(tokens)];
  const guesses = kinds.map((token) => ({ word: words[tokens.indexOf(token)], chance: chances[token] })).sort((a, b) => b.chance - a.chance);
  const after = tokens.flatMap((_, key) => (key && key <= asks && tokens[key - 1] === tokens[asks] ? [key] : []));
  return { words, problem, asks, after, guesses, before: words.map((_, place) => (place ? layers[0][place][place - 1] : 0)),
    layers, looks: layers[1][asks], share: after.reduce((sum, key) => sum + layers[1][asks][key], 0) };
}
