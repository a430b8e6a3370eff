/* Subwords: byte pair encoding (BPE) over bytes, and back. The rules of attention_book.text.bpe
   and of the library below it, letter by letter. Pieces are written to be read: a blank as ▁, and
   bytes that are no whole characters in hexadecimal, <E6 AC>. */
import { withoutBlanks } from "./tokens.mjs";

const SPACE = "\\p{White_Space}"; // not \s, which has U+FEFF and lacks U+0085
const OUTER = new RegExp(`^[${SPACE}\\x1c-\\x1f]+|[${SPACE}\\x1c-\\x1f]+$`, "gu"); // Python's strip
// Radford et al. (2019): joining stays within a run of letters, of digits or of other marks.
const RUNS = new RegExp(
  `'(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+|${SPACE}+(?![^${SPACE}])|${SPACE}+`, "gu");
const SPELLED_OUT = /^<([0-9A-F]{2}(?: [0-9A-F]{2})*)>$/;

/** The text as it is cut. */
export function apart(text, language, lowercase) {
  if (lowercase) text = text.toLowerCase();
  text = text.replace(/\p{Surrogate}/gu, "\ufffd").normalize("NFC").replace(OUTER, "");
  return language === "zh" ? withoutBlanks(text) : text;
}

/** What a model's file says of its pieces, made ready: `cut(text)` gives their numbers. */
export function cutter({ source, source_vocabulary: tokens, subwords: { lowercase, merges } }, first) {
  const key = (bytes) => String.fromCharCode(...bytes), numbers = new Map();
  const spelled = tokens.map((token, id) => (id < first ? "" : key(bytesOf(token))));
  spelled.forEach((bytes, id) => { if (id >= first) numbers.set(bytes, id); });
  const rules = new Map(); // of two pieces: when they are joined, and to what
  for (let i = 0; i < merges.length; i += 2) {
    const [left, right] = [merges[i], merges[i + 1]];
    rules.set(left * tokens.length + right, { turn: i, id: numbers.get(spelled[left] + spelled[right]) });
  }
  const rule = (left, right) => rules.get(left * tokens.length + right);
  return (text) => (apart(text, source, lowercase).match(RUNS) ?? []).flatMap((run) =>
    joinPairs(utf8(run).map((byte) => numbers.get(String.fromCharCode(byte))), rule));
}

/** Join the two neighbors whose turn comes first, the leftmost of them, until no rule is left. */
function joinPairs(ids, rule) {
  for (;;) {
    let best = null, place = -1;
    for (let i = 0; i + 1 < ids.length; i++) {
      const found = rule(ids[i], ids[i + 1]);
      if (found && (!best || found.turn < best.turn)) [best, place] = [found, i];
    }
    if (!best) return ids;
    ids.splice(place, 2, best.id);
  }
}

/** Join pieces to a text; what is no whole character (a model may say so) becomes U+FFFD. */
export const joined = (tokens) => characters(tokens.flatMap(bytesOf));

/** The bytes of a piece. */
export function bytesOf(token) {
  const found = SPELLED_OUT.exec(token);
  return found ? found[1].split(" ").map((byte) => parseInt(byte, 16)) : utf8(token.replaceAll("▁", " "));
}

/** Whether a piece is bytes that are no whole characters. */
export const isSpelledOut = (token) => SPELLED_OUT.test(token);

// By hand, for the book is drawn where there is no TextEncoder.
export function utf8(text) {
  return [...text].flatMap((letter) => {
    const code = letter.codePointAt(0), more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    if (!more) return [code];
    const rest = Array.from({ length: more }, (_, i) => 0x80 | ((code >> (6 * (more - 1 - i))) & 63));
    return [[0xc0, 0xe0, 0xf0][more - 1] | (code >> (6 * more)), ...rest];
  });
}

/* What may follow these first bytes; after all others any of the second kind. */
const SECOND = new Map([[0xe0, [0xa0, 0xbf]], [0xed, [0x80, 0x9f]], [0xf0, [0x90, 0xbf]], [0xf4, [0x80, 0x8f]]]);

/** The text of bytes; what is no whole character becomes U+FFFD. */
export function characters(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at++];
    const more = lead < 0x80 ? 0 : lead < 0xc2 ? -1 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : -1;
    let code = more > 0 ? lead & (0x3f >> more) : lead, missing = more;
    for (let [low, high] = SECOND.get(lead) ?? [0x80, 0xbf]; missing > 0; [low, high] = [0x80, 0xbf], missing--) {
      if (!(bytes[at] >= low && bytes[at] <= high)) break;
      code = (code << 6) | (bytes[at++] & 63);
    }
    text += missing === 0 ? String.fromCodePoint(code) : "\ufffd";
  }
  return text;
}
