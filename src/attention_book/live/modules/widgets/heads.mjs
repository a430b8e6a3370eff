/* A viewer of attention heads: all of them small, one large, and the words on both sides. The contract of
   anywidget, `render({ model, el })`: the same module runs in a page, in a notebook and in a file. */
import { between, oneOf } from "../page/address.mjs";
import { control } from "../page/controls.mjs";
import { both, el, freshId, inOneLanguage } from "../page/words.mjs";
import { grid } from "./heads/grid.mjs";
import { map } from "./heads/map.mjs";
import { explain, legend, table } from "./heads/reading.mjs";
import { sentence } from "./heads/sentence.mjs";
import { checked, columnOf, kindOf, rowOf, weightsOf } from "./heads/weights.mjs";

const NARROW = 344, STATE = ["kind", "layer", "head", "query", "key", "threshold"];
const TITLE = ["一个头的权重图：每行一个查询，每列一个键", "Map of one head: a row for each query, a column for each key"];

const begin = { data: null, language: "", kind: "", layer: 1, head: 1, query: 0, key: 0, threshold: 0 };

const upTo = (count, least) => (text, model) => {
  const kind = kindOf(model.get("data"), model.get("kind")), value = between(least, count(kind))(text);
  return Number.isInteger(value) ? value : undefined;
};
const among = (numbers) => (text, model) => oneOf(numbers(kindOf(model.get("data"), model.get("kind"))))(text);
const address = {
  kind: (text, model) => model.get("data").kinds.find(({ key }) => key === text)?.key,
  layer: among(({ layers }) => layers), head: among(({ heads }) => [0, ...heads]),
  query: upTo((kind) => kind.queries.length, 0), key: upTo((kind) => kind.keys.length, 0), threshold: between(0, 0.5),
};

/** What stands in the page without scripts, and in print: the large map, and the sentence that reads it. */
function still(state) {
  const now = checked(state), weights = weightsOf(now.kind, now.layer, now.head), labelId = freshId();
  const { element, light } = map({ ...now, weights, width: NARROW, labelId });
  light(now.query, now.key);
  return el("div", { class: "live live-heads" }, el("p", { id: labelId, class: "live-hidden" }, both(TITLE)),
    el("div", { class: "live-frame" }, element), el("p", { class: "live-readout" }, both(explain(now, weights))), legend(now.kind));
}

function render({ model, el: root }) {
  const view = new View(model);
  root.replaceChildren(view.element);
  view.start();
  root.classList.add("live-ready");
  return () => view.close();
}

class View {
  constructor(model) {
    this.model = model;
    this.pointed = { query: 0, key: 0 };
    this.labelId = freshId();
    this.heads = el("div", {});
    this.frame = el("div", { class: "live-frame", tabindex: 0, role: "group", "aria-labelledby": this.labelId });
    this.sentences = el("div", { class: "live-sentences" });
    this.readout = el("p", { class: "live-readout", "aria-live": "polite" });
    this.numbers = el("table", {});
    this.details = el("details", { toggle: () => this.writeTable() },
      el("summary", {}, both(["数值表", "Table of numbers"])),
      el("div", { class: "live-scroll", tabindex: 0, role: "group", "aria-labelledby": this.labelId }, this.numbers));
    this.controls = this.makeControls();
    this.element = el("div", { class: "live live-heads" },
      el("p", { id: this.labelId, class: "live-hidden" }, both(TITLE)),
      el("div", { class: "live-controls" }, this.controls.map((each) => each.element)),
      el("div", { class: "live-heads-parts" }, this.heads, el("div", { class: "live-heads-one" }, this.frame, this.readout, this.sentences)),
      this.details);
    inOneLanguage(this.element, model.get("language"));
  }

  makeControls() {
    const host = { get: (key) => this.model.get(key), set: (changes) => this.set(changes) };
    const { kinds } = this.model.get("data");
    const kind = { kind: "choice", key: "kind", title: ["注意力", "Attention"], options: kinds.map(({ key, name }) => [key, name]) };
    const threshold = { kind: "slider", key: "threshold", title: ["阈值", "Threshold"], min: 0, max: 0.5, step: 0.01,
      write: (value) => value.toFixed(2) };
    return (kinds.length > 1 ? [kind, threshold] : [threshold]).map((each) => control(each, host));
  }

