/* A chapter opens with two questions: one that its author chose, and the one due that this reader is least likely to remember. */
import { both, el } from "../page/words.mjs";
import { pageAddress, pageName } from "./contents.mjs";
import { known, titles } from "./index.mjs";
import { load, made } from "./load.mjs";
import { mount } from "./question.mjs";
import { shakiest } from "./store.mjs";

export async function opening() {
  const first = document.querySelector(".bd-article .question-recall");
  const id = first && shakiest(known, pageName());
  if (!id) return;
  const question = made((await load(known[id]).catch(() => ({})))[id] ?? "<p></p>");
  if (!question.matches(".question")) return; // it could not be loaded: the chapter opens with one question
  const from = source(id);
  question.prepend(el("p", { class: "question-note" }, both(["从前答过的一题，今天到期。", "A question that you answered before; it is due today."]), from));
  first.after(question);
  mount(question, { reviewing: true, answered: () => { from.hidden = false; } });
}

/** Where a question comes from: half the answer, so it is told afterwards. */
export const source = (id) => el("span", { hidden: true }, " ", both(["出自", "It is from"]), " ",
  el("a", { href: `${pageAddress(known[id])}#question-${id}` }, both(titles[known[id]])));
