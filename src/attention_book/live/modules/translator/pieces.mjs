/* Subwords as a reader can take them: parts of words, without the marks of the method. A blank in
   front of a piece, ▁, is no part of what is shown: a piece without it stands close to the one before. */
import { written } from "../engine/tokens.mjs";
import { joined } from "../engine/subwords.mjs";

const BLANKS = /^[▁\p{White_Space}]+|[▁\p{White_Space}]+$/gu;
const SPECIAL = /^<(?:pad|unk|bos|eos)>$/, LETTER = /[\p{L}\p{N}]/u;

/** What a piece shows; one that is nothing but a blank shows that. */
const shown = (token) => token.replace(BLANKS, "") || "␣";

/** Whether a piece stands close to the one before it. */
const clings = (token, before) => before !== undefined && !SPECIAL.test(token) && !SPECIAL.test(before)
  && !/^[▁\p{White_Space}]/u.test(token) && !/[▁\p{White_Space}]$/u.test(before);

/** Whether two pieces are parts of one word. */
const together = (before, after) => clings(after, before) && LETTER.test([...before].at(-1)) && LETTER.test([...after][0]);

/** Tokens for a line in which they stand side by side: [{ text, clings }]. */
export const inLine = (tokens, subwords) => tokens.map((token, i) =>
  subwords ? { text: shown(token), clings: clings(token, tokens[i - 1]) } : { text: token, clings: false });

/** Tokens for a place of their own: a hyphen stands where a word is cut, un- -t- -alent- -ed. */
export const alone = (tokens, subwords) => (!subwords ? tokens : tokens.map((token, i) =>
  (i && together(tokens[i - 1], token) ? "-" : "") + shown(token)
  + (i + 1 < tokens.length && together(token, tokens[i + 1]) ? "-" : "")));

/** A model's tokens as a text: `example` says which kind they are. */
export const textOf = (tokens, language, { subwords, capitals }) =>
  (subwords ? joined(tokens) : written(tokens, language, capitals));

/** A sentence that an example proposes: words with blanks between them, or a text. */
export const proposed = (sentence, { subwords, source, capitals }) =>
  (subwords ? sentence : written(sentence.split(" "), source, capitals));
