/* What a kernel does for a widget that asks for files, done by a page. The widget sends { load, name }
   and gets { loaded, name, … } or { failed, name } back. */

/** Answer what a widget asks for. Called while the widget's own script runs: beside it lie the files. */
export function answerFromFiles(model) {
  const load = files();
  model.send = ({ load: what, name }) => load(what, name).then(
    ({ bytes, ...found }) => model.emit("msg:custom", { loaded: what, name, ...found }, bytes ? [new DataView(bytes.buffer)] : []),
    () => model.emit("msg:custom", { failed: what, name }));
}

const arriving = new Map();

/** How a page gets at files beside its scripts: the engine and the examples are scripts; a model is
    fetched, but from a folder, where fetching is forbidden, it comes in a script too. */
function files() {
  const base = new URL(".", document.currentScript.src);
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
