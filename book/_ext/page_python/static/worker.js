// The end of the worker's text, after Pyodide's: starts Python and runs cells.
// Pyodide asks for its files by fetch; they came with the first message instead. The compiled
// engine goes back to the page, which hands it to the next worker: a restart compiles nothing.
"use strict";
const files = new Map();
const networkFetch = self.fetch;
self.fetch = async (address, options) => {
  const url = String(address?.url ?? address);
  if (!url.startsWith("page:")) return networkFetch(address, options);
  const { bytes, type } = files.get(url.slice(url.lastIndexOf("/") + 1));
  return new Response(bytes, { headers: { "content-type": type } });
};

const unpacked = (packed) =>
  new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();

// Python looks here every some steps for a signal from outside. It comes from the clock, so that no
// shared memory is needed, and none of the headers that a browser wants for it.
let deadline = Infinity;
const SIGINT = 2;
const clock = {
  get 0() {
    if (performance.now() < deadline) return 0;
    deadline += 500; // again, where the reader's code has caught the first one
    return SIGINT;
  },
  set 0(_) {},
};

let runAnswer;
const start = async ({ engine, library, book, compiled }) => {
  const [wasm, standard, own] = await Promise.all([compiled ? null : unpacked(engine), unpacked(library), unpacked(book)]);
  compiled ??= await WebAssembly.compile(wasm);
  WebAssembly.instantiateStreaming = async (_, imports) => ({ module: compiled, instance: await WebAssembly.instantiate(compiled, imports) });
  files.set("pyodide.asm.wasm", { bytes: "", type: "application/wasm" });
  files.set("python_stdlib.zip", { bytes: standard, type: "application/zip" });
  const python = await loadPyodide({
    indexURL: "page:/",
    stdLibURL: "page:/python_stdlib.zip",
    lockFileContents: { info: LOCK_INFO, packages: {} }, // Pyodide compares the ABI that stands there
    packageBaseUrl: "page:/",
    createPyodideModule: _createPyodideModule,
    stdin: () => null,
    stdout: () => {}, // what a cell prints comes from run_answer.py
    stderr: () => {},
    env: { HOME: "/home/reader", PYTHONDONTWRITEBYTECODE: "1", PYTHONHASHSEED: "0" },
  });
  files.clear();
  python.FS.writeFile("/book.zip", new Uint8Array(own), { canOwn: true });
  python.globals.set("send", (text) => postMessage({ type: "out", text }));
  runAnswer = python.runPython(`
import json, sys
sys.path.insert(0, "/book.zip")
import run_answer
run_answer.warm_up()
lambda source, page: json.dumps(run_answer.run(source, send=send, **json.loads(page)))
`);
  python.setInterruptBuffer(clock);
  return compiled;
};

self.onmessage = async ({ data }) => {
  try {
    if (data.type === "start") postMessage({ type: "ready", compiled: await start(data.files) });
    if (data.type === "run") {
      deadline = performance.now() + data.seconds * 1000;
      const result = JSON.parse(runAnswer(data.source, data.page));
      postMessage({ type: "done", result });
    }
  } catch (error) {
    postMessage({ type: "failed", message: String(error?.message ?? error).slice(-2000) });
  }
  deadline = Infinity;
};
