/* All heads at a glance: a row for each layer, a column for each head, and their mean. One stop of the
   keyboard; arrow keys choose, as among radio buttons. */
import { both, el, freshId, svg } from "../../page/words.mjs";
import { ink, mirrored, pooled } from "./ink.mjs";
import { unpacked } from "./weights.mjs";

const FINEST = 40, SLICE = 8; // rows and columns of a small map; milliseconds of drawing at a time

export const nameOf = (layer, head) => (head
  ? [`第 ${layer} 层，头 ${head}`, `Layer ${layer}, head ${head}`]
  : [`第 ${layer} 层，各头的平均`, `Layer ${layer}, mean of the heads`]);

/** Draw the grid of a kind; `choose(layer, head)` hears what the reader takes. */
export function grid({ kind, choose }) {
  const { layers } = kind, heads = kind.heads.length > 1 ? [...kind.heads, 0] : kind.heads;
  const titleId = freshId(), buttons = new Map(), waiting = [];
  const button = (layer, head) => {
    const found = el("button", {
      type: "button", role: "radio", class: "live-head", tabindex: -1,
      click: () => choose(layer, head), keydown: (event) => step(event, layer, head),
    }, el("span", { class: "live-hidden" }, both(nameOf(layer, head))));
    buttons.set(`${layer}.${head}`, found);
    waiting.push(() => found.append(small(kind, layer, head)));
    return found;
  };
  function step(event, layer, head) {
    const at = heads.indexOf(head), row = layers.indexOf(layer);
    const [l, h] = {
      ArrowLeft: [row, at - 1], ArrowRight: [row, at + 1], ArrowUp: [row - 1, at], ArrowDown: [row + 1, at],
      Home: [row, 0], End: [row, heads.length - 1],
    }[event.key] ?? [-1, 0];
    const found = buttons.get(`${layers[l]}.${heads[h]}`);
    if (!found) return;
    event.preventDefault();
    choose(layers[l], heads[h]);
    found.focus();
  }
  const element = el("div", { class: "live-heads-all" },
    el("p", { class: "live-note", id: titleId }, both(["每行一层，每列一个头", "A row for each layer, a column for each head"])),
    el("div", { class: "live-scroll" }, el("div", { class: "live-heads-grid", role: "radiogroup", "aria-labelledby": titleId },
      el("span", { "aria-hidden": "true" }),
      heads.map((head) => el("span", { class: "live-note", "aria-hidden": "true" }, both(head ? String(head) : ["平均", "mean"]))),
      layers.map((layer) => [
        el("span", { class: "live-note", "aria-hidden": "true" }, String(layer)), heads.map((head) => button(layer, head)),
      ]))));
  element.querySelector(".live-heads-grid").style.setProperty("--heads", heads.length);

  let timer = 0;
  function draw() {
    const end = performance.now() + SLICE;
    while (waiting.length && performance.now() < end) waiting.shift()();
    timer = waiting.length ? setTimeout(draw) : 0;
  }
  timer = setTimeout(draw);
  return {
    element,
    follow({ layer, head }) {
      for (const [name, each] of buttons) {
        const chosen = name === `${layer}.${head}`;
        each.setAttribute("aria-checked", String(chosen));
        each.setAttribute("tabindex", chosen ? "0" : "-1");
      }
    },
    close: () => clearTimeout(timer),
  };
}

function small(kind, layer, head) {
  const whole = { weights: unpacked(kind, layer, head), rows: kind.queries.length, columns: kind.keys.length };
  const { weights, rows, columns } = pooled(whole, FINEST);
  return svg("svg", { "aria-hidden": "true", viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none" },
    mirrored(kind, columns, ink({ weights, columns, cell: 1 })));
}
