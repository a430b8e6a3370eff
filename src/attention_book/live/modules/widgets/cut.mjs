/* Cut a look: a sentence above its translation, joined by ribbons as broad as the weights. What is cut is out of
   the model's sight, in every layer and head, and it translates again. The page has the sentences, their
   translations and three cuts of each; the engine and the model come at the first cut. */
import { oneOf } from "../page/address.mjs";
import { asker } from "../page/ask.mjs";
import { connect } from "../page/client.mjs";
import { engine, engineIsThere } from "../page/engine.mjs";
import { answerFromFiles } from "../page/files.mjs";
import { both, el, freshId, svg } from "../page/words.mjs";
import { comment, common } from "../cut/changes.mjs";
import { picture, pressable, scissors } from "../cut/drawing.mjs";
import { fromAddress, namesOf, pairOf, pairsOf, toggled } from "../cut/looks.mjs";
import { between, scene } from "../cut/scene.mjs";
import { step } from "../cut/walk.mjs";
import { inLine } from "../translator/pieces.mjs";
import { LANG, REFUSALS } from "../translator/texts.mjs";
import { MEAN, weightsOf } from "../translator/views.mjs";

/** `sentences`: [{ source, target, weights, cuts: [{ cut, target, weights }] }]; `at`: which is shown; `cut`:
    which looks are cut, as looks.mjs writes them; `view`: "" for the mean of the last layer's heads, or "layer-head". */
const begin = { name: "", source: "", target: "", capitals: {}, bytes: 0, layers: 1, heads: 1, sentences: [], at: 0, cut: "", view: "" };

const address = {
  at: (text, model) => oneOf(model.get("sentences").map((_, i) => i))(text),
  cut: fromAddress,
  view: (text, model) => (viewsOf(model).includes(text) ? text : undefined),
};

const HINT = ["一个小模型逐词写出了译文。每写一个词，它都要看原文里的几个词；带子越宽，看得越多。剪掉一道目光，看译文怎样改口。",
  "A small model wrote the translation, looking at words of the source for each new word; the wider a ribbon, the harder it looked. Cut a look, and watch the translation change."];
const TITLE = ["一句话和它的译文；带子越宽，译词看源词看得越多", "A sentence and its translation; the wider a ribbon, the more a word looks there"];
const PRESS = {
  source: ["回车：谁也不许看这个词", "Enter: no word may look at this one"],
  target: ["回车：这个词不许看原文", "Enter: this word may not look at the source"],
  ribbon: ["回车：剪掉这一道目光", "Enter: cut this look"],
};
const MORPH = 300, NARROW = 560, FAR = 6, GLOSSED = 0.3;

const viewsOf = (model) => Array.from({ length: model.get("layers") }, (_, layer) =>
  Array.from({ length: model.get("heads") }, (_, head) => `${layer}-${head}`)).flat();
const unended = (words) => (words.at(-1) === "<eos>" ? words.slice(0, -1) : words);

/** Words as they are read: names with capitals, the first word of a line too. */
function shownWords(words, capitals) {
  return inLine(unended(words), false).map(({ text }, i) => {
    const named = Object.hasOwn(capitals, text) ? capitals[text] : text;
    return i ? named : named.charAt(0).toUpperCase() + named.slice(1);
  });
}

/** Words within a sentence of ours. */
const inText = (words, language, capitals) => words.map((word) => (Object.hasOwn(capitals, word) ? capitals[word] : word))
  .join(language === "zh" ? "" : " ").replaceAll("' ", "'");

