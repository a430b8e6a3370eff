/* Steps to be put in order, each with a button up and a button down. The reply is to the first step that stands wrong. */
import { both, el, freshId } from "../../page/words.mjs";
import { button, check, lock, shuffle } from "../parts.mjs";

export function order({ root, data, done }) {
  const list = root.querySelector(":scope > ol"), shown = [...list.children];
  const steps = data.shown.map((_, step) => shown[data.shown.indexOf(step)]);
  for (const [item, step] of steps.entries()) {
    step.dataset.item = item;
    const id = freshId();
    const move = (by, sign, words) => {
      const made = button({ id: freshId(), "aria-labelledby": "" }, () => {
        const other = by < 0 ? step.previousElementSibling : step.nextElementSibling;
        if (by < 0) other.before(step);
        else other.after(step);
        made.focus();
        ends();
      }, el("span", { "aria-hidden": "true" }, sign), el("span", { class: "question-hidden" }, both(words)));
      made.setAttribute("aria-labelledby", `${made.id} ${id}`);
      return made;
    };
    step.replaceChildren(el("span", { id, class: "question-step" }, [...(step.querySelector("p") ?? step).childNodes]),
      el("span", { class: "question-moves" }, move(-1, "↑", ["上移", "Move up:"]), move(1, "↓", ["下移", "Move down:"])));
  }
  const now = () => [...list.children].map((step) => steps.indexOf(step));
  const ends = () => steps.forEach((step) => {
    const [up, down] = step.querySelectorAll("button");
    lock(up, !step.previousElementSibling);
    lock(down, !step.nextElementSibling);
  });
  list.classList.add("question-order");
  ends();
  const go = check(() => {
    const wrong = now().findIndex((step, place) => step !== place);
    // The step that should stand there says why it comes so early; the first has no reason of its own.
    done(wrong < 0 ? { item: null, right: true } : { item: Math.max(wrong, 1), right: false });
  }, ["排好了", "Check the order"]);
  return {
    element: go,
    lock(locked) {
      lock(go, locked);
      if (locked) list.querySelectorAll("button").forEach((each) => lock(each, true));
      else ends();
    },
    reveal() {
      now().forEach((step, place) => steps[step].classList.add(step === place ? "right" : "wrong"));
      list.append(...steps);
    },
    reset() {
      steps.forEach((step) => step.classList.remove("right", "wrong"));
      do list.append(...shuffle([...steps])); while (now().every((step, place) => step === place));
      ends();
    },
    focus: () => list.querySelector("button:not([aria-disabled=true])").focus(),
  };
}
