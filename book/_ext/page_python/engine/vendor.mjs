// Writes the files of this folder from the npm package `pyodide`, unpacked:
//   npm pack pyodide@VERSION && tar xzf pyodide-VERSION.tgz && node vendor.mjs package
// Run for another version of Pyodide alone; a build of the book copies what stands here.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const source = path.resolve(process.argv[2]);
const read = (name) => fs.readFileSync(path.join(source, name), "utf8");
const write = (name, bytes) => fs.writeFileSync(path.join(here, `${name}.gz`), zlib.gzipSync(bytes, { level: 9 }));

// --- the engine: WebAssembly as it is, and its two modules as one text ---------------------------
// The worker is a classic one, since a browser starts no module from a text of a page at file://,
// and Pyodide's loader refuses a worker that has importScripts.
const engine = read("pyodide.asm.mjs")
  .replace("export default _createPyodideModule;", "")
  .replaceAll("import.meta.url", '"page:/pyodide.asm.mjs"');
const loader = read("pyodide.mjs")
  .replace(/\/\/# sourceMappingURL.*/, "")
  .replace(/export\{(\w+) as loadPyodide,\w+ as version\};/, "return $1;");
if (/^export|import\.meta/m.test(engine + loader) || !/return \w+;\s*$/.test(loader)) {
  throw new Error("Pyodide's modules look otherwise than expected");
}
const { info } = JSON.parse(read("pyodide-lock.json")); // without its packages, which need a network
const { version } = JSON.parse(read("package.json"));
write("pyodide.asm.wasm", fs.readFileSync(path.join(source, "pyodide.asm.wasm")));
write("pyodide.js", `// Pyodide ${version}, MPL-2.0, https://github.com/pyodide/pyodide
self.importScripts = undefined;
const LOCK_INFO = ${JSON.stringify(info)};
${engine}
const loadPyodide = (() => {${loader}})();
`);

// --- the standard library: the part that stands in `modules`, compiled ---------------------------
const { loadPyodide } = await import(pathToFileURL(path.join(source, "pyodide.mjs")));
const python = await loadPyodide();
python.globals.set("script", fs.readFileSync(path.join(here, "pack_library.py"), "utf8"));
python.runPython('exec(compile(script, "pack_library.py", "exec"), {"__name__": "__main__"})');
write("library.zip", python.FS.readFile("/library.zip"));
for (const name of fs.readdirSync(here).filter((each) => each.endsWith(".gz"))) {
  console.log(name, fs.statSync(path.join(here, name)).size);
}
process.exit(0);