  /** Another kind has other layers and words: it begins where it has most to show. */
  set(changes) {
    const first = changes.kind ? { ...kindOf(this.model.get("data"), changes.kind).first, key: 0 } : {};
    for (const [key, value] of Object.entries({ ...first, ...changes })) this.model.set(key, value);
    this.model.save_changes();
  }

  state() {
    return checked(Object.fromEntries([...STATE, "data"].map((key) => [key, this.model.get(key)])));
  }

  start() {
    this.soon = () => {
      if (this.waiting) return;
      this.waiting = true;
      queueMicrotask(() => this.show());
    };
    for (const key of [...STATE, "data"]) this.model.on(`change:${key}`, this.soon);
    this.observer = new ResizeObserver(() => {
      if (this.frame.clientWidth && this.frame.clientWidth !== this.width) this.show();
    });
    this.observer.observe(this.frame);
    this.show();
  }

  /** Bring everything up to the state; what depends on the kind alone is made once for it. */
  show() {
    this.waiting = false;
    const now = this.state();
    this.width = this.frame.clientWidth || NARROW;
    this.weights = weightsOf(now.kind, now.layer, now.head);
    if (now.kind !== this.kind) this.change(now.kind);
    this.grid.follow(now);
    this.map = map({ ...now, weights: this.weights, width: this.width, labelId: this.labelId,
      point: (query, key) => this.point({ query, key }), press: (query, key) => this.press({ query, key }) });
    this.frame.replaceChildren(this.map.element);
    for (const each of this.controls) each.follow({ ...now, kind: now.kind.key });
    this.light(now);
    this.writeTable();
  }

  change(kind) {
    this.kind = kind;
    this.pointed = { query: 0, key: 0 };
    this.grid?.close();
    this.grid = grid({ kind, choose: (layer, head) => this.set({ layer, head }) });
    this.heads.replaceChildren(this.grid.element);
    const side = (name, title, tokens, direction) => sentence({ title, tokens, direction,
      point: (n) => this.point({ query: 0, key: 0, [name]: n }), press: (n) => this.press({ query: 0, key: 0, [name]: n }) });
    this.queries = side("query", ["查询", "Queries"], kind.queries, kind.directions[0]);
    this.keys = side("key", ["键", "Keys"], kind.keys, kind.directions[1]);
    this.sentences.replaceChildren(this.queries.element, this.keys.element, ...legend(kind));
  }

  /** Where a pointer or the focus is, as long as it is there. */
  point(where) {
    if (where.query === this.pointed.query && where.key === this.pointed.key) return;
    this.pointed = where;
    this.light(this.state());
  }

  /** What was pressed stays lit; pressed again it no longer does. */
  press(where) {
    const { query, key } = this.state();
    const again = where.query === query && where.key === key;
    this.set(again ? { query: 0, key: 0 } : where);
  }

  light(now) {
    const { query, key } = this.pointed.query || this.pointed.key ? this.pointed : now;
    const { kind, threshold } = now;
    this.map.light(query, key);
    this.queries.follow({ lit: query, given: key && !query ? columnOf(kind, this.weights, key) : null, pressed: now.query, threshold });
    this.keys.follow({ lit: key, given: query ? rowOf(kind, this.weights, query) : null, pressed: now.key, threshold });
    this.readout.replaceChildren(...both(explain({ ...now, query, key }, this.weights)));
  }

  /** Only for who opens it: sixty words by a hundred and thirty are a long table. */
  writeTable() {
    this.stopWriting?.();
    if (this.details.open) this.stopWriting = table({ kind: this.kind, weights: this.weights, element: this.numbers });
    else this.numbers.replaceChildren();
  }

  close() {
    this.observer.disconnect();
    this.grid.close();
    this.stopWriting?.();
    for (const key of [...STATE, "data"]) this.model.off(`change:${key}`, this.soon);
  }
}

export default { begin, address, still, render };
