/* What a reader has answered: in this browser alone, under one key, and in a file if the reader wants one.
   { version, cards: { id: { s, d, last, reps } }, log: [[id, day, grade, item]], lines: { page: [text, time] }, settings } */
import { asked, interval, remembered } from "./fsrs.mjs";

export const KEY = "attention-book-questions";
const VERSION = 1, MOST = 20_000, LONGEST = 400, BIGGEST = 4_000_000;
const NAME = /^[a-z][a-z0-9-]{1,79}$/;
/** What can be set, and to what; the first is usual. Retention: how much of what comes back shall be remembered. */
export const SETTINGS = { mode: ["veil", "open", "off"], retention: [0.85, 0.8, 0.9, 0.95] };
const TROUBLES = {
  forbidden: ["这个浏览器不许本书保存东西：答过的题只记到这一页关掉为止。到“今日回顾”存成文件，就不会丢。",
    "This browser does not let the book keep anything: what you answer is forgotten when you close this page. Save it as a file under “Today's questions”."],
  full: ["浏览器的存储满了：刚答的题没能存下，只记到这一页关掉为止。到“今日回顾”存成文件，就不会丢。",
    "The browser's storage is full: what you answer now is forgotten when you close this page. Save it as a file under “Today's questions”."],
  unreadable: ["浏览器里存着的进度读不出来。它原样留着；现在答的题只记到这一页关掉为止。要重新开始，到“今日回顾”选“全部删掉”。",
    "The progress in this browser cannot be read. It is left as it is, and what you answer now is forgotten when you close this page. To start afresh, choose “Delete all” under “Today's questions”."],
};

/** The number of a day; a day ends at four in the morning, when readers do. */
export const dayOf = (date = new Date()) =>
  Math.floor((date.getTime() - date.getTimezoneOffset() * 60_000 - 4 * 3_600_000) / 86_400_000);

const named = (entries = []) => Object.assign(Object.create(null), Object.fromEntries(entries)); // "constructor" is no card
const usual = () => Object.fromEntries(Object.entries(SETTINGS).map(([name, values]) => [name, values[0]]));
const empty = () => ({ version: VERSION, cards: named(), log: [], lines: named(), settings: usual() });
const listeners = [];
let state = null, problem = null, unsaved = false;

/** All there is; read once, and again when another tab has written. */
export const progress = () => (state ??= read() ?? empty());

/** Why nothing can be kept, in both languages; null if all is well. */
export function trouble() {
  progress();
  return TROUBLES[problem] ?? null;
}

export const onChange = (listener) => { listeners.push(listener); };

/** Note an answer, and which item it was. Only a day's first answer counts: what follows is practice. */
export function note(id, grade, item = null, day = dayOf()) {
  const now = latest(), card = now.cards[id];
  if (card && day <= card.last) return;
  now.cards[id] = { ...asked(card, grade, day), reps: (card?.reps ?? 0) + 1 };
  now.log = inOrder([...now.log, [id, day, grade, item]]);
  write(now);
}

/** Keep the reader's own line of a chapter. */
export function keepLine(page, text, time = Date.now()) {
  const now = latest();
  now.lines[page] = [text.slice(0, LONGEST), time];
  write(now);
}

export const lineOf = (page) => progress().lines[page]?.[0] ?? "";

export function set(name, value) {
  if (!SETTINGS[name].includes(value)) return;
  const now = latest();
  now.settings[name] = value;
  write(now);
}

export function forgetAll() {
  problem = null;
  write(empty());
}

// ---- what is due --------------------------------------------------------------------------------

/** The day on which a card is due: as soon as no more of it is remembered than was asked for. */
export const dueDay = (card) => card.last + interval(card.s, progress().settings.retention);

/** Whether a question was answered before and is to be answered today. */
export function isDue(id, day = dayOf()) {
  const card = progress().cards[id];
  return Boolean(card) && dueDay(card) <= day;
}

/** What is due, the most overdue first. `pageOf`: question → page. */
export function due(pageOf, day = dayOf()) {
  const { cards } = progress();
  return Object.keys(pageOf).filter((id) => isDue(id, day))
    .sort((a, b) => dueDay(cards[a]) - dueDay(cards[b]) || cards[a].s - cards[b].s);
}

/** Of what is due elsewhere, what this reader is least likely to remember. */
export function shakiest(pageOf, here, day = dayOf()) {
  const { cards } = progress(), chance = (id) => remembered(cards[id], day);
  return Object.keys(pageOf).filter((id) => pageOf[id] !== here && isDue(id, day)).sort((a, b) => chance(a) - chance(b))[0];
}

/** The same questions, never two of one page in a row where it can be helped: each time the first that is left of another
    page; but a page with more than half of what is left comes now, or its questions would stand together at the end. */
