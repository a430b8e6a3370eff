/* Serving: twenty readers, one machine. Who waits, whose prompt is read, who gets words, as bars in time. */
import { oneOf } from "../../page/address.mjs";
import { figure } from "../../page/figure.mjs";
import { label, number, svg } from "../../page/words.mjs";

/** Milliseconds of a step: for the weights, for each token computed, for each token read from a cache. */
export const TIMES = { weights: 5, token: 1 / 60, cached: 131072 / 3e9 };
/** Each reader: how long after the one before at load 1, in means; tokens of the prompt; words. */
export const READERS = [
  [0.3, 1810, 35], [0.32, 600, 49], [1.5, 1070, 42], [0.9, 460, 27], [2.1, 1930, 27], [1.6, 1050, 28], [0.35, 630, 44],
  [0.75, 1210, 15], [1.3, 750, 27], [1.2, 1110, 21], [0.07, 630, 30], [0.06, 970, 39], [0.18, 1290, 27], [0.04, 1980, 48],
  [0.13, 1050, 21], [1.7, 1170, 26], [0.01, 960, 37], [2.67, 760, 54], [0.12, 350, 30], [4.7, 420, 20],
];
const LOADS = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2], PLACES = [1, 4, 16], WHOLE = 0, CHUNKS = [WHOLE, 512, 128];

const begin = { load: 0.7, batching: "continuous", places: 4, chunk: WHOLE };
const address = { load: oneOf(LOADS), batching: oneOf(["static", "continuous"]), places: oneOf(PLACES), chunk: oneOf(CHUNKS) };

/** Serve step by step, as attention_book.decoding.serve does. Arrivals in milliseconds. */
export function serve(requests, { batching, places, chunk }) {
  const readers = requests.map((request) => ({ ...request, cached: 0, begin: Infinity, words: [] }));
  const coming = [...readers], waiting = [], steps = [];
  let batch = [], now = 0;
  while (coming.length || waiting.length || batch.length) {
    if (!waiting.length && !batch.length) now = Math.max(now, coming[0].arrival);
    while (coming.length && coming[0].arrival <= now) waiting.push(coming.shift());
    if (batching === "continuous" || !batch.length)
      while (waiting.length && batch.length < places) batch.push(waiting.shift());
    let room = chunk || Infinity, tokens = 0, cached = 0;
    const ended = [];
    for (const reader of batch) {
      const left = reader.prompt + reader.words.length - reader.cached, writes = left === 1 && reader.words.length > 0;
      const computed = writes ? 1 : Math.min(room, left);
      if (!writes) room -= computed;
      if (!computed) continue;
      reader.begin = Math.min(reader.begin, now);
      tokens += computed;
      cached += reader.cached;
      reader.cached += computed;
      if (computed === left) ended.push(reader);
    }
    const time = TIMES.weights + TIMES.token * tokens + TIMES.cached * cached;
    steps.push({ begin: now, time, tokens, cached, batch: batch.length });
    now += time;
    for (const reader of ended) reader.words.push(now);
    batch = batch.filter((reader) => reader.words.length < reader.count);
  }
  return { readers: readers.map(({ arrival, begin: first, words }) => ({ arrival, begin: first, words })), steps, end: now };
}

/** The readers with so many milliseconds between two of them, on average. */
function requests(apart) {
  let arrival = 0;
  return READERS.map(([gap, prompt, count]) => ({ arrival: arrival += apart * gap, prompt, count }));
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
};
const gapsOf = ({ words }) => words.slice(1).map((time, i) => time - words[i]);

export function compute(state) {
  // Load 1: as many readers a second as continuous batching serves with four places when all wait.
  const apart = serve(requests(0), begin).end / READERS.length / state.load;
  const given = requests(apart), found = serve(given, state);
  const ends = ["static", "continuous"].map((batching) => serve(given, { ...state, batching }).end);
  const firsts = found.readers.map(({ arrival, words }) => words[0] - arrival);
  return {
    apart, ...found, firsts, span: Math.max(...ends), first: median(firsts), lastFirst: Math.max(...firsts),
    gap: Math.max(...found.readers.flatMap(gapsOf)), words: 1000 * READERS.reduce((sum, [, , count]) => sum + count, 0) / found.end,
  };
}

const ROW = 12, TOP = 34, LEFT = 24, SLOW = 12; // a gap of more milliseconds is drawn as a standstill
const bottom = TOP + ROW * READERS.length, HEIGHT = bottom + 40;

/** Stretches of the words, in time: even ones, and those in which the reader waited for the next. */
function stretches({ words }) {
  const found = [];
  words.slice(1).forEach((end, i) => {
    const still = end - words[i] > SLOW, before = found.at(-1);
    if (before && before.still === still) before.end = end;
    else found.push({ begin: words[i], end, still });
  });
  return found;
}

