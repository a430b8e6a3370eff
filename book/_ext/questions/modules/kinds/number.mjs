/* A number worked out by hand: fractions, percents, both signs of minus and both points are understood. */
import { both, el, freshId } from "../../page/words.mjs";
import { check, copied, lock } from "../parts.mjs";

/** "3/7", "−0,75", "１０％" → what numbers it may be; none where it is none. */
export function readings(text) {
  const plain = text.normalize("NFKC").trim().replace(/[−–—]/g, "-").replaceAll("⁄", "/").replace(/^\+/, "").replace(/(\d) (?=\d{3}(?!\d))/g, "$1");
  if (/%$/.test(plain)) return readings(plain.slice(0, -1)).flatMap((value) => [value, value / 100]);
  const [, above, below] = /^([^/]+)\/([^/]+)$/.exec(plain) ?? [];
  if (above) return readings(above).flatMap((a) => readings(below).map((b) => a / b)).filter(Number.isFinite);
  // A comma parts the thousands, or it is a point; "1,024" may be either.
  const found = /^-?\d{1,3}(,\d{3})+(\.\d*)?$/.test(plain) ? [plain.replaceAll(",", "")] : [];
  if (/^-?\d*,\d+$/.test(plain)) found.push(plain.replace(",", "."));
  return (found.length ? found : [plain]).filter((each) => /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(each)).map(Number);
}

/** Which item a number stands for: the answer, a mistake that we know, or any other (null in `values`). */
export function itemOf(numbers, values, right, tolerance) {
  const away = (item) => (values[item] === null ? Infinity : Math.min(...numbers.map((value) => Math.abs(value - values[item]))));
  const near = values.map((_, item) => item).filter((item) => away(item) <= tolerance + 1e-9).sort((a, b) => away(a) - away(b));
  return near.includes(right) ? right : near[0] ?? values.indexOf(null);
}

export function number({ root, data, done, turn }) {
  const id = freshId(), hint = freshId();
  const unit = copied(root.querySelector(":scope > .question-blank").childNodes);
  unit[0].textContent = unit[0].textContent.replace(/^_+ /, "");
  const input = el("input", { id, type: "text", inputmode: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", size: 9, "aria-describedby": hint });
  const go = check(answer), note = el("small", { id: hint, role: "status" });
  const element = el("form", { class: "question-number", submit: (event) => { event.preventDefault(); answer(); } },
    el("label", { for: id }, both(["我的答案", "My answer"])), input, el("span", {}, unit), go, note);
  const others = root.querySelector(":scope > template")?.content.children ?? [], first = new Map();
  let variant = 0;
  vary();
  /** Ask with other numbers than the last time. */
  function vary() {
    variant = turn() % data.variants.length;
    for (const place of root.querySelectorAll(".given")) {
      if (!first.has(place)) first.set(place, [...place.childNodes]);
      const which = /(?:^| )given-(\d+)/.exec(place.className)[1];
      place.replaceChildren(...(variant ? copied(others[variant - 1].children[which].childNodes) : first.get(place)));
    }
  }
  function answer() {
    if (input.readOnly) return;
    const numbers = readings(input.value);
    note.replaceChildren(...(numbers.length ? [] : both(["请写一个数，分数也行，如 3/7。", "A number, please; a fraction such as 3/7 will do."])));
    if (!numbers.length) return input.focus();
    const item = itemOf(numbers, data.variants[variant], data.right, data.tolerance);
    done({ item, right: item === data.right });
  }
  return {
    element,
    lock(locked) {
      input.readOnly = locked;
      lock(go, locked);
    },
    reveal: () => {},
    reset() {
      input.value = "";
      note.replaceChildren();
      vary();
    },
    focus: () => input.focus(),
  };
}
