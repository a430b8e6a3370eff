/* A small language model writes in the page: what may follow, drawn or taken; a box for each pass, and what a
   pass costs. The build draws the start of each model; engine and model come when the reader asks for more. */
import { between } from "../page/address.mjs";
import { asker } from "../page/ask.mjs";
import { connect } from "../page/client.mjs";
import { control } from "../page/controls.mjs";
import { engine, engineIsThere } from "../page/engine.mjs";
import { answerFromFiles } from "../page/files.mjs";
import { both, el, freshId, number } from "../page/words.mjs";
import { barsOf, costOf, endedIn, idsIn, SHOWN, sentenceOf, tokensOf, wayOf, writtenIn } from "../next-word/parts.mjs";
import { ABOUT, REFUSALS, TITLE } from "../next-word/texts.mjs";

const LONGEST = 200, MOST = 120, PAUSE = 140, KEPT = 200;
const KEYS = ["name", "prompt", "wrote", "t", "p"];

/** `models`: [{ name, bytes, size, sizes, subwords, prompts, prompt, wrote, face: { tokens, read, guess } }], the first shown first;
    `wrote`: numbers of the tokens written behind the prompt, 3 at the end for the end of the text. */
const begin = { name: "", prompt: "", wrote: "", t: 0.8, p: 0.95, models: [] };

const modelIn = (model, name = model.get("name")) => model.get("models").find((each) => each.name === name);
const address = {
  name: (text, model) => modelIn(model, text)?.name,
  prompt: (text) => (text.trim() && text.length <= LONGEST ? text : undefined),
  wrote: (text, model) => {
    if (!/^\d+(\.\d+)*$/.test(text)) return text === "" ? "" : undefined;
    const ids = idsIn(text), { size } = modelIn(model);
    return ids.length <= MOST && ids.every((id, i) => (id > 3 && id < size) || (id === 3 && i === ids.length - 1)) ? text : undefined;
  },
  t: between(0, 2), p: between(0.05, 1),
};

class Writer {
  constructor(model, root) {
    Object.assign(this, { model, root, known: new Map(), opened: new Map(), headers: new Map(), running: null, asked: 0, writing: null, shown: null });
    for (const each of model.get("models")) {
      const start = { name: each.name, prompt: each.prompt, wrote: each.wrote, t: begin.t, p: begin.p };
      this.known.set(this.key(start), { ...each.face, ended: false });
    }
    this.fill();
    this.soon = () => {
      if (this.waiting) return;
      this.waiting = true;
      queueMicrotask(() => { this.waiting = false; this.follow(); });
    };
    KEYS.forEach((key) => model.on(`change:${key}`, this.soon));
    this.follow();
    root.classList.add("live-ready");
  }

  state() { return Object.fromEntries(KEYS.map((key) => [key, this.model.get(key)])); }

  set(changes) {
    for (const [key, value] of Object.entries(changes)) this.model.set(key, value);
    this.model.save_changes();
  }

  key({ name, prompt, wrote, t, p } = this.state()) { return JSON.stringify([name, prompt, wrote, t, p]); }

  /* ---- what stands in the figure ---- */

  fill() {
    const { model } = this, id = freshId(), label = freshId(), host = { get: (key) => model.get(key), set: (changes) => this.set(changes), state: () => this.state() };
    const button = (text, click, name = "") => el("button", { type: "button", class: name, click }, both(text));
    this.tokens = el("p", { class: "next-tokens" });
    this.bars = el("div", { class: "next-list" });
    this.said = el("p", { class: "live-readout", "aria-live": "polite" });
    this.status = el("p", { class: "live-note next-status", role: "status" });
    this.bar = el("progress", { hidden: true, "aria-labelledby": label });
    this.one = button(["写一个", "Write one"], () => this.write(1), "live-go");
    this.on = button(["一直写", "Write on"], () => (this.writing ? this.stop() : this.write(MOST)));
    this.less = button(["收回一个", "Take one back"], () => this.do({ wrote: idsIn(model.get("wrote")).slice(0, -1).join(".") }));
    this.over = button(["从头来", "Start over"], () => this.do({ wrote: "" }));
    this.link = button(["复制链接", "Copy link"], () => this.copyLink());
    this.sliders = [
      { kind: "slider", key: "t", title: ["温度（0：只取第一）", "Temperature (0: the first)"], min: 0, max: 2, step: 0.1, write: (value) => number(value, 1) },
      { kind: "slider", key: "p", title: ["top-p", "Top-p"], min: 0.05, max: 1, step: 0.05, write: (value) => number(value, 2) },
    ].map((each) => control(each, host));
    const models = model.get("models");
    this.choice = control({ kind: "choice", key: "name", title: ["模型", "Model"], options: models.map(({ name }) => [name, ABOUT[name].title]) },
      { ...host, set: ({ name }) => { const { prompt, wrote } = modelIn(model, name); this.do({ name, prompt, wrote }); } });
    this.text = el("input", { type: "text", id, dir: "auto", spellcheck: "false", autocomplete: "off", maxlength: LONGEST });
    this.prompts = el("span", { class: "live-row live-chips next-prompts" });
    this.costs = el("div", { class: "live-scroll", tabindex: 0, role: "group", "aria-labelledby": label });
    this.root.replaceChildren(el("div", { class: "live next-word" }, el("p", { id: label, class: "live-hidden" }, both(TITLE)),
      this.tokens, this.bars, this.status, this.bar,
      el("div", { class: "live-controls" }, el("div", { class: "live-row" }, this.one, this.on, this.less, this.over, this.link),
        this.sliders.map((each) => each.element)),
      this.said,
      el("div", { class: "live-controls" }, models.length > 1 ? this.choice.element : "",
        el("form", { class: "live-row next-form", submit: (event) => { event.preventDefault(); this.ask(this.text.value); } },
          el("label", { for: id, class: "live-muted" }, both(["开头", "Beginning"])), this.text, el("button", { type: "submit" }, both(["读", "Read"])), this.prompts)),
      this.costs));
  }

