/* One pass through the whole Transformer: from the model to a layer, to a head, to one number, and back; and
   one token's vector on its way through all stations. Two gestures: a press goes closer, arrows walk. The first
   view is drawn by the build; engine and model come when the figure is first touched. */
import { asker } from "../page/ask.mjs";
import { connect } from "../page/client.mjs";
import { engine, engineIsThere } from "../page/engine.mjs";
import { answerFromFiles } from "../page/files.mjs";
import { shade } from "../page/ramp.mjs";
import { both, el, freshId, visible } from "../page/words.mjs";
import { proposal } from "../translator/form.mjs";
import { LANG, REFUSALS } from "../translator/texts.mjs";
import { drawing, face } from "../walk/drawing.mjs";
import { percent, plain, spoken, vary, weightText } from "../walk/draw.mjs";
import { named } from "../walk/names.mjs";
import { biggest, length, passing, reading, stations, sublayer } from "../walk/passing.mjs";
import { address, along, AUTO, begin as nothing, choose, closer, digit, KEYS, listed, out, viewOf, write } from "../walk/state.mjs";
import { placeName } from "../walk/story.mjs";

const WIDE = 800, NARROW = 344, MIDDLE = 680, LEAST = 300, KEPT = 4;

/** `example`: the model (name, source, target, subwords, stories [{ text, word }] …) and the face of the first view. */
const begin = { ...nothing, example: null };

class Walk {
  constructor(model, root) {
    Object.assign(this, { model, root, example: model.get("example"), passes: new Map(), view: null, going: null, running: null, opened: null });
    this.start = this.state();
    const button = (className, change, ...text) => el("button", { type: "button", class: className, click: change }, text);
    const label = freshId(), say = (text) => both(text);
    this.lines = { enc: this.line("enc", ["源句", "Source"]), dec: this.line("dec", ["译文", "Written"]) };
    this.path = el("nav", { class: "walk-path" });
    this.out = button("walk-zoom", () => this.do(out), "－");
    this.closer = button("walk-zoom", () => this.do(closer, true), "＋");
    this.back = button("walk-arrow-button", () => this.do((view) => along(view, -1)), "←");
    this.on = button("walk-arrow-button live-go", () => this.do((view) => along(view, 1)), "→");
    this.title = el("p", { class: "walk-title" });
    this.sentence = el("p", { class: "walk-sentence", id: label, "aria-live": "polite" });
    this.status = el("p", { class: "walk-status", role: "status" });
    this.bar = el("progress", { hidden: true });
    this.frame = el("div", { class: "live-frame walk-frame", role: "group", "aria-labelledby": label, pointerdown: () => this.reach(),
      click: (event) => { if (!this.view) this.pressed(event.target.closest("[data-part]")?.dataset.part); } });
    this.less = button("", () => this.do((view) => write(view, -1)), say(["收回一个词", "Take a word back"]));
    this.more = button("", () => this.do((view) => write(view, 1)));
    this.again = button("", () => this.set({ ...this.start, text: this.state().text, ...(this.storyOf(this.state().text) ?? {}) }), say(["从头看", "Start over"]));
    this.link = button("", () => this.copyLink(), say(["复制链接", "Copy link"]));
    this.table = el("div", { class: "live-scroll", tabindex: 0, role: "group", "aria-labelledby": label });
    this.details = el("details", { toggle: () => this.writeTable() }, el("summary", {}, say(["全程一览", "All stations in numbers"])), this.table);
    this.figure = el("div", { class: "live walk", keydown: (event) => this.key(event), focusin: () => this.reach() },
      el("div", { class: "walk-lines" }, this.lines.enc.element, this.lines.dec.element),
      el("div", { class: "walk-bar" }, el("div", { class: "walk-where" }, this.path, this.out, this.closer), el("div", { class: "walk-station" }, this.back, this.title, this.on)),
      this.sentence, this.status, this.bar, this.frame,
      el("div", { class: "live-row walk-foot live-controls" }, this.less, this.more, this.again, this.link),
      el("p", { class: "live-note walk-keys" }, say(["键盘：← → 下一站 · ↑ ↓ 选词、头或行 · Enter 放大 · Esc 退回", "Keys: ← → previous or next station · ↑ ↓ word, head or row · Enter closer · Esc back out"])),
      this.form(), this.details);
    const drawn = [...root.querySelectorAll(".walk-frame > svg")];
    drawn.forEach((svg) => svg.setAttribute("aria-labelledby", label));
    this.frame.append(...drawn);
    root.replaceChildren(this.figure);
    this.soon = () => {
      if (this.waiting) return;
      this.waiting = true;
      queueMicrotask(() => { this.waiting = false; this.show(); });
    };
    KEYS.forEach((key) => model.on(`change:${key}`, this.soon));
    this.observer = new ResizeObserver(() => { if (this.view && Math.abs(this.view.width - this.room()) > 1) this.show(); });
    this.observer.observe(this.frame);
    this.languages = new MutationObserver(() => { this.put(this.face); if (this.view) this.show(); });
    this.languages.observe(document.documentElement, { attributes: true, attributeFilter: ["data-language"] });
    if (this.example.face && drawn.length) this.put(this.example.face);
    else this.fetch();
    root.classList.add("live-ready");
  }

