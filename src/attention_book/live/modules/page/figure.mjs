/* A live figure: a drawing that follows its state, a sentence that reads it, controls, and its numbers
   in a table. It keeps the contract of anywidget, `render({ model, el })`, so that the same figure runs
   in a page and in a notebook. */
import { control } from "./controls.mjs";
import { both, el, freshId } from "./words.mjs";

export const NARROW = 344; // the drawing that stands in the page before any script, and on a phone
const WIDE = 680, REACH = 28;

/** Make a figure.
    begin     the state at the start, plain values by name
    address   for each value that the page's address keeps: text → value, or undefined if it is none
    title     what the drawing shows, for who can't see it: [中文, English]
    compute   state → all numbers of the figure; pure, and the same as the package's
    draw      { state, numbers, width } → an <svg> of that width
    explain   { state, numbers } → the sentence below the drawing, [中文, English]
    controls  descriptions for controls.mjs, or a function of the state at the start that returns them
    table     { state, numbers } → { columns, rows: [[head, ...cells]] }; texts are strings or pairs
    handles   { state, numbers, width } → [{ x, y, move(x, y) → changes }]: what can be dragged.
              Whatever can be dragged has a slider too: that is how a keyboard moves it. */
export function figure(parts) {
  return { ...parts, still: (state = parts.begin) => still(parts, state), render: (host) => render(parts, host) };
}

function drawn(parts, state, width, labelId) {
  const numbers = parts.compute(state), drawing = parts.draw({ state, numbers, width });
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-labelledby", labelId);
  return { numbers, drawing };
}

const caption = (parts, labelId) => el("p", { id: labelId, class: "live-hidden" }, both(parts.title));

/** What stands in the page without scripts, and in print: the drawing, and what it says. */
function still(parts, state) {
  const labelId = freshId(), { numbers, drawing } = drawn(parts, state, NARROW, labelId);
  return el("div", { class: "live" }, caption(parts, labelId), el("div", { class: "live-frame" }, drawing),
    el("p", { class: "live-readout" }, both(parts.explain({ state, numbers }))));
}

function render(parts, { model, el: root }) {
  const keys = Object.keys(parts.begin), labelId = freshId();
  const host = {
    get: (key) => model.get(key),
    state: () => Object.fromEntries(keys.map((key) => [key, model.get(key)])),
    set(changes) {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    },
  };
  const described = typeof parts.controls === "function" ? parts.controls(host.state()) : parts.controls;
  const controls = described.map((each) => control(each, host));
  const frame = el("div", { class: "live-frame" });
  const readout = el("p", { class: "live-readout", "aria-live": "polite" });
  const table = el("div", { class: "live-scroll", tabindex: 0, role: "group", "aria-labelledby": labelId });
  root.replaceChildren(el("div", { class: "live" }, caption(parts, labelId), frame, readout,
    el("div", { class: "live-controls" }, controls.map((each) => each.element)),
    el("details", {}, el("summary", {}, both(["数值表", "Table of numbers"])), table)));

  const widthNow = () => Math.max(280, Math.min(WIDE, frame.clientWidth || WIDE));
  let width = widthNow(), waiting = false;
  function show() {
    waiting = false;
    const state = host.state(), { numbers, drawing } = drawn(parts, state, width, labelId);
    frame.replaceChildren(drawing);
    readout.replaceChildren(...both(parts.explain({ state, numbers })));
    table.replaceChildren(tableOf(parts.table({ state, numbers })));
    for (const each of controls) each.follow(state, numbers);
  }
  // Several values may change at once, and a pointer moves more often than a screen shows.
  const soon = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(show);
  };
  keys.forEach((key) => model.on(`change:${key}`, soon));
  const observer = new ResizeObserver(() => {
    if (widthNow() === width) return;
    width = widthNow();
    show();
  });
  observer.observe(frame);
  if (parts.handles) dragging(frame, () => parts.handles({ state: host.state(), numbers: parts.compute(host.state()), width }), host);
  show();
  root.classList.add("live-ready");
  return () => {
    observer.disconnect();
    keys.forEach((key) => model.off(`change:${key}`, soon));
  };
}

/** Let a pointer drag the nearest handle. The frame listens, for each drawing replaces the one before. */
function dragging(frame, handles, host) {
  let held = -1;
  const place = (event) => {
    const drawing = frame.firstElementChild, box = drawing.getBoundingClientRect();
    const units = drawing.viewBox.baseVal?.width; // a slide is scaled, a page may be zoomed
    const scale = units ? box.width / units : 1;
    return [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
  };
  const distance = ([x, y]) => (each) => Math.hypot(each.x - x, each.y - y);
  frame.classList.add("live-draggable");
  frame.addEventListener("pointerdown", (event) => {
    const far = handles().map(distance(place(event))), nearest = far.indexOf(Math.min(...far));
    if (!(far[nearest] <= REACH)) return;
    held = nearest;
    frame.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  frame.addEventListener("pointermove", (event) => {
    if (held < 0) return;
    const each = handles()[held];
    if (each) host.set(each.move(...place(event)));
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { held = -1; });
  // A finger on a handle drags it; anywhere else it scrolls the page.
  frame.addEventListener("touchstart", (event) => {
    const touch = event.touches[0];
    if (Math.min(...handles().map(distance(place(touch)))) <= REACH) event.preventDefault();
  }, { passive: false });
}

function tableOf({ columns, rows }) {
  const [corner, ...heads] = columns;
  return el("table", {},
    el("thead", {}, el("tr", {}, el("td", {}, both(corner)), heads.map((head) => el("th", { scope: "col" }, both(head))))),
    el("tbody", {}, rows.map(([head, ...cells]) => el("tr", {}, el("th", { scope: "row" }, both(head)),
      cells.map((cell) => el("td", {}, both(cell)))))));
}
