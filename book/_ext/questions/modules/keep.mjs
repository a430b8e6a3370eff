/* One line to keep: the reader writes one, then compares it with the book's. It stays in this browser. */
import { both, el, freshId } from "../page/words.mjs";
import { pageName } from "./contents.mjs";
import { keepLine, lineOf } from "./store.mjs";

/** Where the chapter has its line; `folds`: whether the book's is folded until the reader has one. Returns what unfolds it. */
export function keep({ folds = true } = {}) {
  const page = pageName(), heading = document.querySelector('.bd-article [id^="sec-"][id$="-summary"]')?.closest("section")?.querySelector("h2");
  if (!heading) return () => {};
  const theirs = [];
  for (let next = heading.nextElementSibling; next && !next.matches("section, .question"); next = next.nextElementSibling) theirs.push(next);
  const id = freshId(), input = el("textarea", { id, rows: 2, maxlength: 400 });
  input.value = lineOf(page);
  const said = el("span", { class: "question-note", role: "status" });
  const button = el("button", { type: "submit" }), aside = el("button", { type: "button", click: () => compare() }, both(["不写，直接看", "Show it without writing"]));
  function compare() {
    for (const each of theirs) {
      each.hidden = false;
      delete each.dataset.veiled;
    }
    aside.remove();
    button.replaceChildren(...both(["记下", "Keep it"]));
  }
  heading.after(el("form", { class: "question-keep", submit: (event) => {
    event.preventDefault();
    keepLine(page, input.value.trim());
    said.replaceChildren(...both(input.value.trim() ? ["记下了；“今日回顾”里也看得到。", "Kept; “Today’s questions” shows it, too."] : ["删掉了。", "Deleted."]));
    compare();
  } }, el("label", { for: id }, both(["合上书：这一章只许留一句话，你留哪一句？", "Shut the book: if you could keep one line of this chapter, which would it be?"])),
  input, el("p", {}, button, " ", aside, " ", said)));
  button.replaceChildren(...both(["与书里的比一比", "Compare it with the book’s"]));
  if (!folds || input.value) {
    compare();
    return compare;
  }
  for (const each of theirs) {
    each.setAttribute("hidden", "until-found"); // links and the browser's search open it
    each.dataset.veiled = "";
    each.addEventListener("beforematch", compare);
  }
  addEventListener("beforeprint", compare);
  const followed = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && theirs.some((each) => each.contains(target))) compare();
  };
  addEventListener("hashchange", followed);
  followed();
  return compare;
}
