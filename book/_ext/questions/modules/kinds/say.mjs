/* In one's own words: write or think, then compare with the points, and grade oneself. */
import { both, el, freshId } from "../../page/words.mjs";
import { check, lock, wordsOf } from "../parts.mjs";

export function say({ replies, done }) {
  const id = freshId(), text = el("textarea", { id, rows: 3, maxlength: 1200 });
  const boxes = replies.map(() => el("input", { type: "checkbox" }));
  const go = check(() => {
    const ticked = boxes.filter((box) => box.checked).length;
    done({ item: null, right: ticked === boxes.length, grade: ticked === boxes.length ? 3 : ticked ? 2 : 1 });
  }, ["就这样", "Done"]);
  const points = el("fieldset", { class: "question-points", hidden: true },
    el("legend", {}, both(["说到了哪几点？", "Which of these did you say?"])),
    replies.map((point, i) => el("label", {}, boxes[i], el("span", {}, wordsOf(point)))), go);
  const compare = check(() => {
    show(true);
    boxes[0].focus();
  }, ["写好了，对一对", "Compare"]);
  const show = (open) => { [points.hidden, compare.hidden] = [!open, open]; };
  return {
    element: el("div", { class: "question-say" }, el("label", { for: id },
      both(["用自己的话（只留在这一页，不保存）", "In your own words (they stay on this page and are not saved)"])), text, compare, points),
    lock(locked) {
      text.readOnly = locked;
      for (const box of boxes) box.disabled = locked;
      lock(go, locked);
      lock(compare, locked);
    },
    reveal: () => show(true),
    reset() {
      text.value = "";
      for (const box of boxes) box.checked = false;
      show(false);
    },
    focus: () => text.focus(),
  };
}
