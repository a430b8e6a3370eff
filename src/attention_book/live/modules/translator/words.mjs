/* A list of words: each lights up when it is touched, and arrow keys walk along it. */
import { both, direction, el, freshId, visible } from "../page/words.mjs";
import { inLine } from "./pieces.mjs";

/** `touch(place, stays)`: a word was focused or clicked (it stays), or a pointer is above it;
    `leave()`: the pointer has left. */
export function wordList(title, { touch, leave }) {
  const id = freshId(), list = el("div", { class: "live-words", role: "toolbar", "aria-labelledby": id });
  list.addEventListener("keydown", (event) => {
    const words = [...list.children], here = words.indexOf(document.activeElement);
    const on = list.dir === "rtl" ? -1 : 1, to = { ArrowRight: here + on, ArrowLeft: here - on, Home: 0, End: words.length - 1 }[event.key];
    if (here < 0 || !words[to]) return;
    event.preventDefault();
    words.forEach((word, i) => { word.tabIndex = i === to ? 0 : -1; });
    words[to].focus();
  });
  const word = (token, { text, clings }, place, lang) => el("button", {
    type: "button", class: clings ? "live-word clings" : "live-word", lang: /^<.*>$/.test(token) ? false : lang, tabindex: place ? -1 : 0, "data-token": token,
    focus: () => touch(place, true), click: () => touch(place, true), pointerenter: () => touch(place, false), pointerleave: leave,
  }, el("bdi", { translate: "no" }, visible(text)));
  return {
    element: el("div", { class: "live-line" }, el("span", { id, class: "live-label" }, both(title)), list),
    /** Show these tokens; those that were there stay, so that only new ones appear. */
    put(tokens, lang, subwords = false) {
      const shown = inLine(tokens, subwords);
      const old = [...list.children], differ = old.findIndex((button, i) => button.dataset.token !== tokens[i]);
      const kept = differ < 0 ? Math.min(old.length, tokens.length) : differ;
      old.slice(kept).forEach((button) => button.remove());
      list.append(...tokens.slice(kept).map((token, i) => {
        const button = word(token, shown[kept + i], kept + i, lang);
        if (old.length) button.classList.add("arrives"); // what stands there from the start need not appear
        button.style.setProperty("--order", i); // by CSSOM: a style attribute would be against a policy
        return button;
      }));
      list.lang = lang;
      list.dir = direction(tokens);
    },
    /** Mark the words of these places with a class. */
    mark(name, places) {
      [...list.children].forEach((each, i) => each.classList.toggle(name, places.includes(i)));
    },
    /** Underline the words by weight. */
    tint(weight) {
      [...list.children].forEach((each, i) => each.style.setProperty("--weight", weight(i) ?? 0));
    },
  };
}
