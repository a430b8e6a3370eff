/* The figure's state: what an address may say, what follows from it, and where each key leads. Pure. */
import { oneOf } from "../page/address.mjs";
import { biggest, isLook, likely, meanRow, passing, stations, sublayer, tellingNumber } from "./passing.mjs";
import { LEVELS } from "./story.mjs";

/** In place of a number: what has most weight. */
export const AUTO = -1;
export const PARTS = ["score", "weight", "value"];

/** `at`: side and number of the station, "dec.6", or "" for the whole model; `level` 0–3: how close; `src`, `tgt`:
    the words that are followed; `pick`: what is chosen of a list; `c`, `v`: which number of a vector, of a value. */
export const begin = { text: "", word: 0, at: "", src: AUTO, tgt: AUTO, level: 0, head: 0, pick: AUTO, part: "weight", c: AUTO, v: 0 };
const whole = (least, most) => (text) => (/^-?\d{1,4}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined);
export const address = {
  text: (text) => (text.trim() ? text.slice(0, 300) : undefined), word: whole(0, 150), at: (text) => (/^(enc|dec)\.\d\d?$/.test(text) ? text : undefined),
  src: whole(AUTO, 150), tgt: whole(AUTO, 150), level: whole(0, 3), head: whole(0, 31), pick: whole(AUTO, 9999), part: oneOf(PARTS), c: whole(AUTO, 1023), v: whole(0, 255),
};
export const KEYS = Object.keys(address);

/** The state as it can be shown, whoever wrote it; and what follows from it. */
export function viewOf(state, found, width) {
  const within = (value, most, otherwise) => (Number.isInteger(value) && value >= 0 && value <= most ? value : otherwise);
  const word = within(state.word, found.input.length - 1, 0), tgt = within(state.tgt, word, word), src = within(state.src, found.source.length - 1, biggest(meanRow(found.dec.layers.at(-1).cross, tgt)));
  const [side, n] = state.at.split("."), station = (side ? stations(found, side) : [])[Number(n)] ?? null;
  const here = side === "enc" ? src : tgt, head = within(state.head, found.heads - 1, 0), level = station ? within(state.level, LEVELS[station.kind].length - 1, 0) : 0;
  const view = { found, width, word, tgt, src, station, level, here, head, c: within(state.c, found.size - 1, bestNumber(found, station, here)), v: within(state.v, found.headSize - 1, 0), part: PARTS.includes(state.part) ? state.part : "weight" };
  return { ...view, pick: within(state.pick, lastPick(view), bestPick(view)) };
}

/** The number of a vector that is followed at first. */
function bestNumber(found, station, here) {
  if (!station) return 0;
  return station.layer === undefined ? biggest(passing(found, station, here).after.map(Math.abs)) : tellingNumber(found, station, here);
}

export const deepest = ({ station, level }) => !station || level === LEVELS[station.kind].length - 1;

function lastPick({ station, found, here }) {
  if (!station) return 0;
  if (isLook(station.kind)) return sublayer(found, station).weights[0][here].length - 1;
  return station.kind === "ff" ? sublayer(found, station).units[here].length - 1 : station.kind === "out" ? likely(found, here).length - 1 : 0;
}

function bestPick({ station, found, here, head }) {
  if (!station) return 0;
  if (isLook(station.kind)) return biggest(sublayer(found, station).weights[head][here]);
  return station.kind === "ff" ? biggest(sublayer(found, station).units[here]) : 0;
}

/** What is looked at now: one weight for each word of one of the two lines, or nothing. */
export function lookedAt({ found, station, level, head, here, tgt }) {
  if (!station) return { side: "enc", row: meanRow(found.dec.layers.at(-1).cross, tgt) };
  if (!isLook(station.kind)) return null;
  const look = sublayer(found, station);
  return { side: station.side === "enc" || station.kind === "cross" ? "enc" : "dec", row: level >= 2 ? look.weights[head][here] : meanRow(look, here) };
}

/* ---- what a key or a button changes; null where it leads nowhere ---- */

/** One step along the way: overview, the source word through the encoder, the decoder; then the next word. */
export function along({ found, station, word, tgt, level }, by) {
  const encoder = stations(found, "enc"), decoder = stations(found, "dec");
  const go = (list, n, more = {}) => ({ at: `${list[n].side}.${n}`, level: Math.min(level, LEVELS[list[n].kind].length - 1), pick: AUTO, ...more });
  if (!station) return by > 0 ? go(encoder, 0) : null;
  const n = station.n + by;
  if (station.side === "enc") return n < 0 ? { at: "", level: 0 } : n < encoder.length ? go(encoder, n) : go(decoder, 0);
  if (n < 0) return go(encoder, encoder.length - 1);
  if (n < decoder.length) return go(decoder, n);
  if (tgt < word) return go(decoder, 0, { tgt: tgt + 1 === word ? AUTO : tgt + 1 });
  return word < found.input.length - 1 ? go(decoder, 0, { word: word + 1, tgt: AUTO, src: AUTO }) : null;
}

/** Closer: into what is chosen; from the whole model to where the decoder looks at the source for the last time. */
export function closer({ found, station, level, ...view }) {
  if (!station) return { at: `dec.${stations(found, "dec").findLast(({ kind }) => kind === "cross").n}`, level: 1 };
  return deepest({ ...view, station, level }) ? null : { level: level + 1, pick: AUTO };
}

export function out({ station, level, pick }) {
  if (!station) return null;
  return level ? { level: level - 1, pick: level === 3 ? pick : AUTO } : { at: "", pick: AUTO };
}

export function write({ found, word }, by) {
  const next = Math.max(0, Math.min(found.input.length - 1, word + by));
  return next === word ? null : { word: next, tgt: AUTO, src: AUTO, pick: AUTO };
}

/** A word of one of the two lines. */
export function choose({ found, station, level, word }, side, i) {
  const token = side === "enc" ? { src: i } : { tgt: i === word ? AUTO : i };
  if (!station) return { ...token, ...(side === "dec" ? { src: AUTO } : {}) };
  if (side === "enc" && station.kind === "cross" && level >= 2) return { pick: i };
  if (station.side === side) return { ...token, pick: AUTO };
  const list = stations(found, side), same = list.find((each) => each.kind === station.kind && each.layer === station.layer) ?? list[0];
  return { ...token, at: `${side}.${same.n}`, level: Math.min(level, LEVELS[same.kind].length - 1), pick: AUTO };
}

/** ↑ and ↓: the next word, head, row, unit or number: what this level lists. */
export function listed(view, by) {
  const { station, level, pick, head, found, src, tgt, word } = view, kind = station ? LEVELS[station.kind][level] : "model";
  const turn = (value, count) => (value + by + count) % count;
  if (kind === "layer" && isLook(station.kind)) return { head: turn(head, found.heads) };
  if (["head", "units", "words", "number"].includes(kind)) return { pick: turn(pick, lastPick(view) + 1) };
  if (kind === "strips" || kind === "layer") return { c: turn(view.c, found.size) };
  if (station?.side === "enc") return { src: turn(src, found.source.length) };
  const next = turn(tgt, word + 1);
  return { tgt: next === word ? AUTO : next, src: AUTO };
}

/** A digit: that head. */
export const digit = ({ found, station, level }, n) =>
  (n >= 1 && n <= found.heads && station && isLook(station.kind) ? { head: n - 1, pick: AUTO, level: Math.max(1, level) } : null);