  state() { return Object.fromEntries(KEYS.map((key) => [key, this.model.get(key)])); }

  set(changes) {
    for (const [key, value] of Object.entries(changes)) this.model.set(key, value);
    this.model.save_changes();
  }

  room() { return Math.max(LEAST, Math.min(WIDE, Math.floor(this.frame.clientWidth) || WIDE)); }
  storyOf(text) { return this.example.stories.find((each) => each.text === text); }

  /* ---- the model, and a pass for each sentence ---- */

  /** The reader is about to ask: what has to be loaded can be on its way. */
  reach() { this.open().catch(() => {}); }

  open() {
    if (!this.opened) {
      const ask = asker(this.model), { name, bytes } = this.example;
      this.bar.removeAttribute("value");
      const starting = (engineIsThere() ? Promise.resolve() : ask("engine", "engine")).then(() => (this.running ??= connect(engine())));
      this.opened = Promise.all([starting, ask("model", name, (count) => { if (bytes) this.bar.value = count / bytes; })])
        .then(([running, found]) => running.open(name, found.bytes).then(() => running));
      this.opened.catch(() => { this.opened = null; }); // what failed may succeed the next time
    }
    return this.opened;
  }

  /** Compute the pass of the sentence that the state names, then show it. Resolves where there is a view. */
  fetch() {
    const { text } = this.state();
    if (this.going?.text === text) return this.going.done;
    this.going?.abort.abort();
    const going = (this.going = { text, abort: new AbortController() });
    return (going.done = this.compute(going));
  }

  async compute(going) {
    const { text, abort } = going, { name, bytes } = this.example, here = () => this.going === going;
    const slow = setTimeout(() => {
      if (!here()) return;
      this.bar.hidden = false;
      this.status.replaceChildren(...both([`正在取模型（${(bytes / 1e6).toFixed(1)} MB）……`, `Loading the model (${(bytes / 1e6).toFixed(1)} MB) …`]));
    }, 150);
    try {
      const running = await this.open();
      if (!here()) return;
      const found = named(await running.trace(name, text, { signal: abort.signal }), this.example);
      if (!here()) return;
      this.passes.delete([...this.passes.keys()][KEPT - 1]);
      this.passes.set(text, found);
      this.going = null;
      this.tell(found);
      this.show();
    } catch (error) {
      if (!here()) return;
      this.going = null;
      this.status.replaceChildren(...both((REFUSALS[error.reason] ?? REFUSALS.failed)(error.details ?? { message: error.message })));
      // Whoever wrote the address: what cannot be read gives way to what is shown, or to the beginning.
      this.set(this.view ? { text: this.shown } : this.start);
    } finally {
      clearTimeout(slow);
      if (!this.going) this.bar.hidden = true;
    }
  }

  /** Words that the model does not know, and a sentence that works. */
  tell({ unknown, nearest, raw }) {
    const token = (i) => el("bdi", { translate: "no", lang: LANG[this.example.source] }, visible(raw.source[i]));
    this.status.replaceChildren(...(unknown.length ? [both(["词表里没有，读成 <unk>：", "Not in the vocabulary, read as <unk>: "]), unknown.flatMap((i, k) => [k ? ", " : "", token(i)]),
      nearest?.length ? [both(["。试试相近的一句：", ". A similar sentence that works: "]), proposal(nearest.join(this.example.source === "zh" ? "" : " "), this.example.source, (text) => this.ask(text))] : []].flat(2) : []));
  }

  /* ---- what is shown ---- */

