/* Subwords as a reader can take them: parts of words, without the marks of the method. A blank in
   front of a piece, ▁, is no part of what is shown: a piece without it stands close to the one before.
   A character that is cut into bytes stands in each of its pieces with a mark: 低(1/3). */
import { written } from "../engine/tokens.mjs";
import { bytesOf, characters, isSpelledOut, joined, utf8 } from "../engine/subwords.mjs";

const BLANKS = /^[▁\p{White_Space}]+|[▁\p{White_Space}]+$/gu;
const SPECIAL = /^<(?:pad|unk|bos|eos)>$/, LETTER = /[\p{L}\p{N}]/u;

/** What a piece shows; one that is nothing but a blank shows that. */
const shown = (token) => token.replace(BLANKS, "") || "␣";

/** Whether a piece stands close to the one before it. */
const clings = (token, before) => before !== undefined && !SPECIAL.test(token) && !SPECIAL.test(before)
  && !/^[▁\p{White_Space}]/u.test(token) && !/[▁\p{White_Space}]$/u.test(before);

/** Whether two pieces are parts of one word. */
const together = (before, after) => clings(after, before) && LETTER.test([...before].at(-1)) && LETTER.test([...after][0]);

/** Pieces with what they show of a character that is cut into bytes; all others as they are. */
function whole(tokens) {
  const found = [...tokens];
  for (let start = 0; start < tokens.length; start++) {
    if (!isSpelledOut(tokens[start])) continue;
    let end = start;
    while (end < tokens.length && isSpelledOut(tokens[end])) end++;
    const bytes = tokens.slice(start, end).flatMap((token, i) => bytesOf(token).map((byte) => ({ byte, place: start + i })));
    const texts = new Map(), loose = new Set();
    for (let at = 0; at < bytes.length;) {
      const [letter] = characters(bytes.slice(at, at + 4).map(({ byte }) => byte)), length = utf8(letter).length;
      const is = letter !== "\ufffd" || String(bytes.slice(at, at + 3).map(({ byte }) => byte)) === "239,191,189";
      const places = [...new Set(bytes.slice(at, at + (is ? length : 1)).map(({ place }) => place))];
      places.forEach((place, k) => (is
        ? texts.set(place, (texts.get(place) ?? "") + letter + (places.length > 1 ? `(${k + 1}/${places.length})` : "")) : loose.add(place)));
      at += is ? length : 1;
    }
    for (const [place, text] of texts) if (!loose.has(place)) found[place] = text;
    start = end - 1;
  }
  return found;
}

/** Tokens for a line in which they stand side by side: [{ text, clings }]. */
export const inLine = (tokens, subwords) => (subwords
  ? whole(tokens).map((text, i) => ({ text: shown(text), clings: clings(tokens[i], tokens[i - 1]) }))
  : tokens.map((text) => ({ text, clings: false })));

/** Tokens for a place of their own: a hyphen stands where a word is cut, un- -t- -alent- -ed, and of two
    that would look alike the one with a blank shows it. */
export function alone(tokens, subwords) {
  if (!subwords) return tokens;
  const labels = whole(tokens).map((text, i) =>
    (i && together(tokens[i - 1], tokens[i]) ? "-" : "") + shown(text)
    + (i + 1 < tokens.length && together(tokens[i], tokens[i + 1]) ? "-" : ""));
  return labels.map((label, i) => {
    const doubtful = /^▁./u.test(tokens[i]) && labels.some((other, j) => other === label && tokens[j] !== tokens[i]);
    return doubtful ? `␣${label}` : label;
  });
}

/** A model's tokens as a text: `example` says which kind they are. */
export const textOf = (tokens, language, { subwords, capitals }) =>
  (subwords ? joined(tokens) : written(tokens, language, capitals));

/** A sentence that an example proposes: words with blanks between them, or a text. */
export const proposed = (sentence, { subwords, source, capitals }) =>
  (subwords ? sentence : written(sentence.split(" "), source, capitals));
