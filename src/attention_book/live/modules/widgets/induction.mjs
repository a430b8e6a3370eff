/* An induction circuit on the reader's own words. The same module runs in a page, in a notebook and in a file. */
import { oneOf } from "../page/address.mjs";
import { figure } from "../page/figure.mjs";
import { both, el, freshId, inOneLanguage } from "../page/words.mjs";
import { tokenize } from "../engine/tokens.mjs";
import { draw } from "./induction/drawing.mjs";
import { compute, wordsOf } from "./induction/model.mjs";
import { explain, table } from "./induction/reading.mjs";

const LETTERS = 400;

const begin = { data: null, language: "", text: "", at: 0, cut: "0" };
const address = {
  text: (text) => text.slice(0, LETTERS),
  at: (text, model) => oneOf(wordsOf(model.get("text"), model.get("data")).words.map((_, i) => i + 1))(text),
  cut: oneOf(["0", "1"]),
};

/** The text field. What is written is one line; another text is asked by its last word. */
const field = {
  kind: "custom",
  build(host) {
    const id = freshId(), input = el("input", { type: "text", id, value: host.get("text"), maxlength: LETTERS, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      input: () => host.set({ text: input.value, at: 0 }) });
    return {
      element: el("div", { class: "live-row live-written" }, el("label", { for: id }, both(["你的词", "Your words"])), input),
      follow(state) { if (input.value !== state.text) input.value = state.text; },
    };
  },
};

/** Which word asks: the slider is as long as the text. */
const asking = {
  kind: "custom",
  build(host) {
    const id = freshId(), shown = el("output", { for: id }), input = el("input", { type: "range", id, min: 1, max: 1, step: 1, value: 1,
      input: () => host.set({ at: Number(input.value) }) });
    return {
      element: el("div", { class: "live-row live-slider" }, el("label", { for: id }, both(["哪个词来问", "Which word asks"])), input, shown),
      follow(_, { words, asks = 0 }) {
        Object.assign(input, { max: words.length || 1, disabled: words.length < 2 });
        input.value = asks + 1;
        shown.replaceChildren(words[asks] ?? "");
        input.setAttribute("aria-valuetext", words[asks] ?? "");
      },
    };
  },
};

/** The text with the word that is guessed; Chinese is written without a blank. */
function goOn(state) {
  const { words, guesses } = compute({ ...state, at: 0 }), word = guesses?.[0].word;
  if (!word || words.length === state.data.longest) return {};
  const text = state.text.trimEnd(), joined = text + word;
  return { text: tokenize(joined, "zh").length === words.length + 1 ? joined : `${text} ${word}`, at: 0 };
}

const example = (title, text) => ({ kind: "action", title, change: () => ({ text, at: 0 }) });

const shown = figure({
  begin, address, compute, draw, explain, table,
  title: ["一段文字：每个词下面是第二层看它的权重，再下面是第一层记下的前一个词；最下面是猜的下一个词",
    "A text: under each word the weight that layer 2 gives it, and below it the word before, as layer 1 noted it; at the bottom, guesses of the next word"],
  controls: ({ text }) => [
    field, asking,
    { kind: "checks", key: "cut", title: ["剪断", "Cut"], options: [["第一层看前一个词", "layer 1’s look at the word before"]] },
    { kind: "action", title: ["写下猜的词", "Write the guess"], change: goOn },
    example(["音节", "Syllables"], text),
    example(["英文", "English"], "my name is Ada Lovelace . pleased to meet you , Ada"),
    example(["中文", "Chinese"], "床前明月光，疑是地上霜。举头望明"),
  ],
});

export default {
  ...shown,
  render({ model, el: root }) {
    const close = shown.render({ model, el: root });
    inOneLanguage(root.firstElementChild, model.get("language"));
    return close;
  },
};
