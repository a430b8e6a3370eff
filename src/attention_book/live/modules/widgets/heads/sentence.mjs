/* A sentence whose words answer: pointed at or focused, a word lights up; pressed, it stays lit. One stop
   of the keyboard, for sixty words would be sixty. */
import { both, el, freshId, number, visible } from "../../page/words.mjs";

/** `point(n)` hears where a pointer or the focus is, 0 where it leaves; `press(n)` hears a click. */
export function sentence({ title, tokens, direction, point, press }) {
  const titleId = freshId();
  const weights = tokens.map(() => el("span", { class: "live-weight", "aria-hidden": "true" }));
  const words = tokens.map((token, i) => el("button", {
    type: "button", class: "live-word", tabindex: i ? -1 : 0, click: () => press(i + 1),
    pointerenter: (event) => { if (event.pointerType === "mouse") point(i + 1); },
    pointerleave: (event) => { if (event.pointerType === "mouse") point(0); },
    focus: () => { enter(i); point(i + 1); }, blur: () => point(0), keydown: (event) => step(event, i),
  }, el("bdi", { translate: "no" }, visible(token)), weights[i]));
  const enter = (at) => words.forEach((word, i) => word.setAttribute("tabindex", i === at ? "0" : "-1"));
  function step(event, i) {
    const on = direction === "rtl" ? -1 : 1;
    const to = { ArrowLeft: i - on, ArrowRight: i + on, ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: words.length - 1 }[event.key];
    if (!words[to]) return;
    event.preventDefault();
    words[to].focus();
  }
  return {
    element: el("div", { class: "live-sentence", role: "group", "aria-labelledby": titleId, dir: direction },
      el("span", { class: "live-note", id: titleId }, both(title)), words),
    /** `lit` is the word itself; `given` the weights that fill the words, or null; `pressed` stays. */
    follow({ lit, given, pressed, threshold }) {
      words.forEach((word, i) => {
        const weight = given && given[i] >= threshold ? given[i] : 0;
        word.style.setProperty("--weight", weight);
        weights[i].textContent = weight >= 0.005 ? number(weight, 2) : "";
        word.classList.toggle("lit", i + 1 === lit);
        word.setAttribute("aria-pressed", String(i + 1 === pressed));
      });
    },
  };
}
