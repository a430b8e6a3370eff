/* Elements, in two languages. Text goes in as text nodes only: what a reader typed is never markup. */

const SVG = "http://www.w3.org/2000/svg";

/** An element: attributes that are functions listen; false and null leave an attribute out. */
export const el = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity));
  return element;
}

/** A text in both languages; which of them shows is the style sheet's affair. A text that is the
    same in both, such as a number, is a string. */
export function both(text, make = el, tag = "span") {
  if (!Array.isArray(text)) return [String(text)];
  const [zh, en] = text;
  return zh === en ? [zh] : [
    make(tag, { class: "bl bl-zh", lang: "zh-Hans" }, zh),
    make(tag, { class: "bl-sep" }, " "),
    make(tag, { class: "bl bl-en", lang: "en" }, en),
  ];
}

/** A text in a drawing, at a place. Where both languages show, the English stands below the Chinese. */
export function label(text, attributes) {
  if (!Array.isArray(text)) return [svg("text", attributes, String(text))];
  return [["bl-zh", "zh-Hans", text[0]], ["bl-en", "en", text[1]]].map(([language, lang, words]) =>
    svg("text", { ...attributes, lang, class: `${attributes.class ?? ""} live-stack bl ${language}`.trim() }, words));
}

/** A token as it can be shown: control characters would hide, and those for direction turn the page. */
export function visible(token, most = 24) {
  const letters = [...token.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "\ufffd")];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
}

/** A number as it is printed: so many digits, and a minus as long as a plus. */
export function number(value, digits = 2) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

let count = 0;
export const freshId = () => `live-${count++}`;
