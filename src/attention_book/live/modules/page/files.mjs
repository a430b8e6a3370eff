/* What a kernel does for a widget that asks for files, done by a page. The widget sends { load, name }
   and gets { loaded, name, … } or { failed, name } back; and on the way, if it takes a while, how many
   bytes have come: { loading, name, count }. */

/** Answer what a widget asks for. Called while the widget's own script runs: beside it lie the files. */
export function answerFromFiles(model) {
  const load = files();
  model.send = ({ load: what, name }) => load(what, name,
    (count) => model.emit("msg:custom", { loading: what, name, count })).then(
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
  return async (what, name, onPart) => {
    if (what === "engine") return script("engine.js").then(() => ({}));
    if (what === "example") return { example: await delivered(what, name, `models/${name}.example.js`) };
    if (location.protocol === "file:") return { bytes: unpacked(await delivered(what, name, `models/${name}.js`)) };
    const answer = await fetch(new URL(`models/${name}.bin`, base));
    if (!answer.ok) throw new Error(answer.status);
    return { bytes: await received(answer, onPart) };
  };
}

/** The bytes of an answer, as they come. */
async function received(answer, onPart) {
  const parts = [], reader = answer.body.getReader();
  let count = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    onPart(count += part.value.length);
  }
  const bytes = new Uint8Array(count);
  for (let at = 0; parts.length; at += parts.shift().length) bytes.set(parts[0], at);
  return bytes;
}

/** Base64 to bytes; by a loop, for Uint8Array.from(text, f) keeps the page waiting. */
export function unpacked(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