  show() {
    const now = this.state(), found = this.passes.get(now.text);
    if (!found) {
      if (this.view || KEYS.some((key) => now[key] !== this.start[key])) this.fetch();
      return;
    }
    const before = this.view, focused = this.frame.contains(document.activeElement) || this.wanted;
    const traveler = this.frame.querySelector(".walk-traveler"), from = before && traveler && { x: Number(traveler.getAttribute("cx")), y: Number(traveler.getAttribute("cy")) };
    const view = (this.view = viewOf(now, found, this.room())), svg = drawing(view, this.actions());
    if (this.shown !== now.text) this.text.value = this.shown = now.text;
    this.frame.replaceChildren(svg);
    this.put(face(view));
    this.writeTable();
    if (focused) (this.frame.querySelector('.walk-part[tabindex="0"]') ?? this.on).focus({ preventScroll: true });
    this.wanted = false;
    this.move(svg, before, view, from);
  }

  /** Everything around the drawing. */
  put(shown) {
    this.face = shown;
    this.sentence.replaceChildren(...both(shown.sentence));
    this.title.replaceChildren(...both(shown.title), shown.count ? el("span", { class: "live-muted walk-count" }, ` ${shown.count}`) : "");
    this.path.setAttribute("aria-label", spoken(["现在在哪里", "Where you are"]));
    this.bar.setAttribute("aria-label", spoken(["正在取模型", "Loading the model"]));
    const last = shown.path.length - 1;
    this.path.replaceChildren(...shown.path.flatMap((name, n) => [n ? el("span", { "aria-hidden": "true", class: "live-muted" }, "›") : [],
      n === last ? el("span", { "aria-current": "location" }, both(name)) : el("button", { type: "button", click: () => this.set(n ? { level: n, pick: AUTO } : { at: "", level: 0, pick: AUTO }) }, both(name))]).flat());
    for (const [button, can, name] of [[this.out, "out", ["退回一级", "Back out"]], [this.closer, "closer", ["放大", "Closer"]], [this.back, "back", ["上一站", "Previous station"]],
      [this.on, "on", ["下一站", "Next station"]], [this.more, "more"], [this.less, "less"]]) {
      button.disabled = !shown.can[can];
      if (name) button.setAttribute("aria-label", spoken(name));
    }
    this.more.replaceChildren(...both(shown.more));
    this.putLine(this.lines.enc.list, "enc", shown, this.example.source);
    this.putLine(this.lines.dec.list, "dec", shown, this.example.target);
  }

  line(side, title) {
    const id = freshId(), list = el("div", { class: "walk-words", role: "toolbar", "aria-labelledby": id });
    list.addEventListener("keydown", (event) => {
      const all = [...list.children], here = all.indexOf(document.activeElement), to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: all.length - 1 }[event.key];
      if (here < 0 || to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      if (!all[to]) return;
      all.forEach((each, i) => { each.tabIndex = i === to ? 0 : -1; });
      all[to].focus();
    });
    return { list, element: el("div", { class: "walk-line" }, el("span", { id, class: "live-muted walk-line-title" }, both(title)), list) };
  }

  putLine(list, side, { lines, ghost, can }, language) {
    const had = list.contains(document.activeElement) ? [...list.children].indexOf(document.activeElement) : -1, shown = lines[side], now = shown.findIndex((each) => each.now);
    const word = (each, i) => el("button", { type: "button", tabindex: i === (had >= 0 ? had : Math.max(0, now)) ? 0 : -1, "aria-pressed": String(each.now), ...wordOf(each, language), click: () => this.do((view) => choose(view, side, i)) }, ...inWord(each));
    list.replaceChildren(...shown.map((each, i) => tinted(word(each, i), each)));
    if (side === "dec" && ghost) list.append(el("button", { type: "button", tabindex: -1, class: "walk-word ghost", lang: LANG[language], disabled: !can.more, click: () => this.do((view) => write(view, 1)) }, el("bdi", { translate: "no" }, ghost), el("small", {}, "?")));
    if (had >= 0) list.children[Math.min(had, list.children.length - 1)]?.focus({ preventScroll: true });
  }

