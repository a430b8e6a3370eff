/* A widget asks whoever mounted it, the page or a kernel, for a file; see files.mjs. */

/** Returns `ask(load, name, onPart)`, which gives what came, `bytes` among it. */
export function asker(model) {
  return (load, name, onPart) => new Promise((resolve, reject) => {
    const hear = (message, buffers) => {
      if (message.name === name && message.loading === load) return onPart?.(message.count);
      if (message.name !== name || (message.loaded ?? message.failed) !== load) return;
      model.off("msg:custom", hear);
      if (message.failed) return reject(Object.assign(new Error("load"), { reason: "load" }));
      const [buffer] = buffers ?? [];
      resolve({ ...message, bytes: buffer && new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) });
    };
    model.on("msg:custom", hear);
    model.send({ load, name });
  });
}
