/* The large map of one head: a row for each query, a column for each key. */
import { direction, svg, visible } from "../../page/words.mjs";
import { ink, mirrored } from "./ink.mjs";

const LEAST = 11, MOST = 26, SLANT = 0.72, LEAN = 30, BOLD = 1.12;

/** About how wide a text is at 13 px: Chinese characters are square. */
const measure = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e80" ? 13 : 7.4), 0);

/** Where a text begins: an anchor speaks of its first letter, which may stand at its right end. */
function anchored(name, endsThere) {
  const rtl = direction([name]) === "rtl";
  return { direction: rtl ? "rtl" : "ltr", "text-anchor": endsThere === rtl ? "start" : "end" };
}

/** Draw a map of about that width. `point(query, key)` hears where a pointer is, with zeros where it
    leaves; `press(query, key)` hears a click. Returns the drawing, and `light(query, key)`.
    Where the keys are read from right to left, the first column is the rightmost, beside the queries. */
export function map({ kind, weights, threshold, width, labelId, point = () => {}, press = () => {} }) {
  const rows = kind.queries.map((token) => visible(token, 14)), columns = kind.keys.map((token) => visible(token, 14));
  const room = (names) => Math.max(...names.map(measure));
  const wanted = Math.floor((width - room(rows) * BOLD - 12 - LEAN) / columns.length);
  const cell = Math.min(MOST, Math.max(LEAST, wanted)), size = Math.min(13, cell - 1);
  const left = Math.ceil(room(rows) * size / 13 * BOLD) + 12, top = Math.ceil(room(columns) * SLANT * size / 13) + 14;
  const inner = { width: columns.length * cell, height: rows.length * cell };
  const full = { width: left + inner.width + LEAN, height: top + inner.height + 4 };
  const turned = kind.directions[1] === "rtl", across = (x) => (turned ? full.width - x : x);

  const row = svg("rect", { class: "live-band", x: turned ? LEAN : left, width: inner.width, height: cell });
  const column = svg("rect", { class: "live-band", y: top, width: cell, height: inner.height });
  const names = rows.map((name, i) => svg("text", {
    x: across(left - 6), y: top + (i + 0.5) * cell + size * 0.35, "font-size": size, ...anchored(name, !turned) }, name));
  const heads = columns.map((name, j) => svg("text", {
    transform: `translate(${across(left + (j + 0.6) * cell)} ${top - 6}) rotate(${turned ? 46 : -46})`, "font-size": size, ...anchored(name, turned) }, name));
  const place = (then) => ({ offsetX, offsetY }) => {
    const i = Math.floor((offsetY - top) / cell) + 1, j = Math.floor((across(offsetX) - left) / cell) + 1;
    if (i < 1 || j < 1 || i > rows.length || j > columns.length) return then(within(i, rows), within(j, columns));
    then(i, j);
  };
  const within = (n, list) => (n >= 1 && n <= list.length ? n : 0);
  const element = svg("svg", {
    class: "live-drawing live-heads-map", role: "img", "aria-labelledby": labelId,
    ...full, viewBox: `0 0 ${full.width} ${full.height}`,
    pointermove: place(point), click: place(press), pointerleave: () => point(0, 0),
  }, svg("rect", { class: "live-now", x: (turned ? LEAN : left) - 0.5, y: top - 0.5, width: inner.width + 1, height: inner.height + 1 }),
  mirrored(kind, full.width, ink({ weights, columns: columns.length, threshold, cell, x: left, y: top })), row, column, names, heads);

  function light(query, key) {
    row.setAttribute("visibility", query ? "visible" : "hidden");
    column.setAttribute("visibility", key ? "visible" : "hidden");
    if (query) row.setAttribute("y", top + (query - 1) * cell);
    if (key) column.setAttribute("x", turned ? across(left + key * cell) : left + (key - 1) * cell);
    names.forEach((name, i) => name.setAttribute("class", i + 1 === query ? "live-strong" : ""));
    heads.forEach((name, j) => name.setAttribute("class", j + 1 === key ? "live-strong" : ""));
  }
  light(0, 0);
  return { element, light };
}
