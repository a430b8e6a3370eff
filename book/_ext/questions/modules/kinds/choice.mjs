/* One of a few: a press is the answer. The order is another each time, so no letter is the answer. */
import { lock, pressable, shuffle, wordsOf } from "../parts.mjs";

export function choice({ root, data, replies, done }) {
  const list = root.querySelector(":scope > ol"), items = [...list.children];
  // In the fold an answer was a letter: now it is its words.
  replies.forEach((reply, item) => {
    items[item].dataset.item = item;
    const words = document.createElement("strong");
    words.append(...wordsOf(items[item]));
    reply.querySelector(".question-reply")?.before(words, " ");
  });
  const buttons = items.map((each, item) => pressable(each.querySelector("p") ?? each, { class: "question-option" }, () => {
    buttons[item].classList.add(item === data.right ? "right" : "wrong");
    done({ item, right: item === data.right });
  }));
  const mix = () => list.append(...shuffle([...items]));
  list.classList.add("question-options");
  mix();
  return {
    lock: (locked) => buttons.forEach((each) => lock(each, locked || each.classList.contains("wrong"))),
    reveal: () => buttons[data.right].classList.add("right"),
    reset() {
      for (const each of buttons) each.classList.remove("right", "wrong");
      mix();
    },
    focus: () => list.querySelector("button").focus(),
  };
}
