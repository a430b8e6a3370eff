/* A file of its own has no page around it: it begins in its reader's language, and has two buttons. */
import { el } from "./words.mjs";

const LANGUAGES = { zh: ["中文", "zh-Hans"], en: ["English", "en"] };

export function choosing(language) {
  const buttons = Object.entries(LANGUAGES).map(([key, [name, lang]]) =>
    el("button", { type: "button", lang, click: () => choose(key) }, name));
  const choose = (chosen) => {
    document.documentElement.dataset.language = chosen;
    document.documentElement.lang = LANGUAGES[chosen][1];
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(Object.keys(LANGUAGES)[i] === chosen)));
  };
  choose(language || (/^zh/i.test(navigator.language) ? "zh" : "en"));
  return el("div", { class: "live live-row" }, buttons);
}
