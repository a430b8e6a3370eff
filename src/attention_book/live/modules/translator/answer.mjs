/* The answer: the words of both sentences, what the model knew, and its attention. */
import { heatmap } from "../page/heatmap.mjs";
import { both, el, freshId, number, visible } from "../page/words.mjs";
import { choice, proposal } from "./form.mjs";
import { alone, proposed, textOf } from "./pieces.mjs";
import { LANG } from "./texts.mjs";
import { captionOf, heaviest, KINDS, MEAN, tellingRow, weightsOf } from "./views.mjs";
import { wordList } from "./words.mjs";

const TITLE = ["注意力权重的热图", "Heat map of the attention weights"];

/** `model` holds the state, `example()` the model that is shown, `submit(text)` translates. */
export function answer({ model, set, example, submit }) {
  const state = () => ({ kind: model.get("kind"), layer: model.get("layer"), head: model.get("head") });
  const result = () => model.get("result"), kind = () => KINDS[model.get("kind")];
  let map = null, pinned = 0, chosen = -1; // the row that is framed; the one that the reader chose
  const touched = (side) => ({ touch: (place, stays) => point(side, place, stays), leave: () => light(pinned) });
  const lists = { source: wordList(["原文", "Source"], touched("source")), target: wordList(["译文", "Translation"], touched("target")) };
  const note = el("div", { class: "live-unknown" }), intact = el("p"), atOnce = el("div");
  const readout = el("p", { class: "live-readout", "aria-live": "polite" }), chooser = el("div", { class: "live-controls" });
  const mapLabel = freshId(), caption = el("p", { class: "live-note" });
  const scrolled = () => el("div", { class: "live-scroll", tabindex: 0, role: "group", "aria-labelledby": mapLabel });
  const frame = scrolled(), table = scrolled();
  const numbers = el("details", { toggle: () => drawTable() }, el("summary", {}, both(["权重表", "Table of weights"])), table);
  const others = el("details", {}, el("summary", {}, both(["束搜索的其他译文", "Other translations of the beam search"])), el("ol"));
  const words = el("div", {}, lists.source.element, lists.target.element, note);
  const element = el("div", {}, intact, atOnce, readout, el("p", { id: mapLabel, class: "live-hidden" }, both(TITLE)),
    frame, caption, chooser, numbers, others);
  const names = (which) => alone(result()[which], example().subwords);
  const weights = () => weightsOf(result().attention, state());

  /** A word was touched: it is a row of the map, or, where the other side asks, a column. */
  function point(side, place, stays) {
    if (!result()) return;
    if (kind().rows !== side) return lightColumn(place);
    if (stays) pinned = chosen = place;
    light(place);
  }

  function light(place) {
    if (!result()) return;
    const row = weights()[place], { rows, columns } = kind();
    if (!row) return;
    map?.light(place);
    for (const side of ["source", "target"]) lists[side].mark("lit", side === rows ? [place] : []);
    const shift = columns === "input" ? 1 : 0; // word j is what was read at j + 1
    const seen = columns === "source" ? "source" : "target";
    for (const side of ["source", "target"]) lists[side].tint((i) => (side === seen ? row[i + shift] : 0));
    readout.replaceChildren(...told(visible(names(rows)[place]), heaviest(row).map((j) => [visible(names(columns)[j]), number(row[j])])));
  }

  function lightColumn(place) {
    if (kind().columns !== "source") return;
    map?.light(null, place);
    lists.source.mark("lit", [place]);
    lists.target.mark("lit", []);
    lists[kind().rows].tint((i) => weights()[i]?.[place]);
  }

  function drawTable() {
    if (!numbers.open || !result()) return;
    const { rows, columns } = kind(), token = (text) => el("bdi", { translate: "no" }, visible(text));
    table.replaceChildren(el("table", {},
      el("thead", {}, el("tr", {}, el("td"), names(columns).map((text) => el("th", { scope: "col" }, token(text))))),
      el("tbody", {}, weights().map((row, i) => el("tr", {}, el("th", { scope: "row" }, token(names(rows)[i])),
        Array.from(row, (weight) => el("td", {}, number(weight))))))));
  }

  function drawChooser() {
    const { attention } = result(), { kind: now, layer, head } = state(), layers = attention[now];
    const options = (count, all) => [...Array.from({ length: count }, (_, i) => [i, String(i + 1)]), ...(count > 1 ? [[MEAN, all]] : [])];
    const choices = [
      ["kind", ["谁看谁", "Who looks"], Object.keys(KINDS).filter((key) => attention[key]).map((key) => [key, KINDS[key].name]), now],
      ["layer", ["层", "Layer"], options(layers.length, ["全部平均", "mean of all"]), layer],
      ["head", ["头", "Head"], layer === MEAN ? [] : options(layers[0].length, ["平均", "mean"]), head],
    ];
    const held = chooser.contains(document.activeElement) ? document.activeElement.closest("fieldset")?.dataset.key : null;
    chooser.replaceChildren(...choices.filter(([, , found]) => found.length > 1).map(([key, title, found, value]) => {
      const fieldset = choice({ title, options: found, value, change: (changed) => set({ [key]: changed, ...(key === "layer" && changed === MEAN ? { head: MEAN } : {}) }) });
      fieldset.dataset.key = key;
      return fieldset;
    }));
    chooser.querySelector(`[data-key="${held}"] input:checked`)?.focus();
  }

  /** What was not known, what was, and a sentence that works. */
  function explainUnknown() {
    const { unknown, source, nearest } = result(), { source: language } = example();
    const token = (i) => el("bdi", { translate: "no", lang: LANG[language] }, visible(source[i]));
    const listed = (places) => places.flatMap((i, k) => [k ? ", " : "", token(i)]);
    const known = [...source.keys()].filter((i) => !unknown.includes(i) && /\p{L}/u.test(source[i]) && source[i] !== "<eos>" && source.indexOf(source[i]) === i);
    note.replaceChildren(...(unknown.length ? [
      el("p", {}, both(["词表里没有，读成 <unk>：", "Not in the vocabulary, read as <unk>: "]), listed(unknown),
        known.length ? [both(["；认识：", "; known: "]), listed(known)] : []),
      nearest?.length ? el("p", {}, both(["试试相近的一句：", "A similar sentence that works: "]), proposal(textOf(nearest, language, example()), language, submit)) : ""] : []));
    lists.source.mark("unknown", unknown);
  }

  /** The translation with all parts in place, and whether this one is another. */
  function compare() {
    const { intact: whole, target, switches, atOnce: found } = result(), { target: language } = example();
    const text = (tokens) => el("bdi", { translate: "no", lang: LANG[language] }, textOf(tokens.filter((each) => each !== "<eos>"), language, example()));
    const same = whole?.join(" ") === target.join(" ");
    intact.replaceChildren(...(!whole ? [] : same
      ? both(["译文与完整的模型相同。", "The translation is the same as that of the intact model."])
      : [...both(["完整的模型译作：", "The intact model writes: "]), text(whole)]));
    lists.target.mark("changed", whole ? [...target.keys()].filter((i) => target[i] !== whole[i]) : []);
    atOnce.replaceChildren(...(found && switches.includes("noMask") ? wholeSentence(names("target"), found) : []));
  }

  function draw() {
    const { rows, columns } = kind(), shown = weights();
    pinned = Math.min(pinned, shown.length - 1);
    map = heatmap({ rows: names(rows), columns: names(columns), weights: shown, describedBy: mapLabel,
      point: (i, j) => (i === null ? light(pinned) : (light(i), map.light(i, j))) });
    frame.replaceChildren(map.element);
    caption.replaceChildren(...both(captionOf(example(), state())));
    drawTable();
    light(pinned);
  }

  let last = null;
  return {
    words, element,
    writing: (tokens, lang) => lists.target.put(tokens, lang, example().subwords),
    reset() { last = null; },
    follow() {
      if (!result() || !example() || result().model !== example().name) return;
      if (!result().attention[model.get("kind")]) model.set("kind", "cross");
      if (last !== result()) {
        last = result();
        lists.source.put(result().source, LANG[example().source], example().subwords);
        lists.target.put(result().target, LANG[example().target], example().subwords);
        explainUnknown();
        compare();
        const found = result().alternatives;
        others.hidden = found.length < 2;
        others.querySelector("ol").replaceChildren(...found.map(({ tokens, score }) => el("li", {},
          el("bdi", { translate: "no", lang: LANG[example().target] }, textOf(tokens.filter((each) => each !== "<eos>"), example().target, example())),
          ` (${number(score)})`)));
        pinned = weights()[chosen] ? chosen : tellingRow(weights());
      }
      drawChooser();
      draw();
    },
  };
}

