/* A language model goes on with a text: what may follow, token by token, and what is drawn. */
import { Decoder } from "./decoder.mjs";
import { distribution, drawn, nextLogProbs } from "./sampling.mjs";
import { apart, cutter, joined } from "./subwords.mjs";
import { Refused } from "./weights.mjs";
import { BOS, EOS, PAD, SPECIALS, UNK } from "./model.mjs";

const MOST_CHARACTERS = 5000;
const MOST_TOKENS = 1000; // of a text, prompt included

/** A model's file made ready: how a text is cut, and put together again. */
export function preparedToWrite(file) {
  const { vocabulary, subwords, lowercase } = file, numbers = new Map(vocabulary.map((token, id) => [token, id]));
  const ofCharacters = (text) => [...apart(text, "", lowercase)].map((letter) => numbers.get(letter) ?? UNK);
  const cut = subwords ? cutter({ source: "", source_vocabulary: vocabulary, subwords }, SPECIALS) : ofCharacters;
  const named = (ids) => ids.filter((id) => id === UNK || id >= SPECIALS).map((id) => (id === UNK ? "\ufffd" : vocabulary[id]));
  return {
    ...file, cut, decoder: new Decoder(file), kept: null,
    textOf: (ids) => (subwords ? joined(named(ids)) : named(ids).join("")),
  };
}

/** The tokens of a text, and of what was written behind it. */
function read(file, text, after) {
  if (text.length > MOST_CHARACTERS) throw new Refused("characters", { found: text.length, most: MOST_CHARACTERS });
  const ids = file.cut(text), { config } = file;
  if (!ids.length) throw new Refused("empty");
  if (ids.includes(UNK)) {
    const letters = [...apart(text, "", file.lowercase)].filter((_, i) => ids[i] === UNK);
    throw new Refused("unknown", { characters: [...new Set(letters)] });
  }
  const most = config.positions === "learned" ? Math.min(MOST_TOKENS, config.max_positions) : MOST_TOKENS;
  const found = 1 + ids.length + after.length;
  if (found > most) throw new Refused("tokens", { found, most });
  return { ids, most };
}

/** The logits behind some tokens; where the text before has been read, only what is new is read. */
function* logitsAfter(file, ids) {
  const { decoder } = file, goesOn = file.kept && file.kept.ids.every((id, i) => ids[i] === id);
  let { ids: known, state, logits } = goesOn ? file.kept : { ids: [], state: decoder.start(), logits: null };
  for (let at = known.length; at < ids.length; at += PIECE) {
    ({ logits, state } = decoder.read(ids.slice(at, at + PIECE), state));
    yield;
  }
  file.kept = { ids: [...ids], state, logits };
  return logits;
}
const PIECE = 16; // tokens read between two pauses

/** What may follow: probabilities of the model, and what a token is drawn with. */
function guessed(file, logits, before, { count = 10, ...how }) {
  const logProbs = nextLogProbs(logits, [PAD, BOS]), shares = distribution(logProbs, how);
  const order = [...logProbs.keys()].sort((a, b) => logProbs[b] - logProbs[a] || a - b).slice(0, count);
  const entropy = -logProbs.reduce((sum, value) => (value === -Infinity ? sum : sum + Math.exp(value) * value), 0);
  const choices = order.filter((id) => logProbs[id] > -Infinity).map((id) => choice(file, id, before, logProbs, shares));
  return { logProbs, shares, shown: { choices, kept: shares.filter((share) => share > 0).length, entropy } };
}

function choice(file, id, before, logProbs, shares) {
  const text = id === EOS ? "" : file.textOf([id]);
  const begun = file.subwords && /^[\p{L}\p{N}]/u.test(text) ? /[\p{L}\p{N}]*$/u.exec(before)[0] : "";
  return { id, text, start: begun, end: id === EOS, probability: Math.exp(logProbs[id]), share: shares[id] };
}

/** What tokens add to a text, a blank before a word included. */
const addedBy = (file, ids, after) => file.textOf([...ids, ...after]).slice(file.textOf(ids).length);

/** What follows a text, and what was written behind it: see serve.mjs. */
export function* guess(file, text, { after = [], ...how } = {}) {
  const { ids } = read(file, text, after), whole = [...ids, ...after];
  const logits = yield* logitsAfter(file, [BOS, ...whole]);
  const { shown } = guessed(file, logits, file.textOf(whole), how);
  return { ids: whole, tokens: ids.map((id) => file.vocabulary[id]), added: addedBy(file, ids, after), ...shown };
}

/** Write on: yields each token with what follows it, returns all. */
export function* write(file, text, { after = [], draws = [], most = file.context, ...how } = {}) {
  const { ids, most: longest } = read(file, text, after), written = [...after], milliseconds = [];
  const whole = () => [...ids, ...written], full = () => 1 + whole().length > longest; // what was read, <bos> included
  const look = function* () { return guessed(file, yield* logitsAfter(file, [BOS, ...whole()]), file.textOf(whole()), how); };
  let now = yield* look(), ended = false;
  while (!ended && !full() && milliseconds.length < most) {
    const began = performance.now(), draw = draws[milliseconds.length] ?? Math.random();
    const id = drawn(now.shares, draw), { text: said, probability, share } = choice(file, id, "", now.logProbs, now.shares);
    ended = id === EOS;
    if (!ended) written.push(id);
    now = ended || full() ? null : yield* look();
    milliseconds.push(performance.now() - began);
    // A character of which some bytes are missing waits for them.
    const added = addedBy(file, ids, written).replace(/\ufffd+$/u, "");
    yield { id, text: said, probability, share, draw, ended, added, guess: now && { ids: whole(), ...now.shown } };
  }
  return { ids: written, added: addedBy(file, ids, written), ended, milliseconds };
}
