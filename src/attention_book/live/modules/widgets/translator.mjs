/* The translator: a sentence goes in, its translation comes out word by word, and where the model
   looked. It shows an example until somebody asks; then it loads the engine and the model. */
import { oneOf } from "../page/address.mjs";
import { asker } from "../page/ask.mjs";
import { connect } from "../page/client.mjs";
import { engine, engineIsThere } from "../page/engine.mjs";
import { answerFromFiles } from "../page/files.mjs";
import { both, el, freshId } from "../page/words.mjs";
import { answer, stillAnswer } from "../translator/answer.mjs";
import { form } from "../translator/form.mjs";
import { proposed, textOf } from "../translator/pieces.mjs";
import { LANG, REFUSALS, SWITCHES } from "../translator/texts.mjs";
import { KINDS } from "../translator/views.mjs";

/** `models`: [{ name, source, target, model, example? }], the first shown first. An example that is
    not there is asked for. `switches`: names of what is taken out. */
const begin = { models: [], name: "", text: "", width: 1, kind: "cross", layer: 0, head: 0, switches: "", result: null };

const small = oneOf([-1, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
const address = {
  name: (text, model) => model.get("models").find((each) => each.name === text)?.name,
  text: (text) => text.slice(0, 300),
  width: oneOf([1, 4]), kind: oneOf(Object.keys(KINDS)), layer: small, head: small,
  switches: (text) => Object.keys(SWITCHES).filter((key) => text.split(" ").includes(key)).join(" "),
};

function render({ model, el: root }) {
  const set = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
  };
  const ask = asker(model), opened = new Map(), ready = new Set();
  const entry = () => model.get("models").find((each) => each.name === model.get("name")) ?? model.get("models")[0];
  const shown = () => entry().example;
  let running = null, going = null;

  const label = freshId(), status = el("p", { id: label, class: "live-status", role: "status" });
  const bar = el("progress", { hidden: true, "aria-labelledby": label });
  const say = (...content) => status.replaceChildren(...content.flat());
  const submit = (text) => (text === model.get("text") ? translate() : set({ text }));
  const fields = form({
    get: (key) => model.get(key), set,
    submit,
    stop: () => going?.abort(),
    reach: () => { open(entry().name).catch(() => {}); },
    toggle: (key, on) => {
      const rest = model.get("switches").split(" ").filter((each) => each && each !== key);
      set({ switches: [...rest, ...(on ? [key] : [])].join(" ") });
    },
  });
  const view = answer({ model, set, example: shown, submit });
  root.replaceChildren(el("div", { class: "live" }, fields.element, status, bar, view.words, view.element));

  /** The engine, started once. */
  const engineNow = () => (running ??= (engineIsThere() ? Promise.resolve() : ask("engine", "engine")).then(() => connect(engine())));

  /** Open a model once; what failed may succeed the next time. */
  function open(name) {
    if (!opened.has(name)) {
      const arrive = (count) => { if (name === entry().name && shown()?.bytes) bar.value = count / shown().bytes; };
      bar.removeAttribute("value");
      opened.set(name, Promise.all([engineNow(), ask("model", name, arrive)]).then(([found, { bytes }]) =>
        found.open(name, bytes).then(() => { ready.add(name); return found; })));
      opened.get(name).catch(() => { opened.delete(name); });
      engineNow().catch(() => { running = null; });
    }
    return opened.get(name);
  }

  async function translate() {
    going?.abort();
    const abort = (going = new AbortController()), { name, source, target } = entry();
    const text = model.get("text"), width = model.get("width"), names = model.get("switches").split(" ").filter(Boolean);
    fields.busy(true);
    try {
      const opening = open(name);
      bar.hidden = ready.has(name);
      if (!bar.hidden) say(both(["正在取模型……", "Loading the model …"]));
      const found = await opening, began = performance.now();
      if (going !== abort) return;
      bar.hidden = true;
      const run = (switches) => found.translate(name, text, { width, lengthPenalty: 1, switches }, {
        signal: abort.signal, onStep: ({ tokens }) => { if (going === abort) view.writing(tokens, LANG[target]); },
      });
      const broken = entry().model === "transformer" && names.length > 0;
      const intact = await run({}), result = broken ? { ...(await run(taken(names))), intact: intact.target } : intact;
      if (going !== abort) return;
      view.reset();
      set({ result: { ...result, text, width, switches: names.join(" ") } });
      const time = (performance.now() - began).toFixed(0), cut = !result.finished;
      say(sentence(result.target, target), el("small", {}, both([
        `（${time} 毫秒${cut ? "，到长度上限为止" : ""}）`, `(${time} ms${cut ? ", cut off at the length limit" : ""})`])));
    } catch (error) {
      if (going !== abort) return; // given up: whatever came of it concerns nobody
      const tell = REFUSALS[error.reason] ?? REFUSALS.failed;
      say(both(tell(error.details ?? { message: error.message })), ready.has(name) ? [] : back());
    } finally {
      if (going === abort) { going = null; bar.hidden = true; fields.busy(false); }
    }
  }

  /** Give up the translation that is being written: it is of a model that is no longer chosen. */
  function drop() {
    going?.abort();
    going = null;
    bar.hidden = true;
    fields.busy(false);
  }

  /** Choose the model again whose translation stands; what to say of it. */
  function back() {
    const before = model.get("result")?.model;
    if (!before || before === entry().name) return [];
    quiet = true;
    set({ name: before });
    quiet = false;
    fields.follow(shown());
    return [" ", ...both(REFUSALS.back())];
  }

  /** What the engine is to leave out. */
  const taken = (names) => Object.fromEntries(names.map((key) => [key, key !== "headOff" ? true
    : { kind: model.get("kind"), layer: model.get("layer"), head: model.get("head") }]));
  const sentence = (tokens, language) => el("bdi", { translate: "no", lang: LANG[language], class: "live-strong" },
    textOf(tokens.filter((token) => token !== "<eos>"), language, shown()));

  /** Show the chosen model: its own example first, then, if the text is another one, that. */
  async function present({ first: atStart = false } = {}) {
    const { name, target } = entry(), keys = ["text", "kind", "layer", "head"];
    const before = keys.map((key) => model.get(key));
    if (!entry().example) {
      const { example } = await ask("example", name).catch(() => ({}));
      if (!example) return entry().name === name ? say(both(REFUSALS.load()), back()) : undefined;
      model.set("models", model.get("models").map((each) => (each.name === name ? { ...each, example } : each)));
    }
    if (entry().name !== name) return; // another one was chosen meanwhile
    const { sentences, source, best, result } = shown(), own = proposed(sentences[0], shown());
    const asked = keys.some((key, i) => model.get(key) !== before[i]); // by the address, while the example came
    const kept = model.get("text") && (atStart || asked || source === spoken), text = kept ? model.get("text") : own;
    spoken = source;
    quiet = true;
    set({ name, text, ...(best && !atStart && !asked ? { kind: "cross", layer: best.layer, head: best.head } : {}) });
    quiet = false;
    fields.follow(shown());
    if (text !== own || model.get("switches") || model.get("width") !== 1) return translate();
    set({ result: { ...result, text, width: 1, switches: "" } });
    say(sentence(result.target, target));
  }
  let spoken = null, quiet = false; // the language of the text; whether a change of it is our own

  const listeners = [];
  const on = (keys, listener) => keys.forEach((key) => { model.on(`change:${key}`, listener); listeners.push([key, listener]); });
  const again = () => {
    if (quiet || !shown()) return;
    fields.follow(shown());
    translate();
  };
  on(["name"], () => {
    if (quiet) return;
    drop();
    present();
  });
  on(["text", "width", "switches"], again);
  on(["kind", "layer", "head"], () => { if (model.get("switches").includes("headOff")) again(); });
  on(["result", "kind", "layer", "head"], () => view.follow());
  present({ first: true });
  root.classList.add("live-ready");
  return () => {
    listeners.forEach(([key, listener]) => model.off(`change:${key}`, listener));
    running?.then((found) => found.close());
  };
}

/** What stands in the page without scripts: the first model's example. */
const still = (example) => el("div", { class: "live" }, stillAnswer(example, freshId()));

/** The state of a page that has these models, the first shown first: from their examples. */
function start(examples) {
  const [{ name, sentences: [first], best }] = examples;
  return {
    models: examples.map(({ name, source, target, model, ...rest }) =>
      ({ name, source, target, model, ...(rest.subwords ? { subwords: true, bytes: rest.bytes } : {}) })),
    name, text: proposed(first, examples[0]), layer: best?.layer ?? 0, head: best?.head ?? 0,
  };
}

export default { begin, address, render, start, still, inPage: answerFromFiles };
