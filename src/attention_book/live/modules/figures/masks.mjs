/* A mask to edit: rules say who should see whom, a click on a cell says otherwise, and the leak shows. */
import { between, bits, oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { both, el, label, number, svg } from "../page/words.mjs";

const SIZE = 6, PLACES = Array.from({ length: SIZE }, (_, i) => i);
const ALL = SIZE - 1; // a window of this radius hides nothing

/** How a cell is written: [what may be seen, what may not]. */
const CONVENTIONS = {
  see: { written: ["T", "F"], name: ["True = 可以看（本书、F.sdpa）", "True = may attend (this book, F.sdpa)"] },
  ignore: { written: ["F", "T"], name: ["True = 忽略（nn.MultiheadAttention）", "True = ignore (nn.MultiheadAttention)"] },
  numbers: { written: ["0", "1"], name: ["整数，1 = 忽略", "integers, 1 = ignore"] },
  additive: { written: ["0", "−∞"], name: ["0 与 −∞，加到评分上", "0 and −∞, added to scores"] },
};
const LEAKS = { padding: ["填充", "padding"], future: ["后面的", "a later key"] };

/** Query 2 has been let see key 3, against the rules. */
const begin = { length: 4, causal: "1", radius: 1, changed: "0".repeat(8) + "1" + "0".repeat(27), convention: "see" };
const whole = (least, most) => oneOf(Array.from({ length: most - least + 1 }, (_, i) => least + i));
const address = {
  length: whole(0, SIZE), causal: bits(1), radius: whole(0, ALL), changed: bits(SIZE ** 2), convention: oneOf(Object.keys(CONVENTIONS)),
};

const grid = (cell) => PLACES.map((query) => PLACES.map((key) => cell(query, key)));

/** All numbers of the figure: who should see whom, who does, what leaks, and the weights of equal scores. */
export function compute({ length, causal, radius, changed }) {
  const forbids = { padding: (_, key) => key >= length, future: (query, key) => causal === "1" && key > query };
  const rule = grid((query, key) => !forbids.padding(query, key) && !forbids.future(query, key) && Math.abs(query - key) <= radius);
  const mask = grid((query, key) => rule[query][key] !== (changed[query * SIZE + key] === "1"));
  const leaks = grid((query, key) => (mask[query][key] && Object.keys(forbids).find((why) => forbids[why](query, key))) || "");
  const counts = mask.map((row) => row.filter(Boolean).length);
  const weights = grid((query, key) => (mask[query][key] ? 1 / counts[query] : 0));
  return { rule, mask, leaks, weights, empty: counts.map((count) => count === 0) };
}

const LEFT = 62, TOP = 40;
const roomOf = (width) => Math.min(56, Math.floor((width - LEFT - 4) / SIZE));
const HIGH = 44;

function draw({ state, numbers, width }) {
  const room = roomOf(width), wide = LEFT + SIZE * room + 4, height = TOP + SIZE * HIGH + 4;
  return svg("svg", { class: "live-drawing", viewBox: `0 0 ${wide} ${height}`, width: wide, height },
    label(["键", "key"], { class: "live-muted", x: LEFT - 10, y: 25, "text-anchor": "end", "font-size": 12 }),
    PLACES.map((key) => label(key < state.length ? String(key + 1) : ["填充", "pad"],
      { class: key < state.length ? "" : "live-muted", x: LEFT + (key + 0.5) * room, y: 25, "text-anchor": "middle", "font-size": 12 })),
    PLACES.map((query) => [
      label([`查询 ${query + 1}`, `query ${query + 1}`], { class: numbers.empty[query] ? "live-alarm-text" : "", x: 0, y: TOP + query * HIGH + 26, "font-size": 12 }),
      PLACES.map((key) => cell(state, numbers, query, key, room))]));
}

/** A cell: as it is written, and below it the weight, 0 or not. */
function cell({ convention }, { mask, rule, leaks, weights, empty }, query, key, room) {
  const seen = mask[query][key], x = LEFT + key * room, y = TOP + query * HIGH;
  const wrong = leaks[query][key] ? "live-alarm" : seen === rule[query][key] ? "" : "live-changed";
  return svg("g", { transform: `translate(${x} ${y})` },
    svg("rect", { class: "live-square", x: 1, y: 1, width: room - 2, height: HIGH - 2, rx: 4 }),
    seen ? svg("rect", { class: "live-share", x: 1, y: 1, width: room - 2, height: HIGH - 2, rx: 4 }) : [],
    wrong ? svg("rect", { class: wrong, x: 3, y: 3, width: room - 6, height: HIGH - 6, rx: 3 }) : [],
    svg("text", { class: seen ? "live-strong" : "live-muted", x: room / 2, y: 20, "text-anchor": "middle" },
      CONVENTIONS[convention].written[seen ? 0 : 1]),
    svg("text", { class: `live-number ${empty[query] ? "live-alarm-text" : seen ? "" : "live-muted"}`, x: room / 2, y: 36,
      "text-anchor": "middle", "font-size": 11 }, number(weights[query][key], weights[query][key] % 1 ? 2 : 0)));
}

/** The first leak and the empty rows; without either, how the mask is written. */
function explain({ state, numbers: { leaks, empty } }) {
  const [shown, hidden] = CONVENTIONS[state.convention].written;
  const leaking = PLACES.flatMap((query) => PLACES.filter((key) => leaks[query][key]).map((key) => [query, key]));
  const rows = PLACES.filter((query) => empty[query]).map((query) => query + 1);
  const zh = [], en = [];
  if (leaking.length) {
    const [query, key] = leaking[0], [whatZh, whatEn] = LEAKS[leaks[query][key]], more = leaking.length - 1;
    zh.push(`漏了：查询 ${query + 1} 看见了${whatZh}键 ${key + 1}${more ? `，这样的格子还有 ${more} 个` : ""}。`);
    en.push(`A leak: query ${query + 1} sees ${whatEn === "padding" ? `padding, key ${key + 1}` : `${whatEn}, ${key + 1}`}${more ? `, and there ${more === 1 ? "is 1 more such cell" : `are ${more} more such cells`}` : ""}.`);
  }
  if (rows.length) {
    zh.push(`查询 ${rows.join("、")} 一个键也看不见：这一行的权重恰好都是 0。`);
    en.push(`${rows.length === 1 ? "Query" : "Queries"} ${rows.join(", ")} may see nothing: weights of exactly 0 across the row.`);
  }
  if (!zh.length) {
    zh.push(`没有漏，也没有哪个查询什么都看不见。看得见的写作 ${shown}，看不见的写作 ${hidden}；权重由看得见的键平分。`);
    en.push(`No leak, and no query without a key. What may be seen is written ${shown}, what may not ${hidden}; the visible keys share the weight.`);
  }
  return [zh.join(""), en.join(" ")];
}

const table = ({ state, numbers: { mask, weights } }) => ({
  columns: [["权重（写法）", "weight (written)"], ...PLACES.map((key) => [`键 ${key + 1}`, `key ${key + 1}`])],
  rows: PLACES.map((query) => [[`查询 ${query + 1}`, `query ${query + 1}`], ...PLACES.map((key) =>
    `${number(weights[query][key], 3)} (${CONVENTIONS[state.convention].written[mask[query][key] ? 0 : 1]})`)]),
});

/** A clear button over each cell of the drawing. One of them is a stop of the keyboard; arrows lead to the others. */
function cells(host) {
  let at = 0;
  const toggle = (i) => {
    const digits = [...host.get("changed")];
    digits[i] = digits[i] === "1" ? "0" : "1";
    host.set({ changed: digits.join("") });
  };
  const stop = (i) => {
    buttons[at].setAttribute("tabindex", -1);
    buttons[at = i].setAttribute("tabindex", 0);
  };
  const buttons = PLACES.flatMap((query) => PLACES.map((key) => el("button", {
    type: "button", tabindex: query + key ? -1 : 0, click: () => toggle(query * SIZE + key), focus: () => stop(query * SIZE + key),
  }, el("span", { class: "live-hidden" }, both([`查询 ${query + 1} 可以看键 ${key + 1}`, `query ${query + 1} may see key ${key + 1}`])))));
  const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  const element = el("div", { class: "live-over", role: "group", keydown: (event) => {
    if (!(event.key in STEPS)) return;
    const [down, right] = STEPS[event.key], row = Math.floor(at / SIZE) + down, column = (at % SIZE) + right;
    event.preventDefault();
    if (row in PLACES && column in PLACES) buttons[row * SIZE + column].focus();
  } }, buttons);
  return { element, follow: (_, { mask }) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", mask[Math.floor(i / SIZE)][i % SIZE]));
    const width = element.closest(".live").querySelector(".live-drawing").getAttribute("width");
    const sizes = { width: `${width}px`, "padding-left": `${LEFT}px`, "padding-top": `${TOP}px`,
      "grid-template-columns": `repeat(${SIZE}, ${(width - LEFT - 4) / SIZE}px)`, "grid-auto-rows": `${HIGH}px` };
    for (const [name, size] of Object.entries(sizes)) element.style.setProperty(name, size);
  } };
}

export default figure({
  begin, address, compute, draw, explain, table,
  title: ["六个查询对六个键的掩码：每格写着能不能看，下面是权重", "A mask of six queries by six keys: each cell says whether the key may be seen, and below it stands the weight"],
  controls: [
    { kind: "custom", key: "changed", build: cells },
    { kind: "slider", key: "length", title: ["真实的词元", "Real tokens"], min: 0, max: SIZE, step: 1 },
    { kind: "checks", key: "causal", title: ["规则", "Rule"], options: [["因果：不许看后面", "causal: nothing later"]] },
    { kind: "slider", key: "radius", title: ["窗口半径", "Window radius"], min: 0, max: ALL, step: 1,
      write: (radius) => (radius === ALL ? ["不限", "any"] : String(radius)) },
    { kind: "choice", key: "convention", title: ["写法", "Written as"], options: Object.entries(CONVENTIONS).map(([key, { name }]) => [key, name]) },
    { kind: "action", title: ["恢复成规则的样子", "Back to the rules"], change: () => ({ changed: "0".repeat(SIZE ** 2) }) },
  ],
});
