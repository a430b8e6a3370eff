/* The contrast of a text, from computed colors, where axe leaves it to people: single letters (formulas are full of
   them), signs, text on gradients (the shadows of what scrolls), in drawings, and below what has no color.

   `measureContrast(element, overlapped)` returns { ratio, needed }, the lowest ratio if there are several grounds;
   null where colors alone do not tell: pictures, patterns, and, if something overlaps the text, a color of it. */
window.measureContrast = (function () {
  "use strict";

  /* "rgb(1 2 3 / 0.5)", "rgba(1, 2, 3, 0.5)" and "color(srgb 0.1 0.2 0.3)" are how computed colors are written. */
  const COLOR = /(rgba?|color)\(([^()]+)\)/g;
  function read(text) {
    if (text === "transparent") return [0, 0, 0, 0];
    const [, kind, inside] = /^(rgba?|color)\(([^()]+)\)$/.exec(text) ?? [];
    if (!kind || kind === "color" && !inside.startsWith("srgb ")) return null;
    const numbers = inside.match(/[\d.]+(?:e-?\d+)?%?/g).map((each) => parseFloat(each) / (each.endsWith("%") ? 100 : 1));
    const [red, green, blue, alpha = 1] = numbers;
    return kind === "color" ? [red, green, blue, alpha] : [red / 255, green / 255, blue / 255, alpha];
  }
  const over = ([red, green, blue, alpha], ground) =>
    [red, green, blue].map((part, i) => part * alpha + ground[i] * (1 - alpha)).concat(1);
  const mixed = (color, ground, share) => color.map((part, i) => part * share + ground[i] * (1 - share));

  function luminance(color) {
    const [red, green, blue] = color.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
  function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  /* A list of values, one a layer; commas within brackets do not part them. */
  const layers = (value) => value.split(/,\s*(?![^(]*(?:\([^()]*\)[^()]*)*\))/);

  /* A strip at the edge of what scrolls, a shadow: it lies on what is on its way out of sight, and on nothing else. */
  const isEdge = (style, size) => style.overflowX === "auto" && /^[\d.]+px/.test(size) && parseFloat(size) <= 16;

  /* What an element paints on a ground, each color that the text may have behind it; null if it is a picture. */
  function grounds(style, ground) {
    const color = read(style.backgroundColor);
    if (!color || /url\(|image-set|conic-/.test(style.backgroundImage)) return null;
    const found = [over(color, ground)], sizes = layers(style.backgroundSize);
    for (const [i, layer] of layers(style.backgroundImage).entries()) {
      if (isEdge(style, sizes[i % sizes.length])) continue;
      for (const [stop] of layer.matchAll(COLOR)) {
        const shade = read(stop);
        if (!shade) return null;
        found.push(over(shade, found[0]));
      }
    }
    return found;
  }

  /* What of a drawing is painted before a text and lies below its middle: shapes, pictures and copies. */
  function partsBelow(text) {
    const drawing = text.ownerSVGElement, box = text.getBoundingClientRect();
    const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
    const parts = [...drawing.querySelectorAll("rect, circle, ellipse, path, polygon, image, use")];
    return parts.filter((part) => {
      const before = text.compareDocumentPosition(part) & Node.DOCUMENT_POSITION_PRECEDING;
      if (!before || part.closest("defs, clipPath, marker, pattern, mask") || getComputedStyle(part).display === "none") return false;
      if (part.isPointInFill) {
        const place = part.getScreenCTM();
        return place && part.isPointInFill(middle.matrixTransform(place.inverse()));
      }
      const { left, right, top, bottom } = part.getBoundingClientRect();
      return left <= middle.x && middle.x <= right && top <= middle.y && middle.y <= bottom;
    });
  }
  const opacities = (element, end) => (element === end ? 1 : Number(getComputedStyle(element).opacity) * opacities(element.parentElement, end));

  /* [ground, text] for each ground that there may be, seen on `ground`. */
  function painted([element, ...inner], ground, text) {
    const style = getComputedStyle(element), opacity = Number(style.opacity);
    let found = grounds(style, ground);
    if (!found) return null;
    if (element === text.ownerSVGElement) {
      for (const shape of partsBelow(text)) {
        const { fill, fillOpacity } = getComputedStyle(shape);
        if (!shape.isPointInFill) return null;
        if (fill === "none") continue;
        const color = read(fill);
        if (!color) return null;
        color[3] *= Number(fillOpacity) * opacities(shape, element);
        found = found.map((each) => over(color, each));
      }
    }
    let pairs = [];
    for (const each of found) {
      if (inner.length) {
        const more = painted(inner, each, text);
        if (!more) return null;
        pairs.push(...more);
      } else {
        const color = read(text.ownerSVGElement ? style.fill : style.color);
        if (!color) return null;
        if (text.ownerSVGElement) color[3] *= Number(style.fillOpacity);
        pairs.push([each, over(color, each)]);
      }
    }
    return pairs.map((pair) => pair.map((color) => mixed(color, ground, opacity)));
  }

  /* Something with a color of its own that is neither around the text nor in it, and lies there. */
  function isCovered(text, lineage) {
    text.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const box = text.getClientRects()[0];
    if (!box) return true;
    return document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2).some((other) => {
      if (lineage.includes(other) || text.contains(other) || other.ownerSVGElement) return false;
      const style = getComputedStyle(other);
      return read(style.backgroundColor)?.[3] !== 0 || style.backgroundImage !== "none" || other.matches("img, video, canvas");
    });
  }

  return function (text, overlapped = false) {
    const lineage = [];
    for (let each = text; each; each = each.parentElement) lineage.unshift(each);
    if (overlapped && isCovered(text, lineage)) return null;
    const pairs = painted(lineage, [1, 1, 1, 1], text);
    if (!pairs) return null;
    const { fontSize, fontWeight } = getComputedStyle(text), size = parseFloat(fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700) ? 3 : 4.5;
    return { ratio: Math.min(...pairs.map(([ground, color]) => ratio(ground, color))), needed };
  };
})();
