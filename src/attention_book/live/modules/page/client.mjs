/* The page's side of the engine: in a Worker where there can be one, else on this thread in slices. */

/** Start an engine. `workerSource` is its code as text; without it, or where the browser refuses a
    Worker, the same code (`serve`) runs here behind a MessageChannel, and the caller sees no
    difference. */
export function connect({ serve, workerSource = "" }) {
  const waiting = new Map();
  let port, threaded = false, heard = false, number = 0;
  const attach = (found) => {
    port = found;
    port.onmessage = ({ data }) => {
      heard = true;
      const call = waiting.get(data.id);
      if (!call) return; // cancelled meanwhile
      if (data.step) return call.onStep?.(data.step);
      waiting.delete(data.id);
      if (data.refused) call.reject(Object.assign(new Error(data.refused), { reason: data.refused, details: data.details }));
      else call.resolve(data.done);
    };
  };
  const here = () => {
    const channel = new MessageChannel();
    serve(channel.port2);
    threaded = false;
    attach(channel.port1);
  };
  const worker = started(workerSource);
  if (worker) {
    threaded = true;
    attach(worker);
    // A policy's refusal comes as an event, after the constructor: begin again on this thread.
    worker.onerror = (event) => {
      if (heard) return;
      event.preventDefault();
      here();
      for (const [id, { message }] of waiting) port.postMessage({ id, ...message });
    };
  } else here();
  const ask = (message, { onStep, signal } = {}) => new Promise((resolve, reject) => {
    const id = number++;
    const cancel = () => {
      waiting.delete(id);
      port.postMessage({ cancel: id });
      reject(Object.assign(new Error("cancelled"), { reason: "cancelled" }));
    };
    if (signal?.aborted) return cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    waiting.set(id, { message, resolve, reject, onStep });
    port.postMessage({ id, ...message });
  });
  return {
    get threaded() { return threaded; },
    open: (name, bytes) => ask({ open: name, bytes }),
    translate: (name, text, options, { onStep, signal } = {}) => ask({ translate: name, text, options }, { onStep, signal }),
    trace: (name, text, { signal } = {}) => ask({ trace: name, text }, { signal }),
    guess: (name, text, options, { signal } = {}) => ask({ guess: name, text, options }, { signal }),
    write: (name, text, options, { onStep, signal } = {}) => ask({ write: name, text, options }, { onStep, signal }),
    close: () => (port.terminate ?? port.close).call(port),
  };
}

/* From a Blob, for a page from a file may not start a Worker from another file. */
function started(source) {
  if (!source || typeof Worker === "undefined") return null;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return new Worker(url);
  } catch {
    return null;
  } finally {
    // Not at once: the browser may not have read it yet.
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
