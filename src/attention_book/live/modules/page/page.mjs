/* What Jupyter does for a widget, for a page: a model, and an address to keep it in.
   A figure is <div data-live="name" id="…">; what stands in it is shown until the figure is there. Data that
   belong to the place stand in it too, as a block of application/json. */

/** The part of a Jupyter model that anywidget promises. */
export class StaticModel {
  #state; #listeners = new Map(); #changed = new Set();
  constructor(state) { this.#state = { ...state }; }
  get(key) { return this.#state[key]; }
  set(key, value) {
    if (Object.is(this.#state[key], value)) return;
    this.#state[key] = value;
    this.#changed.add(key);
    this.emit(`change:${key}`);
  }
  save_changes() {
    const changed = [...this.#changed];
    this.#changed.clear();
    if (changed.length) this.emit("saved", changed);
  }
  on(event, listener) { this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]); }
  off(event, listener) { this.#listeners.set(event, (this.#listeners.get(event) ?? []).filter((each) => each !== listener)); }
  emit(event, ...details) { (this.#listeners.get(event) ?? []).forEach((listener) => listener(...details)); }
}

/** An address that others can pass on: what a reader has typed beyond that stays in the page. */
const LONGEST = 1500;

/** Keep in the address what differs from the beginning: #id?key=value&…; another figure's is left alone. A place
    without an id keeps nothing there: on a slide the address names the slide. A figure that `replaces` makes no
    steps for the Back button: it has one of its own. */
export function keepInAddress(model, id, keys, begin, replaces = false) {
  if (!id) return;
  const parse = () => {
    const [owner, query = ""] = location.hash.slice(1).split("?");
    if (owner && owner !== id) return;
    const given = new URLSearchParams(query);
    for (const key of Object.keys(keys)) {
      // Whoever wrote the address: what it says is checked.
      const value = given.has(key) ? keys[key](given.get(key), model) : undefined;
      model.set(key, value ?? begin[key]);
    }
  };
  let before = -Infinity;
  model.on("saved", (changed) => {
    if (!changed.some((key) => key in keys)) return;
    const differ = Object.keys(keys).filter((key) => model.get(key) !== begin[key]);
    const query = new URLSearchParams(differ.map((key) => [key, model.get(key)]));
    const hash = `#${id}${query.size && `${query}`.length <= LONGEST ? `?${query}` : ""}`;
    if (hash === location.hash) return;
    // What comes in a quick row, a slider or a drag, is one step for the Back button.
    const now = performance.now();
    history[replaces || now - before < 1000 ? "replaceState" : "pushState"](null, "", hash);
    before = now;
  });
  addEventListener("popstate", parse);
  if (location.hash) {
    parse();
    // The browser looked for a target of this whole name, and found none.
    if (location.hash.startsWith(`#${id}?`)) document.getElementById(id)?.scrollIntoView();
  }
}

/** Draw a figure wherever the page has a place for it. Scripts are deferred: the page is there. */
export function register(name, found) {
  if (!globalThis.document?.querySelectorAll) return; // a figure is drawn while the book is built
  for (const place of document.querySelectorAll(`[data-live="${name}"]`)) mount(place, found);
}

export function mount(place, found) {
  const data = place.querySelector(':scope > script[type="application/json"]')?.textContent ?? "{}";
  const begin = { ...found.begin, ...JSON.parse(data), ...JSON.parse(place.dataset.begin ?? "{}") };
  const model = new StaticModel(begin);
  found.inPage?.(model); // what a widget needs of a kernel
  found.render({ model, el: place });
  keepInAddress(model, place.id, found.address ?? {}, begin, found.replaces);
}
