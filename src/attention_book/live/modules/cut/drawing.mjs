/* A scene as SVG: as a picture, and as parts that can be pressed. */
import { shade } from "../page/ramp.mjs";
import { svg } from "../page/words.mjs";
import { outline } from "./scene.mjs";

const round = (value) => Math.round(value * 10) / 10;

/** A drawing of a scene that nobody can press. `lang`: { source, target }. */
export function picture(found, lang, labelledBy) {
  const { width, height, narrow } = found;
  return svg("svg", {
    class: `live-cut-drawing ${narrow ? "live-cut-narrow" : "live-cut-wide"}`, viewBox: `0 0 ${width} ${height}`,
    role: "img", translate: "no", "aria-labelledby": labelledBy,
  }, found.ribbons.map((each) => ribbonPart(each, narrow)), found.words.map((each) => wordPart(each, found, lang)));
}

/** The shapes of a ribbon; where it is cut, a dashed line with scissors. */
function ribbonPart(ribbon, narrow) {
  const { area, line } = outline(ribbon, narrow);
  return ribbon.ghost
    ? [svg("path", { class: "live-cut-ghost", d: line }), scissors((ribbon.x0 + ribbon.x1) / 2, (ribbon.y0 + ribbon.y1) / 2)]
    : svg("path", { class: "live-cut-ribbon", d: area, fill: shade(ribbon.weight) });
}

/** The text of a word; where all its looks are cut, with scissors beside it. */
function wordPart(word, { narrow, size }, lang) {
  const state = `${word.cut ? " cut" : ""}${word.fresh ? " fresh" : ""}`;
  const text = svg("text", {
    class: `live-cut-word${state}`, x: round(word.x), y: round(word.y), "text-anchor": word.anchor, "font-size": round(size),
    lang: lang[word.side],
  }, word.text);
  if (!word.cut) return text;
  const way = word.side === "source" ? 1 : -1;
  return [text, narrow
    ? scissors(word.edge.x + 16 * way, word.edge.y)
    : scissors(word.x, word.edge.y + 10 * way)];
}

/** Two rings and two blades. */
export const scissors = (x, y) => svg("g", { class: "live-cut-scissors", transform: `translate(${round(x)} ${round(y)})` },
  svg("path", { d: "M-4.2-3.4 8 5M-4.2 3.4 8-5" }), svg("circle", { cx: -6.6, cy: -5, r: 3 }), svg("circle", { cx: -6.6, cy: 5, r: 3 }));

/** A drawing whose words and ribbons are buttons. `press(name)`: one was chosen. Returns
    `{ element, show(scene), names }`; what stays keeps its element, and so the keyboard its place. */
export function pressable({ lang, press, describe, labelledBy }) {
  const trail = svg("polyline", { class: "live-cut-trail", points: "" });
  const ground = svg("g"), above = svg("g");
  const element = svg("svg", { class: "live-cut-drawing live-cut-live", role: "group", translate: "no",
    "aria-labelledby": labelledBy }, ground, above, trail);
  const parts = new Map();
  let held = null;

  function part(key, side) {
    if (!parts.has(key)) {
      const made = svg("g", { class: "live-cut-part", role: "button", tabindex: -1, "aria-describedby": describe[side],
        focus: () => { held = key; for (const [other, each] of parts) each.setAttribute("tabindex", other === key ? 0 : -1); },
        keydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          press(made.dataset.cut);
        } });
      parts.set(key, made);
    }
    return parts.get(key);
  }

  /** The words of a scene and its ribbons, in their places; `moving`: they are only on their way. */
  function show(found, moving = false) {
    element.setAttribute("viewBox", `0 0 ${found.width} ${found.height}`);
    const seen = new Set(), active = element.contains(document.activeElement) ? document.activeElement : null;
    const put = (into, each, name, label, pressed, ...children) => {
      const made = part(each.key, into === ground ? "ribbon" : each.side);
      seen.add(each.key);
      made.replaceChildren(...children.flat(Infinity));
      if (moving) return made;
      made.dataset.cut = name;
      made.setAttribute("aria-pressed", String(Boolean(pressed)));
      made.setAttribute("aria-label", label);
      return made;
    };
    const words = new Map(found.words.map((word) => [`${word.side} ${word.place}`, word]));
    const ribbons = found.ribbons.map((each) => {
      const { line } = outline(each, found.narrow);
      const label = `${words.get(`target ${each.target}`)?.text} → ${words.get(`source ${each.source}`)?.text} ${each.weight.toFixed(2)}`;
      return put(ground, each, each.name, label, each.ghost, ribbonPart(each, found.narrow), svg("path", { class: "live-cut-reach", d: line }));
    });
    const texts = found.words.map((each) => {
      const made = put(above, each, each.name, each.text, each.cut, reach(each, found), wordPart(each, found, lang));
      made.setAttribute("opacity", each.ink ?? 1);
      return made;
    });
    // Only what is not there yet moves in the page: to take an element out would take the focus from it.
    order(ground, ribbons);
    order(above, texts);
    for (const [key, each] of parts) {
      if (seen.has(key)) continue;
      each.remove();
      parts.delete(key);
    }
    if (!parts.has(held)) {
      held = found.words[0]?.key;
      parts.get(held)?.setAttribute("tabindex", 0);
    }
    // An element that moved in the page, or is gone, has lost the keyboard's place.
    if (active && document.activeElement !== active) (active.isConnected ? active : parts.get(held))?.focus();
  }

  const at = (event) => {
    const box = element.getBoundingClientRect(), view = element.viewBox.baseVal;
    return `${round(((event.clientX - box.left) * view.width) / box.width)},${round(((event.clientY - box.top) * view.height) / box.height)}`;
  };
  return {
    element, at, part: (key) => parts.get(key),
    show, draw: (points) => trail.setAttribute("points", points.join(" ")),
    focusOn: (name) => [...parts.values()].find((each) => each.dataset.cut === name)?.focus(),
  };
}

/** Have a group hold these elements in this order, and touch no more of them than it must. */
function order(group, elements) {
  elements.forEach((each, i) => { if (group.children[i] !== each) group.insertBefore(each, group.children[i] ?? null); });
}

/** The ground of a word that a finger can meet. */
function reach(word, { narrow, size }) {
  const height = narrow ? 33 : Math.max(44, size * 1.9), width = Math.max(44, word.width);
  const x = word.anchor === "middle" ? word.x - width / 2 : word.anchor === "end" ? word.x - width + 4 : word.x - 4;
  return svg("rect", { class: "live-cut-reach-word", x: round(x), y: round(word.y - size * 0.35 - height / 2), width: round(width), height, rx: 5 });
}
