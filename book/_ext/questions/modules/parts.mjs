/* What the kinds of questions have in common: buttons that can be locked, and words that stand in the page already. */
import { both, el } from "../page/words.mjs";

/** A button. While it is locked it stays where the focus is, and does nothing. */
export const button = (attributes, press, ...words) =>
  el("button", { type: "button", ...attributes, click: (event) => { if (!isLocked(event.currentTarget)) press(event); } }, ...words);

export const lock = (element, locked) => element.setAttribute("aria-disabled", String(locked));
export const isLocked = (element) => element.getAttribute("aria-disabled") === "true";

export const check = (press, words = ["看看对不对", "Check"]) => button({ class: "question-go" }, press, both(words));

/** Make a button of what an element holds; a link in it becomes text. */
export function pressable(element, attributes, press) {
  for (const link of element.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  const formula = formulaAlone(element), label = formula && { "aria-label": formula, translate: "no" };
  const made = button({ ...attributes, ...label }, press, ...element.childNodes);
  element.replaceChildren(made);
  return made;
}

/** What a button that is one formula is called: its MathML alone is no name to every reader of the screen. */
function formulaAlone(element) {
  const copy = element.cloneNode(true), formulas = [...copy.querySelectorAll("math")];
  for (const each of copy.querySelectorAll(".katex-html, annotation")) each.remove();
  const said = formulas.map(onOneLine).join(" ");
  for (const each of formulas) each.remove();
  return said && !copy.textContent.trim() ? said : null;
}

const whole = (text) => ([...text].length > 1 ? `(${text})` : text);
const WRITTEN = {
  mfrac: ([above, below]) => `${whole(above)}/${whole(below)}`,
  msup: ([base, power]) => `${base}^${whole(power)}`,
  msub: ([base, index]) => `${base}_${whole(index)}`,
  msubsup: ([base, index, power]) => `${base}_${whole(index)}^${whole(power)}`,
  msqrt: (inside) => `√${whole(inside.join(""))}`,
};

/** A formula as one types it: ½ is 1/2 and not 12. */
function onOneLine(node) {
  if (!node.children.length) return node.textContent;
  const parts = [...node.children].map(onOneLine);
  return WRITTEN[node.localName]?.(parts) ?? parts.join("");
}

/** Copies of words of the page, without the ids that stand there once. */
export function copied(words) {
  return [...words].map((word) => {
    const copy = word.cloneNode(true);
    if (copy.nodeType === Node.ELEMENT_NODE) for (const each of [copy, ...copy.querySelectorAll("[id]")]) each.removeAttribute("id");
    return copy;
  });
}

/** What a cell or an item of a list says: its paragraph's words. */
export const wordsOf = (element) => copied((element?.querySelector(":scope > p") ?? element)?.childNodes ?? []);

export function shuffle(items) {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
  return items;
}
