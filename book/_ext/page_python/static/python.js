// Python in the page: loaded when it is first asked for, once for all exercises of a page, in one
// worker. `pagePython.run(source, page, { progress, out })` resolves to what a cell gives;
// `pagePython.stop()` ends it. The build sets `pagePython.files`, their sizes and their version.
(() => {
  "use strict";
  const here = new URL("../python/", document.currentScript.src).href;
  const NAMES = ["worker", "engine", "library", "book"];
  const SOFT = 10, HARD = 15; // seconds: Python stops its own loops; later the page ends the worker
  const received = {};
  let packed, worker, ready, job;

  // ---- the files: fetched, or, from a folder, where a browser fetches nothing, as scripts --------
  const address = (name, end) => `${here}${name}.${end}?v=${pagePython.files.version}`;
  const script = (name) => new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = address(name, "js");
    element.onerror = () => reject(new Error(`${name}.js`));
    element.onload = () => { element.remove(); resolve(decoded(received[name])); delete received[name]; };
    document.head.append(element);
  });
  const decoded = (text) => {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
  };
  const download = async (name, progress) => {
    if (!location.protocol.startsWith("http")) {
      const bytes = await script(name);
      progress(bytes.length);
      return bytes;
    }
    const answer = await fetch(address(name, "bin"));
    if (!answer.ok) throw new Error(`${answer.status} ${name}.bin`);
    const parts = [], reader = answer.body.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      progress(part.value.length);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  };
  const load = (progress) => packed ??= (async () => {
    let sum = 0;
    const files = await Promise.all(NAMES.map((name) => download(name, (count) => progress(sum += count))));
    const all = Object.fromEntries(NAMES.map((name, i) => [name, files[i]]));
    const text = new Response(new Blob([all.worker]).stream().pipeThrough(new DecompressionStream("gzip")));
    all.worker = URL.createObjectURL(new Blob([await text.text()], { type: "text/javascript" }));
    return all;
  })().catch((error) => { packed = undefined; throw error; });

  // ---- the worker ---------------------------------------------------------------------------------
  const begin = async (progress) => {
    const files = await load(progress);
    return ready ??= new Promise((resolve, reject) => {
      const own = worker = new Worker(files.worker);
      const failed = (message) => { if (own === worker) end(); reject(new Error(message)); job?.fail("ended"); };
      own.onerror = (event) => { event.preventDefault(); failed(event.message || "worker"); };
      own.onmessage = ({ data }) => {
        if (own !== worker) return; // it has been stopped meanwhile
        if (data.type === "ready") { Object.assign(files, { compiled: data.compiled, engine: null }); resolve(); }
        else if (data.type === "out") job?.out(data.text);
        else if (data.type === "done") job?.give(data.result);
        else failed(data.message); // Python itself has ended: out of memory, or calls too deep
      };
      const { worker: _, ...rest } = files;
      own.postMessage({ type: "start", files: rest });
    });
  };
  const end = () => { worker?.terminate(); worker = ready = undefined; };

  /** Run a cell. Rejects with what went wrong beside Python: "stopped", "long", "ended", or why it did not start. */
  const run = (source, page, { progress, started, out }) => new Promise((resolve, reject) => {
    let timer;
    const over = (settle) => (value) => { clearTimeout(timer); job = undefined; settle(value); };
    const own = job = { out, give: over(resolve), fail: over((why) => reject(new Error(why))) };
    begin(progress).then(() => {
      if (job !== own) return;
      started();
      timer = setTimeout(() => { end(); own.fail("long"); again(); }, HARD * 1000);
      worker.postMessage({ type: "run", source, page, seconds: SOFT });
    }, (error) => { if (job === own) own.fail(`start: ${error.message}`); });
  });
  const again = () => begin(() => {}).catch(() => {}); // so that the next run need not wait for it
  const stop = () => { const own = job; end(); own?.fail("stopped"); if (packed) again(); };

  Object.assign(window.pagePython ??= {}, {
    run, stop, SOFT, HARD,
    receive: (name, text) => { received[name] = text; },
    isReady: () => Boolean(ready),
    isBusy: () => Boolean(job),
  });
})();
