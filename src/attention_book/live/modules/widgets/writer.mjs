/* A language model that writes: a beginning, what may follow, and the draws, one by one or on and on. The
   model is in the page itself. */
import { between } from "../page/address.mjs";
import { connect } from "../page/client.mjs";
import { control } from "../page/controls.mjs";
import { engine } from "../page/engine.mjs";
import { unpacked } from "../page/files.mjs";
import { both, direction, el, freshId, number, visible } from "../page/words.mjs";
import { about, drawnFrom, END, HALF, LOADING, OPEN, REFUSALS, STOPPED, TITLE } from "../writer/texts.mjs";

const PAUSE = 60; // milliseconds between two tokens, so that one can follow
const SETTINGS = [
  { key: "temperature", title: ["温度", "Temperature"], min: 0.1, max: 2, step: 0.1, write: (value) => number(value, 1) },
  { key: "topK", title: ["top-k", "Top-k"], min: 0, max: 100, step: 1, write: (value) => (value ? String(value) : ["全部", "all"]) },
  { key: "topP", title: ["top-p", "Top-p"], min: 0.05, max: 1, step: 0.05, write: (value) => number(value) },
  { key: "minP", title: ["min-p", "Min-p"], min: 0, max: 0.5, step: 0.01, write: (value) => number(value) },
];

/** `data`: { name, weights (base64), parameters (how many), beginnings, origin }. */
const begin = { data: null, language: "", text: "", temperature: 0.8, topK: 0, topP: 0.95, minP: 0 };
const address = { text: (text) => text.slice(0, 300), ...Object.fromEntries(SETTINGS.map(({ key, min, max }) => [key, between(min, max)])) };

