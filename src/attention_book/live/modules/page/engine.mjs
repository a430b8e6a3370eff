/* The engine, once its script is there: for this thread as it is, for a Worker as text. */

/** What `connect` in client.mjs takes. The Worker's source is put together from the text of the
    engine's modules, which stand in a bundle as functions, each after those that it needs. */
export function engine() {
  const { factories, modules } = globalThis.attentionBookLive;
  const defined = Object.entries(factories).filter(([name]) => name.startsWith("engine/"))
    .map(([name, factory]) => `modules[${JSON.stringify(name)}] = (${factory})(modules);\n`);
  return {
    serve: modules["engine/serve"].serve,
    workerSource: `"use strict";\nconst modules = {};\n${defined.join("")}modules["engine/serve"].serve(self);\n`,
  };
}

export const engineIsThere = () => "engine/serve" in (globalThis.attentionBookLive?.modules ?? {});