/** The scene of a result: `ids` are the keys of its words, `fresh` which of them the first translation has not. */
function sceneOf({ sentence, result, weights, cut, capitals, ids, fresh, narrow }) {
  const names = namesOf(cut);
  const listed = (words, side, key) => shownWords(words, capitals).map((text, place) => {
    const name = side === "source" ? `*-${place}` : `${place}-*`;
    return { key: key(place), text, place, name, cut: names.includes(name), fresh: side === "target" && fresh.has(place), ink: 1 };
  });
  return scene({
    source: listed(sentence.source, "source", (place) => `s${place}`),
    target: listed(result.target, "target", (place) => ids[place]),
    weights, narrow, ghosts: names.map(pairOf).filter(([target, source]) => target !== null && source !== null),
  });
}

/** Keys of the words of a translation: those that stood before keep theirs. */
function namedAfter(before, ids, after, makeId) {
  const kept = new Map(common(before, after).map(([i, j]) => [j, ids[i]]));
  return after.map((_, j) => kept.get(j) ?? makeId());
}

const freshIn = (first, now) => {
  const kept = new Set(common(first, now).map(([, j]) => j));
  return new Set(now.map((_, j) => j).filter((j) => !kept.has(j)));
};

/** What a Chinese word means, for who reads English alone: the word of the translation that looks at it most. */
function gloss(j, { sentence, source, target, capitals }) {
  if (source !== "zh" || j === null) return null;
  const looks = sentence.weights.map((row) => row[j]), i = looks.indexOf(Math.max(...looks));
  return looks[i] >= GLOSSED && sentence.target[i] !== "<eos>" ? inText([sentence.target[i]], target, capitals) : null;
}

/** What a cut is called on a button. */
function titleOf(name, given) {
  const { sentence, capitals, source, target } = given, [i, j] = pairOf(name);
  const t = i === null ? null : inText([sentence.target[i]], target, capitals);
  const s = j === null ? null : inText([sentence.source[j]], source, capitals), meaning = gloss(j, given);
  if (t === null) return meaning ? [s, `${s} (${meaning})`] : s;
  return s === null ? t : `${t} → ${s}`;
}

function said(given, cut, result) {
  const { sentence, source, target, capitals } = given, names = namesOf(cut);
  if (!names.length) return HINT;
  const cuts = names.map((name) => {
    const [i, j] = pairOf(name);
    return { target: i === null ? null : sentence.target[i] ?? "…", source: j === null ? null : sentence.source[j] ?? "…",
      weight: i === null || j === null ? 0 : sentence.weights[i]?.[j] ?? 0, gloss: i === null ? gloss(j, given) : null };
  });
  return comment({ cuts, before: sentence.target.filter((word) => word !== "<eos>"), after: unended(result.target),
    finished: result.target.at(-1) === "<eos>", text: (words, side) => inText(words, side === "source" ? source : target, capitals) });
}