function draw({ numbers: { readers, span }, width }) {
  const x = (time) => LEFT + (width - LEFT - 8) * time / span;
  const tick = [50, 100, 200, 500, 1000, 2000, 5000, 10000].find((each) => x(each) - x(0) > 52) ?? 20000;
  const ticks = Array.from({ length: Math.floor(span / tick) + 1 }, (_, i) => i * tick);
  const part = (name, y, from, to) => svg("rect", { ...name, x: x(from), y: y + 1.5, width: Math.max(1, x(to) - x(from)), height: ROW - 3 });
  const legend = [[{ class: "live-surface" }, ["等", "waits"]], [{ class: "live-fill-warm" }, ["读提示词", "prompt"]],
    [{ class: "live-fill" }, ["写", "words"]], [{ class: "live-bar" }, ["停顿", "standstill"]]];
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT },
    legend.map(([name, text], i) => [
      svg("rect", { ...name, x: LEFT + i * 78, y: 9, width: 12, height: 9 }),
      label(text, { x: LEFT + i * 78 + 16, y: 18, "font-size": 11, class: "live-muted" }),
    ]),
    ticks.map((time) => [
      svg("line", { class: "live-axis live-thin", x1: x(time), x2: x(time), y1: TOP, y2: bottom }),
      svg("text", { class: "live-count", x: x(time), y: bottom + 14, "text-anchor": "middle" }, number(time / 1000, tick < 1000 ? (tick < 100 ? 2 : 1) : 0)),
    ]),
    label(["秒", "seconds"], { x: width - 8, y: bottom + 32, "font-size": 11, "text-anchor": "end", class: "live-muted" }),
    readers.map((reader, i) => {
      const y = TOP + i * ROW;
      return [
        svg("text", { class: "live-count", x: LEFT - 6, y: y + 10, "font-size": 10, "text-anchor": "end" }, String(i + 1)),
        part({ class: "live-surface" }, y, reader.arrival, reader.begin),
        part({ class: "live-fill-warm" }, y, reader.begin, reader.words[0]),
        stretches(reader).map(({ begin: from, end, still }) => part({ class: still ? "live-bar" : "live-fill" }, y, from, end)),
      ];
    }),
    svg("line", { class: "live-axis", x1: LEFT, x2: width - 8, y1: bottom, y2: bottom }));
}

const seconds = (time) => number(time / 1000, time < 9995 ? 2 : 1), whole = (value) => number(value, 0);

function explain({ state: { load, batching, places }, numbers: { first, lastFirst, gap, words } }) {
  const way = places === 1 ? ["一次一位", "One at a time"] : batching === "static" ? ["静态批处理", "Static batching"] : ["连续批处理", "Continuous batching"];
  return [
    `${way[0]}，负载 ${load}：一半的读者 ${seconds(first)} 秒之内看到第一个词，最久的等了 ${seconds(lastFirst)} 秒；词与词之间最长停 ${whole(gap)} 毫秒；每秒写 ${whole(words)} 个词。`,
    `${way[1]} at load ${load}: half of the readers have their first word within ${seconds(first)} s, and one waits ${seconds(lastFirst)} s. The longest standstill between two words is ${whole(gap)} ms. ${whole(words)} words per second.`];
}

const table = ({ numbers: { readers, firsts } }) => ({
  columns: [["读者", "reader"], ["提示词", "prompt"], ["词数", "words"], ["到达（秒）", "arrives (s)"], ["等第一个词（秒）", "waits for word 1 (s)"],
    ["最后一个词（秒）", "last word (s)"], ["最长停顿（毫秒）", "longest gap (ms)"]],
  rows: readers.map((reader, i) => [String(i + 1), String(READERS[i][1]), String(READERS[i][2]), seconds(reader.arrival), seconds(firsts[i]),
    seconds(reader.words.at(-1)), whole(Math.max(...gapsOf(reader)))]),
});

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["二十位读者，一台机器：每一行是一位读者，从到达到写完", "Twenty readers, one machine: each row is a reader, from the arrival to the last word"],
  controls: [
    { kind: "slider", key: "load", title: ["负载", "Load"], min: LOADS[0], max: LOADS.at(-1), step: 0.1 },
    { kind: "choice", key: "batching", title: ["进场", "Come in"], options: [["static", ["一批走完（静态）", "by batches (static)"]], ["continuous", ["随到随进（连续）", "at any step (continuous)"]]] },
    { kind: "choice", key: "places", title: ["位子", "Places"], options: PLACES.map((each) => [each, String(each)]) },
    { kind: "choice", key: "chunk", title: ["提示词", "Prompts"], options: [[WHOLE, ["一次读完", "whole"]], ...CHUNKS.slice(1).map((each) => [each, [`每步 ${each}`, `${each} a step`]])] },
  ],
});