  /** Show a view of the state; `null` while none is known. */
  show(view) {
    const { name, wrote, prompt } = this.state(), focused = this.bars.contains(document.activeElement);
    this.shown = view;
    this.tokens.replaceChildren(...tokensOf(view).flat(Infinity));
    this.bars.replaceChildren(...barsOf(view, (choice) => this.do({ wrote: [...idsIn(this.model.get("wrote")), choice.id].join(".") })));
    if (focused) (this.bars.querySelector("button") ?? this.over).focus({ preventScroll: true });
    this.said.replaceChildren(...both(sentenceOf(view)));
    this.costs.replaceChildren(costOf(view));
    if (this.named !== name) {
      this.named = name;
      this.prompts.replaceChildren(...modelIn(this.model).prompts.map((each) =>
        el("button", { type: "button", translate: "no", lang: ABOUT[name].lang, click: () => this.ask(each) }, each)));
    }
    if (this.text !== document.activeElement) this.text.value = prompt;
    this.tell();
    this.less.disabled = this.over.disabled = !wrote;
  }

  /** What the controls allow now. While one word follows another, a screen reader is told nothing. */
  tell() {
    this.said.setAttribute("aria-live", this.writing ? "off" : "polite");
    const { wrote } = this.state(), full = endedIn(wrote) || idsIn(wrote).length >= MOST;
    this.one.disabled = full || Boolean(this.writing);
    this.on.disabled = full && !this.writing;
    this.on.replaceChildren(...both(this.writing ? ["停", "Stop"] : ["一直写", "Write on"]));
    this.on.setAttribute("aria-pressed", String(Boolean(this.writing)));
    const state = this.state();
    this.choice.follow(state);
    for (const each of this.sliders) each.follow(state);
  }

  /* ---- engine and models ---- */

  open(name) {
    if (!this.opened.has(name)) {
      const ask = asker(this.model), { bytes } = modelIn(this.model, name);
      this.bar.removeAttribute("value");
      const starting = (engineIsThere() ? Promise.resolve() : ask("engine", "engine")).then(() => (this.running ??= connect(engine())));
      const done = Promise.all([starting, ask("model", name, (count) => { this.bar.value = count / bytes; })])
        .then(([running, found]) => running.open(name, found.bytes)).then((header) => { this.headers.set(name, header); return this.running; });
      this.opened.set(name, done);
      done.catch(() => this.opened.delete(name)); // what failed may succeed the next time
    }
    return this.opened.get(name);
  }

  /** The model, with a word on how long it takes. */
  async ready(name) {
    const { bytes } = modelIn(this.model, name), size = number(bytes / 1e6, 1);
    const slow = setTimeout(() => {
      this.bar.hidden = false;
      this.status.replaceChildren(...both([`正在取模型（${size} MB）……`, `Loading the model (${size} MB) …`]));
    }, 150);
    try {
      const running = await this.open(name);
      this.status.replaceChildren();
      return running;
    } finally {
      clearTimeout(slow);
      this.bar.hidden = true;
    }
  }

  refuse(error) {
    this.status.replaceChildren(...both((REFUSALS[error.reason] ?? REFUSALS.failed)(error.details ?? { message: error.message })));
  }

