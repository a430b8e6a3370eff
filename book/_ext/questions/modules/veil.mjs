/* A prediction folds the text below it, to the next heading or question or a line {revealed}, until the reader
   has guessed or waved it aside. What is folded is still found by the browser's search and by links. */
import { both, el } from "../page/words.mjs";
import { button } from "./parts.mjs";

/** Fold what follows a question; returns a function that unfolds it. `waved` is called when the reader will not guess. */
export function veil(question, waved) {
  const folded = [];
  for (let next = question.nextElementSibling; next && !next.matches("section, h2, h3, h4, .question, .revealed"); next = next.nextElementSibling) {
    folded.push(next);
  }
  if (!folded.length) return () => {};
  const bar = el("div", { class: "question-veil" }, el("p", {}, both(["猜过之后，课文接着往下。", "The text goes on once you have guessed."])),
    button({}, () => {
      open();
      waved();
      folded[0].tabIndex = -1;
      folded[0].focus({ preventScroll: true });
    }, both(["不猜，直接看", "Show it without guessing"])));
  function open() {
    bar.remove();
    for (const each of folded) {
      each.hidden = false;
      delete each.dataset.veiled;
      each.removeEventListener("beforematch", open);
    }
    removeEventListener("hashchange", follow);
  }
  function follow() {
    const target = location.hash && document.getElementById(decoded(location.hash.slice(1).split("?")[0]));
    if (!target || !folded.some((each) => each.contains(target))) return;
    open();
    target.scrollIntoView();
  }
  for (const each of folded) {
    each.setAttribute("hidden", "until-found");
    each.dataset.veiled = "";
    each.addEventListener("beforematch", open);
  }
  question.after(bar);
  addEventListener("hashchange", follow);
  follow();
  return open;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // what somebody typed
  }
}
