/* The line of a listing that is wrong: each line that might be is a button. */
import { el } from "../../page/words.mjs";
import { lock, pressable } from "../parts.mjs";

export function line({ root, data, done }) {
  const lines = inLines(root.querySelector(":scope > .highlight-python pre"));
  const buttons = data.lines.map((number, item) => pressable(lines[number], { class: "question-line-button" }, () => {
    buttons[item].classList.add(item === data.right ? "right" : "wrong");
    done({ item, right: item === data.right });
  }));
  return {
    lock: (locked) => buttons.forEach((each) => lock(each, locked || each.classList.contains("wrong"))),
    reveal: () => buttons[data.right].classList.add("right"),
    reset: () => buttons.forEach((each) => each.classList.remove("right", "wrong")),
    focus: () => lines[Math.min(...data.lines)].firstChild.focus(),
  };
}

/** Give each line of a colored listing an element of its own. */
function inLines(listing) {
  const start = () => el("span", { class: "question-line" }), lines = [start()];
  for (const node of listing.childNodes) {
    node.textContent.split("\n").forEach((text, i) => {
      if (i) lines.push(start());
      const part = node.nodeType === Node.TEXT_NODE ? text : node.cloneNode(false);
      if (part !== text) part.textContent = text;
      if (text) lines.at(-1).append(part);
    });
  }
  if (!lines.at(-1).textContent) lines.pop();
  listing.replaceChildren(el("span", { class: "question-lines" }, lines)); // as wide as the widest
  return lines;
}
