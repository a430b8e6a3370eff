/* What a reader can change: each control writes one value of the state, and follows it. */
import { both, el, freshId } from "./words.mjs";

/** Make a control from its description. `host` has `get(key)` and `set(changes)`.
    Returns `{ element, follow(state) }`, where `follow` brings the control up to a new state. */
export function control(description, host) {
  return KINDS[description.kind](description, host);
}

const KINDS = { walk, slider, choice, checks, action, custom: ({ build }, host) => build(host) };

/** Steps of a story: back, next, and each step by name; after the last comes the first. */
function walk({ key, title, options }, host) {
  const at = () => options.findIndex(([value]) => value === host.get(key));
  const go = (by) => host.set({ [key]: options[(at() + by + options.length) % options.length][0] });
  const numbered = options.map(([value, text], i) =>
    [value, Array.isArray(text) ? text.map((words) => `${i + 1} ${words}`) : `${i + 1} ${text}`]);
  const radios = choice({ key, title, options: numbered }, host);
  const button = (text, by) => el("button", { type: "button", click: () => go(by) }, both(text));
  return {
    element: el("div", { class: "live-row" },
      button(["‹ 上一步", "‹ Back"], -1), button(["下一步 ›", "Next ›"], 1), radios.element),
    follow: radios.follow,
  };
}

/** One number. `write` says how it is printed beside the slider. */
function slider({ key, title, min, max, step, write = String }, host) {
  const id = freshId();
  const input = el("input", { type: "range", id, min, max, step, value: host.get(key),
    input: () => host.set({ [key]: Number(input.value) }) });
  const shown = el("output", { for: id });
  return {
    element: el("div", { class: "live-row live-slider" }, el("label", { for: id }, both(title)), input, shown),
    follow(state) {
      if (Number(input.value) !== state[key]) input.value = state[key];
      const text = write(state[key]);
      shown.replaceChildren(...both(text));
      // What a screen reader says instead of the bare number; an attribute has one language.
      input.setAttribute("aria-valuetext", Array.isArray(text) ? text.join(" ") : text);
    },
  };
}

/** One of a few: radio buttons, for arrow keys and touch come with the browser. */
function choice({ key, title, options }, host) {
  const name = freshId();
  const inputs = options.map(([value]) => el("input", { type: "radio", name, value: String(value),
    checked: value === host.get(key), change: () => host.set({ [key]: value }) }));
  return {
    element: el("fieldset", { class: "live-choice" }, el("legend", {}, both(title)),
      options.map(([, text], i) => el("label", {}, inputs[i], el("span", {}, both(text))))),
    follow: (state) => inputs.forEach((input, i) => { input.checked = options[i][0] === state[key]; }),
  };
}

/** Any of a few: the state holds one digit for each, "01001". */
function checks({ key, title, options }, host) {
  const inputs = options.map((_, i) => el("input", { type: "checkbox", checked: host.get(key)[i] === "1",
    change: (event) => {
      const digits = [...host.get(key)];
      digits[i] = event.target.checked ? "1" : "0";
      host.set({ [key]: digits.join("") });
    } }));
  return {
    element: el("fieldset", { class: "live-choice" }, el("legend", {}, both(title)),
      options.map((text, i) => el("label", {}, inputs[i], el("span", {}, both(text))))),
    follow: (state) => inputs.forEach((input, i) => { input.checked = state[key][i] === "1"; }),
  };
}

/** A button; `change(state)` returns what it changes. */
function action({ title, change }, host) {
  const element = el("button", { type: "button", click: () => host.set(change(host.state())) }, both(title));
  return { element, follow: () => {} };
}
