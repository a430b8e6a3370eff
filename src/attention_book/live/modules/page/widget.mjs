/* What Jupyter does for a widget that asks for files, for a page. The widget sends { load, name } and
   gets { loaded, name, … } or { failed, name } back, as it would from a kernel. */
import { StaticModel, keepInAddress } from "./page.mjs";

/** Mount a widget wherever the page has a place for it: <div data-widget="name" data-begin="…">. */
export function register(name, widget) {
  if (!globalThis.document?.querySelectorAll) return; // drawn while the book is built
  for (const place of document.querySelectorAll(`[data-widget="${name}"]`)) mount(place, widget, files());
}

export function mount(place, widget, load) {
  const begin = { ...widget.begin, ...JSON.parse(place.dataset.begin ?? "{}") };
  const model = new StaticModel(begin);
  model.send = ({ load: what, name }) => load(what, name).then(
    ({ bytes, ...found }) => model.emit("msg:custom", { loaded: what, name, ...found }, bytes ? [new DataView(bytes.buffer)] : []),
    () => model.emit("msg:custom", { failed: what, name }));
  widget.render({ model, el: place });
  keepInAddress(model, place.id, widget.address, begin);
}

/** How a page gets at files beside its scripts: the engine and the examples are scripts; a model is
    fetched, but from a folder, where fetching is forbidden, it comes in a script too. */
function files() {
  const base = new URL(".", document.currentScript.src), arriving = new Map();
  globalThis.attentionBookLive.arrived = (what, name, value) => arriving.get(`${what} ${name}`)?.(value);
  const script = (path) => new Promise((resolve, reject) => {
    const tag = document.createElement("script");
    tag.src = new URL(path, base);
    tag.onload = resolve;
    tag.onerror = () => reject(new Error(path));
    document.head.append(tag);
    tag.remove(); // it is loaded all the same
  });
  const delivered = async (what, name, path) => {
    const value = new Promise((resolve) => arriving.set(`${what} ${name}`, resolve));
    await script(path);
    return value;
  };
  return async (what, name) => {
    if (what === "engine") return script("engine.js").then(() => ({}));
    if (what === "example") return { example: await delivered(what, name, `models/${name}.example.js`) };
    if (location.protocol === "file:") return { bytes: unpacked(await delivered(what, name, `models/${name}.js`)) };
    const answer = await fetch(new URL(`models/${name}.bin`, base));
    if (!answer.ok) throw new Error(answer.status);
    return { bytes: new Uint8Array(await answer.arrayBuffer()) };
  };
}

/** Base64 to bytes; by a loop, for Uint8Array.from(text, f) keeps the page waiting. */
function unpacked(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