  /** The stations of the traveler's side: what was added, how long the vector is, what it would say. Only for who opens it. */
  writeTable() {
    if (!this.details.open) return this.table.replaceChildren();
    if (!this.view) return void this.fetch();
    const { found, station, src, tgt } = this.view, side = station?.side ?? "dec", i = side === "enc" ? src : tgt, says = side === "dec";
    const head = [["站", "station"], ["加了", "added"], ["向量长", "length"], ...(says ? [["在这里读出，会写", "read out here"]] : [])];
    this.table.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, both(text))))), el("tbody", {}, stations(found, side).map((each) => {
      const { added, after } = passing(found, each, i), [said] = says ? reading(found, each, i) : [];
      return el("tr", { class: station?.n === each.n ? "now" : "" }, el("th", { scope: "row" }, both(placeName(each))), el("td", {}, added ? plain(length(added)) : ""), el("td", {}, plain(length(after))),
        said ? el("td", {}, el("bdi", { translate: "no" }, visible(said.word)), ` ${percent(said.probability)}`) : []);
    }))));
  }

  /** Zoom from the part that was pressed, or back to where one came from; the traveler walks. */
  move(svg, before, view, from) {
    const at = this.origin ?? { x: view.width / 2, y: 120 };
    this.origin = null;
    if (!before || matchMedia("(prefers-reduced-motion: reduce)").matches || !svg.animate) return;
    const nearer = view.level - before.level, traveler = svg.querySelector(".walk-traveler"), transformOrigin = `${at.x}px ${at.y}px`;
    if (nearer) svg.animate([{ transformOrigin, transform: `scale(${nearer > 0 ? 0.55 : 1.35})`, opacity: 0 }, { transformOrigin, transform: "none", opacity: 1 }], { duration: 260, easing: "cubic-bezier(.2,.7,.2,1)" });
    else if (from && traveler) traveler.animate([{ transform: `translate(${from.x - traveler.getAttribute("cx")}px, ${from.y - traveler.getAttribute("cy")}px)` }, { transform: "none" }], { duration: 300, easing: "ease-in-out" });
  }

  /* ---- what is done ---- */

  /** Change the state by what a view allows; where there is none yet, once there is. */
  async do(change, wanted = false) {
    if (!this.view) await this.fetch();
    const changes = this.view && change(this.view);
    if (!changes) return;
    this.wanted ||= wanted;
    this.set(changes);
  }

  /** A part of the drawing that still stands was pressed. */
  async pressed(key) {
    await this.fetch();
    this.frame.querySelector(`[data-part="${key}"]`)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }

  /** What a drawing may ask for. */
  actions() {
    const act = (change) => (...given) => {
      const part = this.frame.querySelector(".walk-part:focus, .walk-part:hover, .walk-part.now");
      if (part) {
        const box = part.getBoundingClientRect(), frame = this.frame.getBoundingClientRect();
        this.origin = { x: box.left - frame.left + box.width / 2, y: box.top - frame.top + box.height / 2 };
      }
      this.wanted = true;
      this.set(change(...given));
    };
    return {
      station: act((side, n) => ({ at: `${side}.${n}`, level: 1, pick: AUTO })),
      deeper: act((side, n) => ({ at: `${side}.${n}`, level: this.view.level + 1, pick: AUTO })),
      deeperAt: act((pick) => ({ pick, level: this.view.level + 1 })),
      head: act((side, n, head) => ({ at: `${side}.${n}`, head, level: 2, pick: AUTO })),
      cell: act((part, pick, event) => ({ part, pick, level: 3, ...(part === "value" ? { v: this.column(event) } : {}) })),
      part: act((part) => ({ part })), pick: act((pick) => ({ pick })), number: act((c) => ({ c })),
      token: act((side, i) => (side === "enc" ? { src: i, pick: AUTO } : { tgt: i, pick: AUTO })),
    };
  }

  /** Which of a value's numbers was pressed; by the keyboard: the largest of what the head has found. */
  column(event) {
    const { found, station, head, here } = this.view, size = found.headSize, mine = sublayer(found, station).joined[here].subarray(head * size, (head + 1) * size);
    if (!event?.clientX) return biggest(mine.map(Math.abs));
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(size - 1, Math.floor((event.clientX - box.left) / box.width * size)));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT|TEXTAREA|SUMMARY)$/.test(event.target.tagName)) return;
    const change = { ArrowRight: (view) => along(view, 1), ArrowLeft: (view) => along(view, -1), ArrowUp: (view) => listed(view, -1), ArrowDown: (view) => listed(view, 1), Escape: out }[event.key]
      ?? (/^[1-9]$/.test(event.key) ? (view) => digit(view, Number(event.key)) : null);
    if (!change || (event.key === "Escape" && !this.view?.station)) return;
    event.preventDefault();
    this.do(change, event.key === "Escape");
  }

  /* ---- a sentence of one's own ---- */

  form() {
    const id = freshId(), { source, stories } = this.example;
    this.text = el("textarea", { id, rows: 2, dir: "auto", lang: LANG[source], spellcheck: "false", autocomplete: "off", keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.ask(this.text.value);
    } });
    this.text.value = this.state().text;
    return el("details", { class: "walk-form" }, el("summary", {}, both(["换一句话", "Another sentence"])),
      el("form", { class: "live-form", submit: (event) => { event.preventDefault(); this.ask(this.text.value); } },
        el("label", { for: id }, both(["写一句话，或挑一句", "Write a sentence, or pick one"])), this.text, el("div", { class: "live-row live-chips" }, stories.map((each) => proposal(each.text, source, (text) => this.ask(text)))),
        el("div", { class: "live-row" }, el("button", { type: "submit", class: "live-go" }, both(["走一遍", "Walk"])))));
  }

  /** Go through with this sentence, from its first word or from where its story is. */
  ask(text) {
    this.text.value = text;
    this.set({ ...nothing, text, word: this.storyOf(text)?.word ?? 0 });
    if (!this.passes.has(text)) this.fetch();
  }

  async copyLink() {
    const text = `${location.href.split("#")[0]}${location.hash.startsWith(`#${this.root.id}`) ? location.hash : `#${this.root.id}`}`;
    const copied = await Promise.resolve().then(() => navigator.clipboard.writeText(text)).then(() => true, () => false);
    this.status.replaceChildren(...(copied ? both(["链接已复制。", "Link copied."]) : [text]));
  }

  close() {
    this.observer.disconnect();
    this.languages.disconnect();
    this.going?.abort.abort();
    this.running?.close();
    KEYS.forEach((key) => this.model.off(`change:${key}`, this.soon));
  }
}