function render({ model, el: root }) {
  const set = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
  };
  const { name, weights, parameters, beginnings, origin } = model.get("data");
  const running = connect(engine()), opening = opened();
  // What was written behind the beginning, what may follow, and whether the text has ended.
  let after = [], added = "", next = null, ended = false, writing = null, asked = 0, header = null;

  const id = freshId(), title = freshId(), label = freshId();
  const text = el("textarea", { id, rows: 2, dir: "auto", spellcheck: "false", autocomplete: "off",
    input: () => { stop(); set({ text: text.value }); },
    keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      toggle();
    } });
  const written = el("p", { class: "live-status live-writing", translate: "no", "aria-live": "off" });
  const status = el("p", { id: label, class: "live-note", role: "status" }), bar = el("progress", { "aria-labelledby": label });
  const say = (words) => status.replaceChildren(...both(words));
  const button = (words, click, more = {}) => el("button", { type: "button", click, ...more }, both(words));
  const one = button(["写一个", "Write one"], () => write(1)), on = button(["一直写", "Write on"], toggle, { class: "live-go" });
  const back = button(["收回一个", "Take one back"], () => go(after.slice(0, -1))), over = button(["从头来", "Start over"], () => go([]));
  const heading = el("p", { id: title, class: "live-strong" }, both(TITLE));
  const bars = el("div", { class: "live-next", role: "group", "aria-labelledby": title });
  const readout = el("p", { class: "live-note" }), note = el("p", { class: "live-note" });
  const sliders = SETTINGS.map((each) => control({ kind: "slider", ...each }, { get: (key) => model.get(key), set }));
  const chips = el("div", { class: "live-row live-chips" }, beginnings.map((each) =>
    el("button", { type: "button", dir: "auto", translate: "no", click: () => { stop(); set({ text: each }); } }, visible(each))));
  root.replaceChildren(el("div", { class: "live" },
    el("form", { class: "live-form", submit: (event) => event.preventDefault() },
      el("label", { for: id }, both(["写一个开头，或挑一个", "Write a beginning, or pick one"])), text, chips,
      el("div", { class: "live-row" }, on, one, back, over)),
    written, status, bar, heading, bars, readout,
    el("div", { class: "live-controls" }, sliders.map((each) => each.element)), note));

  async function opened() {
    // The page is drawn first: unpacking takes a moment.
    await new Promise((resume) => setTimeout(resume, 30));
    const bytes = unpacked(weights);
    header = await running.open(name, bytes);
    note.replaceChildren(...both(about({ parameters, vocabulary: header.vocabulary.length, subwords: header.subwords, bytes: bytes.length })), ...from());
    bar.hidden = true;
    say(OPEN);
  }

  /** Where its texts are from. */
  const from = () => (origin ? [" ", ...both(["文本：", "Texts: "]), el("a", { href: origin.address }, origin.name), both(["，许可证 ", ", "]),
    el("a", { href: origin.terms }, origin.license), both(["。", "."])].flat() : []);

  const how = () => {
    const { temperature, topK, topP, minP } = Object.fromEntries(SETTINGS.map(({ key }) => [key, model.get(key)]));
    return { temperature, topK: topK || null, topP, minP: minP || null };
  };
  const prompt = () => model.get("text").trim();

  function refuse(error) {
    if (error.reason === "cancelled") return;
    say((REFUSALS[error.reason] ?? REFUSALS.failed)(error.details ?? { message: error.message }));
  }

  /** Show what was written, and what may follow it. */
  function show() {
    const size = header?.vocabulary.length;
    written.replaceChildren(el("bdi", {}, prompt()), el("bdi", { class: "live-strong" }, added));
    written.dir = direction([prompt()]);
    const longest = Math.max(...(next?.choices ?? []).flatMap(({ probability, share }) => [probability, share]));
    const held = [...bars.children].indexOf(document.activeElement);
    heading.hidden = !next || ended;
    bars.replaceChildren(...(next && !ended ? next.choices.map((each) => choice(each, longest)) : []));
    if (held >= 0) (bars.children[held] ?? one).focus({ preventScroll: true });
    readout.replaceChildren(...(next && !ended ? both(drawnFrom(next, size)) : []));
    tell();
  }

  function choice({ id: token, text: piece, start, end, probability, share }, longest) {
    const label = end ? both(END) : /\ufffd/u.test(piece) ? both(HALF) : el("bdi", { translate: "no" },
      start ? el("span", { class: "live-begun" }, start) : "", visible(start || /^\s+$/u.test(piece) ? piece : piece.replace(/^ /u, "")));
    const found = el("button", { type: "button", class: share ? "live-choice-bar" : "live-choice-bar live-cut", click: () => take(token, end) },
      el("span", { class: "live-choice-word" }, label), el("span", { class: "live-choice-place" }, el("i"), el("b")),
      el("span", { class: "live-choice-number" }, `${number(100 * probability, 1)}%`));
    found.style.setProperty("--probability", probability / longest); // by CSSOM: a style attribute would be against a policy
    found.style.setProperty("--share", share / longest);
    return found;
  }

  function tell() {
    const ready = Boolean(header);
    on.disabled = !ready;
    one.disabled = !ready || Boolean(writing);
    back.disabled = over.disabled = !after.length;
    on.replaceChildren(...both(writing ? ["停", "Stop"] : ["一直写", "Write on"]));
    on.setAttribute("aria-pressed", String(Boolean(writing)));
    for (const each of sliders) each.follow({ ...Object.fromEntries(SETTINGS.map(({ key }) => [key, model.get(key)])) });
  }

  /** What follows the beginning and these tokens. */
  async function look(tokens, ends = false) {
    const mine = ++asked;
    try {
      await opening;
      const found = await running.guess(name, prompt(), { after: tokens, count: 10, ...how() });
      if (mine !== asked) return;
      [after, next, ended] = [tokens, found, ends];
      added = found.added;
      say(ended ? STOPPED.end : [" ", " "]);
    } catch (error) {
      if (mine !== asked) return;
      [after, next, ended, added] = [[], null, false, ""];
      refuse(error);
    }
    show();
  }

  const go = (tokens) => { stop(); look(tokens); };
  const take = (token, end) => { stop(); look(end ? after : [...after, token], end); };

  function stop() {
    writing = null;
    tell();
  }

  function toggle() {
    if (!writing) return write(Infinity);
    stop();
    say(STOPPED.stop);
  }

  async function write(most) {
    const mine = (writing = {}), here = () => writing === mine;
    asked++; // a look that is on its way comes too late
    if (ended || !next) [after, added, ended] = [[], "", false];
    tell();
    try {
      await opening;
      say([" ", " "]);
      for (let count = 0; here() && count < Math.min(most, header.context) && !ended; count++) {
        const began = performance.now();
        let step = null;
        const done = await running.write(name, prompt(), { after, most: 1, count: 10, ...how() }, { onStep: (found) => { step = found; } });
        if (!here()) return;
        if (!step) { say(STOPPED.full); break; }
        [after, added, next, ended] = [done.ids, step.ended ? done.added : step.added, step.guess ?? next, step.ended];
        if (ended) say(STOPPED.end);
        else if (!step.guess) say(STOPPED.full);
        show();
        if (most > 1 && !ended) await new Promise((resume) => setTimeout(resume, Math.max(0, PAUSE - (performance.now() - began))));
      }
    } catch (error) {
      if (!here()) return;
      refuse(error);
    }
    if (here()) stop();
  }

  const begun = () => {
    if (text.value !== model.get("text")) text.value = model.get("text");
    look([]);
  };
  const changed = () => { if (!writing) look(after, ended); else tell(); };
  model.on("change:text", begun);
  SETTINGS.forEach(({ key }) => model.on(`change:${key}`, changed));
  if (!model.get("text")) model.set("text", beginnings[0] ?? "");
  say(LOADING);
  begun();
  tell();
  root.classList.add("live-ready");
  return () => {
    writing = null;
    model.off("change:text", begun);
    SETTINGS.forEach(({ key }) => model.off(`change:${key}`, changed));
    running.close();
  };
}

export default { begin, address, render };