function render({ model, el: root }) {
  // What stood here once and has a page of its own now: a link to it goes there.
  const [gone, page] = root.dataset.moved?.split(" ") ?? [];
  if (gone && location.hash.startsWith(`#${gone}`)) location.replace(page + location.hash);
  const set = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
  };
  const ask = asker(model), labelId = freshId(), known = new Map();
  const sentence = () => model.get("sentences")[model.get("at")];
  const given = () => ({ sentence: sentence(), capitals: model.get("capitals"), source: model.get("source"), target: model.get("target") });
  const key = (cut = model.get("cut")) => `${model.get("at")} ${[...namesOf(cut)].sort().join(".")}`;
  model.get("sentences").forEach((each, at) => {
    for (const { cut, target, weights } of [{ ...each, cut: "" }, ...each.cuts]) known.set(`${at} ${cut}`, { target, weights });
  });
  const lang = { source: LANG[model.get("source")], target: LANG[model.get("target")] };
  const describe = Object.fromEntries(Object.keys(PRESS).map((side) => [side, freshId()]));
  const drawing = pressable({ lang, labelledBy: labelId, describe, press: (name) => toggle(name) });
  const status = el("p", { class: "live-cut-said", role: "status" });
  const bar = el("progress", { hidden: true, "aria-labelledby": labelId });
  const chips = el("div", { class: "live-row live-cut-chips" });
  const button = (text, click) => el("button", { type: "button", click }, both(text));
  const undo = button(["撤销", "Undo"], () => back()), over = button(["从头来", "Start over"], () => { past.push(model.get("cut")); set({ cut: "" }); });
  const other = button(["换一句", "Another sentence"], () => {
    past.length = 0;
    set({ cut: "", at: (model.get("at") + 1) % model.get("sentences").length });
  });
  const copied = el("span", { role: "status" });
  const copy = button(["复制链接", "Copy link"], async () => {
    const written = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    copied.replaceChildren(...both(written ? ["已复制", "Copied"] : ["链接就在地址栏里", "The link is in the address bar"]));
    setTimeout(() => copied.replaceChildren(), 2500);
  });
  const views = viewChoice(model, set);
  const more = el("details", { class: "live-cut-more" }, el("summary", {}, both(["更多", "More"])), views.element,
    el("p", { class: "live-note" }, both([
      "画的是解码器看源句的权重，小于 0.12 的不画。剪掉一道目光，就是在每一层、每一个头里，在 softmax 之前把它的评分换成 −∞；剩下的目光分走它的权重。",
      "Drawn are the decoder’s weights on the source; those below 0.12 are left out. To cut a look is to replace its score by −∞ before the softmax, in every layer and every head; the looks that are left share its weight."])));
  root.replaceChildren(el("div", { class: "live live-cut" }, el("p", { id: labelId, class: "live-hidden" }, both(TITLE)),
    Object.entries(PRESS).map(([side, text]) => el("span", { id: describe[side], class: "live-hidden" }, both(text))),
    el("div", { class: "live-cut-frame" }, drawing.element), status, bar,
    el("div", { class: "live-cut-tools" }, chips, el("div", { class: "live-row" }, undo, over, other, copy, copied)), more));

  // ---- cuts ---------------------------------------------------------------------------------------
  const past = [];
  function toggle(name) {
    past.push(model.get("cut"));
    set({ cut: toggled(model.get("cut"), name) });
  }
  const back = () => { if (past.length) set({ cut: past.pop() }); };

  let running = null, opened = null;
  const engineNow = () => (running ??= (engineIsThere() ? Promise.resolve() : ask("engine", "engine")).then(() => connect(engine())));
  /** The engine with the model, once; what failed may succeed the next time. */
  function open() {
    const name = model.get("name");
    const arrive = (count) => { bar.value = count / model.get("bytes"); };
    opened ??= Promise.all([engineNow(), ask("model", name, arrive)]).then(([found, { bytes }]) => found.open(name, bytes).then(() => found));
    opened.catch(() => { opened = null; });
    return opened;
  }

  /** What the model makes of the sentence without these looks; what the page has already needs no model. */
  async function resultOf() {
    const there = known.get(key()), wanted = key();
    if (there && (there.attention || !model.get("view"))) {
      if (model.get("cut")) open().catch(() => {}); // the next cut will ask for it
      return there;
    }
    const text = sentence().source.slice(0, -1).join(" "), cuts = pairsOf(model.get("cut"));
    const slow = setTimeout(() => {
      bar.hidden = false;
      status.replaceChildren(...both(["正在取模型……", "Loading the model …"]));
    }, 250);
    try {
      const found = await open();
      const result = await found.translate(model.get("name"), text, { switches: { cuts } });
      known.set(wanted, { target: result.target, attention: result.attention });
      return known.get(wanted);
    } finally {
      clearTimeout(slow);
      bar.hidden = true;
    }
  }

  function weightsIn(result) {
    if (!result.attention) return result.weights;
    const view = model.get("view"), [layer, head] = view ? view.split("-").map(Number) : [result.attention.cross.length - 1, MEAN];
    return weightsOf(result.attention, { kind: "cross", layer, head });
  }

  // ---- the drawing --------------------------------------------------------------------------------
  let shown = null, words = [], ids = [], which = -1, count = 0, frame = 0;
  const narrow = () => (root.clientWidth || 1000) < NARROW;
  const makeId = () => `t${count++}`;

  function place(result, animate = true) {
    const { target } = result, now = unended(target), anew = which !== model.get("at");
    ids = anew ? now.map(makeId) : namedAfter(words, ids, now, makeId);
    [words, which] = [now, model.get("at")];
    const found = sceneOf({ ...given(), result, weights: weightsIn(result), cut: model.get("cut"), ids,
      fresh: freshIn(unended(sentence().target), now), narrow: narrow() });
    const from = shown;
    shown = found;
    cancelAnimationFrame(frame);
    const still = !animate || anew || !from || from.narrow !== found.narrow || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) return drawing.show(found);
    const began = performance.now();
    const move = (time) => {
      const share = Math.min(1, Math.max(0, (time - began) / MORPH)), eased = share * share * (3 - 2 * share);
      if (share === 1) return drawing.show(found);
      drawing.show(between(from, found, eased), true);
      frame = requestAnimationFrame(move);
    };
    frame = requestAnimationFrame(move);
  }

  let asked = 0;
  async function follow() {
    const mine = ++asked;
    tools();
    try {
      const result = await resultOf();
      if (mine !== asked) return; // something else was cut meanwhile
      place(result);
      status.replaceChildren(...both(said(given(), model.get("cut"), result)));
      status.classList.toggle("live-cut-hint", !model.get("cut"));
    } catch (error) {
      if (mine !== asked) return;
      status.replaceChildren(...both((REFUSALS[error.reason] ?? REFUSALS.failed)(error.details ?? { message: error.message })));
    }
  }

  function tools() {
    const cut = model.get("cut"), names = namesOf(cut);
    if (chips.dataset.at !== String(model.get("at"))) {
      chips.dataset.at = model.get("at");
      chips.replaceChildren(el("span", { class: "live-cut-try" }, both(["试试剪掉", "Try cutting"])), ...sentence().cuts.map((each) =>
        el("button", { type: "button", "data-cut": each.cut, translate: "no", click: () => {
          past.push(model.get("cut"));
          set({ cut: model.get("cut") === each.cut ? "" : each.cut });
        } }, svg("svg", { viewBox: "-10 -8 18 16", "aria-hidden": "true", class: "live-cut-scissors" }, scissors(0, 0)),
        el("span", {}, both(titleOf(each.cut, given()))))));
    }
    chips.querySelector("button").classList.toggle("live-go", !past.length && !cut); // what to press first
    for (const chip of chips.querySelectorAll("button")) chip.setAttribute("aria-pressed", String(names.includes(chip.dataset.cut)));
    undo.disabled = !past.length;
    over.disabled = !cut;
    views.follow();
  }

  // ---- the pointer: a tap cuts one, a line drawn across several cuts them all ---------------------
  const stage = drawing.element;
  let points = null, crossed = new Set(), start = null;
  const under = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest?.("[data-cut]");
  const nameAt = (event) => { const found = under(event); return found && stage.contains(found) ? found.dataset.cut : null; };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    [start, points, crossed] = [event, [drawing.at(event)], new Set()];
  });
  stage.addEventListener("pointermove", (event) => {
    if (!start || Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < FAR) return;
    points.push(drawing.at(event));
    drawing.draw(points);
    const name = nameAt(event);
    if (name && !name.includes("*")) crossed.add(name);
  });
  stage.addEventListener("pointerup", (event) => {
    if (!start) return;
    const tapped = points.length === 1 ? nameAt(event) : null, many = [...crossed];
    [start, points, crossed] = [null, null, new Set()];
    drawing.draw([]);
    if (tapped) return toggle(tapped);
    const names = namesOf(model.get("cut")), more = many.filter((name) => !names.includes(name));
    if (!more.length) return;
    past.push(model.get("cut"));
    set({ cut: [...names, ...more].join(".") });
  });
  for (const end of ["pointercancel", "pointerleave"]) {
    stage.addEventListener(end, () => {
      [start, points, crossed] = [null, null, new Set()];
      drawing.draw([]);
    });
  }
  stage.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      return back();
    }
    const here = event.target.closest?.("[data-cut]");
    if (!here || !shown || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = [...shown.words, ...shown.ribbons].find((each) => drawing.part(each.key) === here);
    const next = now && step(shown, now.key, event.key);
    if (!next) return;
    event.preventDefault();
    drawing.part(next)?.focus();
  });

  const listeners = ["at", "cut", "view"].map((name) => [`change:${name}`, () => queueMicrotask(once)]);
  let waiting = false;
  const once = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      follow();
    });
  };
  for (const [event, listener] of listeners) model.on(event, listener);
  const observer = new ResizeObserver(() => {
    if (shown && shown.narrow !== narrow() && known.has(key())) place(known.get(key()), false);
  });
  observer.observe(root);
  follow();
  root.classList.add("live-ready");
  return () => {
    observer.disconnect();
    for (const [event, listener] of listeners) model.off(event, listener);
    running?.then((found) => found.close());
  };
}

