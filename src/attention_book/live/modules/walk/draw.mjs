/* What all levels draw with: parts that can be pressed, strips of bars, cells of one ramp. Without a
   browser, where the book is built, nothing can be pressed: the drawing stands still. */
import { shade } from "../page/ramp.mjs";
import { label, number, svg, visible } from "../page/words.mjs";

export const PHONE = 560;
export const plain = (value, digits = 2) => number(value, digits);
export const signed = (value, digits = 2) => {
  const text = number(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
};
/** A whole number without its ".00". */
export const short = (value) => plain(value).replace(/\.00$/, "");
/** Rounded, as it is printed. */
export const shown = (value, digits = 2) => Number(value.toFixed(digits));
/** The sign between what is printed and a result: "=" only where the printed numbers give the printed result,
    for a reader may add them up. */
export const equals = (printed, result, digits = 2) => (Math.abs(printed - shown(result, digits)) < 0.5 * 10 ** -digits + 1e-9 ? "=" : "≈");
/** A weight without its zero, .93; and 1 and 0 as they are. */
export const weightText = (value) => (value > 0.995 ? "1.00" : value < 0.005 ? "0" : value.toFixed(2).slice(1));
export const percent = (p) => (p > 0.9995 ? ">99.9%" : p >= 0.1 ? `${(100 * p).toFixed(0)}%` : p >= 0.001 ? `${(100 * p).toFixed(1)}%` : "<0.1%");

/** A text attribute has one language: the page's. */
export function spoken(text) {
  if (!Array.isArray(text)) return String(text);
  const language = document.documentElement?.dataset.language;
  return language === "zh" ? text[0] : language === "en" ? text[1] : text.join(" ");
}

export const words = (text, x, y, attributes = {}) => label(text, { x, y, ...attributes });
export const token = (text, x, y, attributes = {}) => svg("text", { x, y, translate: "no", ...attributes }, visible(text, 14));
export const clipped = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);

/** A rectangle that can be pressed: by a pointer, and by Enter where the focus is. `act` is null in a drawing
    that stands still, `quotes` is true where the name has a token in it, which is not to be translated. */
export function part({ key, x, y, width, height, name, act, now = false, first = false, pressed, bare = false, quotes = false }, ...children) {
  const alive = act && {
    role: "button", tabindex: first ? 0 : -1, "aria-label": spoken(name), translate: quotes ? "no" : null, "aria-pressed": pressed === undefined ? null : String(pressed),
    click: (event) => act(event), keydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      act(event);
    },
  };
  return svg("g", { class: ["walk-part", now ? "now" : "", bare ? "bare" : ""].filter(Boolean).join(" "), "data-part": key, ...alive },
    svg("rect", { class: "walk-ground", x, y, width, height, rx: 6 }), children);
}

/** Give an element a number for its style. */
export function vary(element, name, value) {
  if (element.style) element.style.setProperty(name, value);
  else element.setAttribute("style", `${name}:${value}`);
  return element;
}

/** A cell of the one ramp: how dark says how much. */
export const heat = (weight, attributes) => svg("rect", { class: "walk-heat", "data-weight": weight.toFixed(3), fill: shade(Math.max(0, Math.min(1, weight))), ...attributes });

/** What the mask hides: a hatched cell. */
export function hidden({ x, y, width, height }) {
  let d = "";
  for (let s = 4; s < width + height; s += 5)
    d += `M${(x + Math.max(0, s - height)).toFixed(1)},${(y + Math.min(height, s)).toFixed(1)}L${(x + Math.min(width, s)).toFixed(1)},${(y + Math.max(0, s - width)).toFixed(1)}`;
  return svg("path", { class: "walk-hidden", d });
}

/** A row of weights; what comes after them is hidden by the mask. */
export function row(weights, { x, y, width, height, count = weights.length }) {
  const step = width / count, gap = step > 5 ? 1 : 0.5;
  return Array.from({ length: count }, (_, j) => {
    const box = { x: x + j * step, y, width: step - gap, height };
    return j < weights.length ? heat(weights[j], { ...box, rx: 1 }) : hidden(box);
  });
}

/** A vector as bars around a middle line: one path for all bars of a kind, for sixty rectangles a strip
    are slow. Beside what was there before (`under`), what has just been added is full, what it took away pale. */
export function strip(vector, { x, y, width, height, top, kind = "stream", mark = -1, under = null }) {
  const step = width / vector.length, middle = y + height / 2, tall = height / 2 - 1, gap = step > 5 ? 1.5 : 0.7;
  const paths = { "walk-value-bar": "", "walk-added": "", "walk-taken": "" };
  const bar = (from, to, c, name) => {
    const up = middle - (Math.max(from, to) / top) * tall, tallness = Math.max(0.6, (Math.abs(to - from) / top) * tall);
    paths[name] += `M${(x + c * step).toFixed(1)},${up.toFixed(1)}h${(step - gap).toFixed(1)}v${tallness.toFixed(1)}h${(gap - step).toFixed(1)}z`;
  };
  vector.forEach((value, c) => {
    if (!under) return bar(0, value, c, "walk-value-bar");
    const before = under[c], kept = before * value > 0 ? Math.sign(value) * Math.min(Math.abs(before), Math.abs(value)) : 0;
    if (kept) bar(0, kept, c, "walk-value-bar");
    if (Math.abs(value) > Math.abs(kept)) bar(kept, value, c, "walk-added");
    if (Math.abs(before) > Math.abs(kept)) bar(kept, before, c, "walk-taken");
  });
  return svg("g", { class: `walk-strip of-${kind}` },
    mark >= 0 ? svg("rect", { class: "walk-column", x: x + mark * step - 1, y, width: step + 2 - gap, height }) : [],
    svg("line", { class: "walk-axis", x1: x, x2: x + width, y1: middle, y2: middle }),
    Object.entries(paths).filter(([, d]) => d).map(([name, d]) => svg("path", { class: name, d })));
}

/** A text that may be too long for the drawing: broken at blanks, and how tall it is. */
export function wrapped(text, x, y, width, attributes = {}, size = 14) {
  const wide = (letters) => [...letters].reduce((sum, letter) => sum + (/[\u2e80-\uffef]/.test(letter) ? 1 : 0.64), 0) * size;
  const broken = (sentence) => sentence.split(/(?<=[，。；、])| /).reduce((lines, word) => {
    const last = lines.at(-1), joined = /[，。；、]$/.test(last) || !last ? `${last}${word}` : `${last} ${word}`;
    return wide(joined) <= width || !last ? [...lines.slice(0, -1), joined] : [...lines, word];
  }, [""]);
  const [zh, en] = (Array.isArray(text) ? text : [text, text]).map(broken), count = Math.max(zh.length, en.length);
  return { height: count * 20, shapes: Array.from({ length: count }, (_, n) => words([zh[n] ?? "", en[n] ?? ""], x, y + n * 20, attributes)) };
}

export const board = (width, height, ...children) =>
  svg("svg", { class: "live-drawing walk-drawing", viewBox: `0 0 ${width} ${height}`, width, height, role: "group" }, children);