  /** What follows in a state. */
  async guess(state) {
    const { name, prompt, wrote } = state, key = this.key(state);
    if (this.known.has(key)) return this.known.get(key);
    const running = await this.ready(name), after = writtenIn(wrote), { vocabulary } = this.headers.get(name);
    const found = await running.guess(name, prompt, { after, count: SHOWN, ...wayOf(state) });
    const view = { tokens: found.ids.map((id) => vocabulary[id]), read: found.tokens.length, guess: found, ended: endedIn(wrote) };
    if (this.known.size > KEPT) this.known.clear();
    this.known.set(key, view);
    return view;
  }

  /** Bring the figure up to the state. */
  async follow() {
    const state = this.state(), mine = ++this.asked;
    try {
      const found = await this.guess(state);
      if (mine !== this.asked) return; // something else was asked meanwhile
      this.valid = state;
      this.show({ ...found, about: this.about(state), t: state.t, p: state.p });
    } catch (error) {
      if (mine !== this.asked) return;
      this.writing = null;
      this.refuse(error);
      const { name, prompt, wrote } = modelIn(this.model);
      // What cannot be read gives way to what is shown, or to the beginning; what could not be loaded, too.
      const before = this.valid ?? { name, prompt, wrote, t: begin.t, p: begin.p };
      if (this.key(before) !== this.key(state) && this.known.has(this.key(before))) this.set(before);
      this.tell();
    }
  }

  about({ name }) {
    const { size, sizes, subwords } = modelIn(this.model, name);
    return { size, sizes, subwords, lang: ABOUT[name].lang };
  }

  /* ---- what is done ---- */

  /** A change by the reader: it ends the writing. */
  do(changes) {
    this.writing = null;
    this.status.replaceChildren();
    this.set(changes);
  }

  stop() {
    this.writing = null;
    this.tell();
  }

  ask(text) {
    if (!text.trim()) return this.refuse({ reason: "empty" });
    this.do({ prompt: text.trim(), wrote: "" });
  }

  /** Draw tokens one by one, as fast as one can read. */
  async write(most) {
    const mine = (this.writing = {}), here = () => this.writing === mine;
    this.tell();
    try {
      for (let count = 0; here() && count < most; count++) {
        const state = this.state(), began = performance.now();
        if (endedIn(state.wrote) || idsIn(state.wrote).length >= MOST) break;
        const running = await this.ready(state.name);
        let next = null;
        await running.write(state.name, state.prompt, { after: writtenIn(state.wrote), most: 1, count: SHOWN, ...wayOf(state) }, { onStep: (step) => { next = step; } });
        if (!here() || this.key() !== this.key(state)) break;
        this.set({ wrote: [...idsIn(state.wrote), next.id].join(".") });
        if (most > 1 && !next.ended) await new Promise((resume) => setTimeout(resume, Math.max(0, PAUSE - (performance.now() - began))));
      }
    } catch (error) {
      this.refuse(error);
    }
    if (here()) this.stop();
  }

  async copyLink() {
    const written = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.status.replaceChildren(...both(written ? ["已复制。", "Copied."] : ["链接就在地址栏里。", "The link is in the address bar."]));
  }

  close() {
    this.writing = null;
    KEYS.forEach((key) => this.model.off(`change:${key}`, this.soon));
    this.running?.close();
  }
}

/** Who reads English alone begins with a model that writes it, unless the address says what to show. */
function inOwnLanguage(model, root) {
  const english = model.get("models").find(({ name }) => ABOUT[name].lang === "en");
  if (document.documentElement.dataset.language !== "en" || !english || location.hash.startsWith(`#${root.id}`)) return;
  for (const key of ["name", "prompt", "wrote"]) model.set(key, english[key]);
}

function render({ model, el: root }) {
  inOwnLanguage(model, root);
  const writer = new Writer(model, root);
  return () => writer.close();
}

/** The state of a page. `given`: what the build found for each model, see `begin`. */
const start = ({ models, begin: own }) => {
  const [{ name, prompt, wrote }] = models;
  return { name, prompt, wrote, ...own, models };
};

/** What stands in the page without scripts, and in print. */
function still(given) {
  const [{ name, size, sizes, subwords, face }] = given.models, label = freshId();
  const view = { ...face, ended: false, about: { size, sizes, subwords, lang: ABOUT[name].lang }, t: begin.t, p: begin.p };
  return el("div", { class: "live next-word" }, el("p", { id: label, class: "live-hidden" }, both(TITLE)),
    el("p", { class: "next-tokens" }, tokensOf(view)), el("div", { class: "next-list" }, barsOf(view)),
    el("p", { class: "live-readout" }, both(sentenceOf(view))), el("div", { class: "live-scroll" }, costOf(view)));
}

export default { begin, address, render, start, still, inPage: answerFromFiles, replaces: true };