/* A word of one of the two lines: a button, or where nothing can be pressed a text. */
const wordOf = ({ now, mark, clings }, language) => ({ class: ["walk-word", now ? "now" : "", mark ? "mark" : "", clings ? "clings" : ""].filter(Boolean).join(" "), lang: mark ? null : LANG[language] });
const inWord = ({ text, weight }) => [el("bdi", { translate: "no" }, text), el("small", {}, weight === null ? "" : weight < 0.005 ? "·" : weightText(weight))];
const tinted = (element, { weight }) => vary(element, "--shade", weight >= 0.005 ? shade(weight) : "transparent");

function render({ model, el: root }) {
  const walk = new Walk(model, root);
  return () => walk.close();
}

/** The state of a page that begins with this pass. `given`: a model's example, its pass, what differs from the start. */
function start({ example, found, begin: own = {} }) {
  const { name, source, target, subwords, bytes, capitals, walk: stories } = example, [{ text, word }] = stories, state = { text, word, ...own };
  const begun = { name, source, target, subwords, bytes, capitals, stories };
  return { ...state, example: { ...begun, face: face(viewOf({ ...nothing, ...state }, named(found, begun), MIDDLE)) } };
}

/** What stands in the page without scripts, and in print: both lines, the sentence, the drawing for two widths. */
function still(given) {
  const { example, ...state } = start(given), found = named(given.found, example), { lines, sentence } = example.face, label = freshId();
  const view = (width) => viewOf({ ...nothing, ...state }, found, width), line = (side, title, language) => el("div", { class: "walk-line" }, el("span", { class: "live-muted walk-line-title" }, both(title)),
    el("div", { class: "walk-words" }, lines[side].map((each) => el("span", wordOf(each, language), ...inWord(each)))));
  const drawn = (width, name) => {
    const svg = drawing(view(width), null);
    for (const [key, value] of [["class", `live-drawing walk-drawing ${name}`], ["role", "img"], ["aria-labelledby", label]]) svg.setAttribute(key, value);
    return svg;
  };
  return el("div", { class: "live walk" }, el("div", { class: "walk-lines" }, line("enc", ["源句", "Source"], example.source), line("dec", ["译文", "Written"], example.target)),
    el("p", { id: label, class: "walk-sentence" }, both(sentence)), el("div", { class: "live-frame walk-frame" }, drawn(NARROW, "walk-narrow"), drawn(MIDDLE, "walk-middle")));
}

export default { begin, address, render, start, still, inPage: answerFromFiles, replaces: true };