/** Which weights are drawn: the mean of the last layer's heads, or one head's. */
function viewChoice(model, set) {
  const options = [["", ["最后一层的平均", "mean of the last layer"]], ...viewsOf(model).map((view) => {
    const [layer, head] = view.split("-").map((each) => Number(each) + 1);
    return [view, [`第 ${layer} 层第 ${head} 个头`, `layer ${layer}, head ${head}`]];
  })];
  if (options.length < 3) return { element: "", follow: () => {} };
  const name = freshId();
  const inputs = options.map(([value]) => el("input", { type: "radio", name, value, change: () => set({ view: value }) }));
  return {
    element: el("fieldset", { class: "live-choice" }, el("legend", {}, both(["画谁的权重", "Whose weights"])),
      options.map(([, text], i) => el("label", {}, inputs[i], el("span", {}, both(text))))),
    follow: () => inputs.forEach((input) => { input.checked = input.value === model.get("view"); }),
  };
}

/** A picture of the first sentence: whole, or (`which` 0 to 2) with one of its cuts. */
function drawn({ sentences: [sentence], ...about }, which, { narrow, label }) {
  const result = which === null ? { ...sentence, cut: "" } : sentence.cuts[which];
  const words = unended(result.target), ids = words.map((_, i) => `t${i}`), fresh = freshIn(unended(sentence.target), words);
  const found = sceneOf({ sentence, result, weights: result.weights, cut: result.cut, capitals: about.capitals, ids, fresh, narrow });
  return picture(found, { source: LANG[about.source], target: LANG[about.target] }, label);
}

/** What stands in the page before any script: the first sentence, in both widths; without scripts three cuts too. */
function still(found) {
  const labelId = freshId(), { sentences: [sentence], ...about } = found;
  const cuts = sentence.cuts.map((each, which) => {
    const label = freshId();
    return el("figure", { class: "live-cut-shown" }, drawn(found, which, { narrow: true, label }),
      el("figcaption", { id: label }, both(said({ sentence, ...about }, each.cut, each))));
  });
  return el("div", { class: "live live-cut" }, el("p", { id: labelId, class: "live-hidden" }, both(TITLE)),
    el("div", { class: "live-cut-frame" }, [false, true].map((narrow) => drawn(found, null, { narrow, label: labelId }))),
    el("p", { class: "live-cut-said live-cut-hint" }, both(HINT)), el("div", { class: "live-cut-tools" }),
    el("noscript", {}, el("div", { class: "live-cut-three" }, cuts)));
}

/** The state of a page, from what the build measured. */
const start = ([found]) => found;

export default { begin, address, render, start, still, drawn, said, inPage: answerFromFiles, replaces: true };
