/* What a reader can ask for: a model, a sentence, a search, and parts to be taken out. */
import { both, el, freshId } from "../page/words.mjs";
import { proposed } from "./pieces.mjs";
import { LANG, originOf, SWITCHES, titleOf } from "./texts.mjs";

/** Radio buttons: arrow keys and touch come with the browser. */
export function choice({ title, options, value, change }) {
  const name = freshId();
  return el("fieldset", { class: "live-choice" }, el("legend", {}, both(title)), options.map(([key, text]) =>
    el("label", {}, el("input", { type: "radio", name, value: key, checked: key === value, change: () => change(key) }),
      el("span", {}, both(text)))));
}

/** The form. `host` has get, set, `submit(text)`, `stop()`, and `reach()` for when the reader is
    about to ask: what has to be loaded can be on its way. */
export function form(host) {
  const id = freshId();
  const text = el("textarea", { id, rows: 2, dir: "auto", spellcheck: "false", autocomplete: "off", focus: () => host.reach(),
    keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      host.submit(text.value);
    } });
  const stop = el("button", { type: "button", hidden: true, click: () => host.stop() }, both(["停止", "Stop"]));
  const pick = (sentence) => { text.value = sentence; host.submit(sentence); };
  const chips = el("div", { class: "live-row live-chips" }), note = el("p", { class: "live-note" });
  const models = choice({ title: ["模型", "Model"], value: host.get("name"), change: (name) => host.set({ name }),
    options: host.get("models").map((each) => [each.name, titleOf(each)]) });
  const searches = choice({ title: ["搜索", "Search"], value: host.get("width"), change: (width) => host.set({ width }),
    options: [[1, ["贪心", "greedy"]], [4, ["束宽 4", "beam of 4"]]] });
  const check = (group, value) => group.querySelectorAll("input").forEach((input) => { input.checked = input.value === String(value); });
  let ready = null, told = null; // the model and the text that were last shown here
  const switches = el("fieldset", { class: "live-choice" },
    el("legend", {}, both(["拆掉一个部件，看什么会坏", "Take a part out, and see what breaks"])),
    Object.entries(SWITCHES).map(([key, title]) => el("label", {}, el("input", { type: "checkbox", value: key,
      change: (event) => host.toggle(key, event.target.checked) }), el("span", {}, both(title)))));
  const settings = el("details", { class: "live-settings" },
    el("summary", {}, both(["设置：模型、搜索、拆掉部件", "Settings: model, search, parts taken out"])), models, searches, switches);
  const element = el("form", { class: "live-form", submit: (event) => { event.preventDefault(); host.submit(text.value); } },
    el("label", { for: id }, both(["写一句话，或挑一句", "Write a sentence, or pick one"])), text, chips,
    el("div", { class: "live-row" }, el("button", { type: "submit", class: "live-go" }, both(["翻译", "Translate"])), stop), settings, note);
  return {
    element,
    busy(on) { stop.hidden = !on; },
    follow(example) {
      const { source, sentences, model } = example;
      if (told !== host.get("text")) text.value = told = host.get("text"); // else it may hold what is being typed
      text.lang = LANG[source];
      check(models, example.name);
      check(searches, host.get("width"));
      if (ready !== example.name) {
        chips.replaceChildren(...sentences.map((each) => proposal(proposed(each, example), source, pick)));
        note.replaceChildren(...about(example));
      }
      ready = example.name;
      switches.hidden = model !== "transformer"; // a recurrent model has none of these parts
      for (const input of switches.querySelectorAll("input")) input.checked = host.get("switches").includes(input.value);
    },
  };
}

/** Where a model's sentences are from, and what to expect of it. */
function about(example) {
  if (!example.origin) return [];
  const { name, address, license, terms } = example.origin, { before, after, end } = originOf(example);
  return [both(before), el("a", { href: address }, name), both(after), el("a", { href: terms }, license), both(end)].flat();
}

/** A sentence as a button that translates it. */
export const proposal = (text, language, submit) =>
  el("button", { type: "button", lang: LANG[language], click: () => submit(text) }, text);