export function mixed(ids, pageOf) {
  const left = [...ids], found = [];
  while (left.length) {
    const before = pageOf[found.at(-1)], counts = new Map();
    for (const id of left) counts.set(pageOf[id], (counts.get(pageOf[id]) ?? 0) + 1);
    const crowd = [...counts].find(([page, count]) => page !== before && 2 * count > left.length)?.[0];
    const next = left.findIndex((id) => (crowd ? pageOf[id] === crowd : pageOf[id] !== before));
    found.push(...left.splice(Math.max(next, 0), 1));
  }
  return found;
}

// ---- a file -------------------------------------------------------------------------------------

export const asFile = () => JSON.stringify({ "attention-book": "progress", ...progress() }, null, 1);

/** Take in a file; returns how many questions it knows. What is no such file changes nothing, and is an error. */
export function fromFile(text) {
  const found = checked(parsed(text));
  if (!found) throw new Error("not a progress file");
  write(merged(latest(), found));
  return Object.keys(found.cards).length;
}

/** Both: of each card and each line the later one, of the logs all there is; the settings are the first's. */
export function merged(a, b) {
  const both = (name, newer) => named([...Object.entries(a[name]), ...Object.entries(b[name])
    .filter(([key, value]) => !Object.hasOwn(a[name], key) || newer(value, a[name][key]))]);
  return { version: VERSION, cards: both("cards", isNewer), log: inOrder([...a.log, ...b.log]),
    lines: both("lines", (one, other) => after([one[1], one[0]], [other[1], other[0]])), settings: a.settings };
}

/** Which of two is kept must not depend on which of them was read first, not even if both are of one day. */
const isNewer = (one, other) =>
  after([one.last, one.reps, -one.s, -one.d], [other.last, other.reps, -other.s, -other.d]);

function after(one, other) {
  const at = one.findIndex((each, i) => each !== other[i]);
  return at >= 0 && one[at] > other[at];
}

/** By days, each answer once; the oldest are given up when there are too many. */
function inOrder(log) {
  const once = [...new Map(log.map((each) => [JSON.stringify(each), each]))];
  return once.sort(([a, x], [b, y]) => x[1] - y[1] || (a < b ? -1 : 1)).map(([, each]) => each).slice(-MOST);
}

function parsed(text) {
  try {
    return typeof text === "string" && text.length < BIGGEST ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** Whoever wrote it: only what has the right form comes in. */
function checked(found) {
  if (found?.version !== VERSION || !isTable(found.cards)) return null;
  const clean = empty(), lastDay = dayOf() + 1; // a traveller's tomorrow
  const number = (x, least, most) => typeof x === "number" && x >= least && x <= most;
  const whole = (x, least, most) => Number.isInteger(x) && x >= least && x <= most;
  const entries = (table) => (isTable(table) ? Object.entries(table).filter(([name]) => NAME.test(name)) : []);
  for (const [id, card] of entries(found.cards)) {
    if (!number(card?.s, 0.001, 1e6) || !number(card.d, 1, 10) || !whole(card.last, 0, lastDay)) continue;
    clean.cards[id] = { s: card.s, d: card.d, last: card.last, reps: whole(card.reps, 1, 1e5) ? card.reps : 1 };
  }
  if (Array.isArray(found.log)) {
    clean.log = inOrder(found.log.filter((each) => Array.isArray(each) && typeof each[0] === "string" && NAME.test(each[0]) &&
      whole(each[1], 0, lastDay) && whole(each[2], 1, 4))
      .map(([id, day, grade, item]) => [id, day, grade, whole(item, 0, 99) ? item : null]));
  }
  for (const [page, line] of entries(found.lines)) {
    if (Array.isArray(line) && typeof line[0] === "string" && number(line[1], 0, 1e14)) clean.lines[page] = [line[0].slice(0, LONGEST), line[1]];
  }
  for (const [name, values] of Object.entries(SETTINGS)) {
    if (values.includes(found.settings?.[name])) clean.settings[name] = found.settings[name];
  }
  return clean;
}

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// ---- the browser --------------------------------------------------------------------------------

/** What is stored; null if nothing is, if it cannot be read, or if nothing may be. */
function read() {
  try {
    const text = localStorage.getItem(KEY);
    const found = checked(parsed(text));
    if (text !== null && !found) problem = "unreadable";
    else if (problem === "unreadable") problem = null;
    return found;
  } catch {
    problem = "forbidden";
    return null;
  }
}

/** Another tab may have written since: its answers are kept, and so are ours that could not be stored. */
function latest() {
  const mine = progress(), there = read();
  if (!there) return mine;
  return (state = unsaved ? merged(mine, there) : there);
}

function write(next) {
  state = next;
  unsaved = true;
  if (problem !== "unreadable") {
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
      problem = null;
      unsaved = false;
    } catch (error) {
      problem = error?.name === "QuotaExceededError" ? "full" : "forbidden";
    }
  }
  listeners.forEach((listener) => listener());
}

globalThis.addEventListener?.("storage", (event) => {
  if (event.key !== KEY && event.key !== null) return; // null: all was cleared
  state = unsaved ? latest() : null;
  listeners.forEach((listener) => listener());
});