/** What a word looks at, in words: most at one, then at others. */
function told(word, [first, ...others]) {
  const bdi = (text, strong) => el("bdi", { translate: "no", ...(strong && { class: "live-strong" }) }, text);
  const listed = (comma) => others.flatMap(([name, share], i) => [i ? comma : "", bdi(name), ` ${share}`]);
  if (!first) return [bdi(word, true), ...both(["：看哪里都很少。", " looks nowhere in particular."])];
  return both([
    [bdi(word, true), " 看得最多的是 ", bdi(first[0], true), `（${first[1]}）`, others.length ? ["，其次是 ", listed("、")] : [], "。"],
    [bdi(word, true), " looks most at ", bdi(first[0], true), ` (${first[1]})`, others.length ? [", then at ", listed(", ")] : [], "."],
  ]);
}

/** Where the mask does matter: the whole sentence given at once, as in training. */
function wholeSentence(target, { masked, open }) {
  return [
    el("p", {}, both([
      "逐词写时，后面的词还不存在，所以译文几乎不变。要看掩码，就像训练时那样一次给出整句：下面是每个词的概率。没有掩码，前面的词会看到后面的词，概率就变了；训练时这等于偷看答案。",
      "While the translation is written, later words do not exist yet, so it hardly changes. To see the mask, give the whole sentence at once, as in training: these are the probabilities of its words. Without the mask a word sees those after it, and its probability changes; in training this would be looking up the answer."])),
    el("div", { class: "live-scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, el("td"), target.map((token) => el("th", { scope: "col" }, el("bdi", { translate: "no" }, visible(token)))))),
      el("tbody", {}, [[["有掩码", "with mask"], masked], [["无掩码", "without"], open]].map(([title, row]) =>
        el("tr", {}, el("th", { scope: "row" }, both(title)), row.map((each) => el("td", {}, number(each)))))))),
  ];
}

/** The same for paper: both sentences, the map and what to see in it. */
export function stillAnswer(example, labelId) {
  const { result, source, target, best, subwords } = example;
  const view = { kind: "cross", layer: best?.layer ?? 0, head: best?.head ?? 0 }, shown = weightsOf(result.attention, view);
  const text = (tokens, language) => el("bdi", { translate: "no", lang: LANG[language] }, textOf(tokens.filter((each) => each !== "<eos>"), language, example));
  return [
    el("p", { class: "live-status" }, text(result.source, source), " → ", text(result.target, target)),
    el("p", { id: labelId, class: "live-hidden" }, both(TITLE)),
    el("div", { class: "live-scroll", tabindex: 0, role: "group", "aria-labelledby": labelId },
      heatmap({ rows: alone(result.target, subwords), columns: alone(result.source, subwords), weights: shown, describedBy: labelId }).element),
    el("p", { class: "live-note" }, both(captionOf(example, view))),
  ];
}
