/* The whole model: two towers, top to bottom as in the book's drawing. Each sublayer is a detour from the
   stream, which runs along the outer edge; each look shows its weights and the word that it looks at most. */
import { svg, visible } from "../page/words.mjs";
import { board, clipped, part, percent, PHONE, row, strip, token, words, wrapped } from "./draw.mjs";
import { biggest, isLook, likely, meanRow, own, passing, reading, seen, stations, sublayer } from "./passing.mjs";
import { card, KINDS, nameOf, placeName, SIDES } from "./story.mjs";

const SMALL = 27, GAP = 7, CAPTION = 19, PAD = 7;

export function wholeModel(view, act) {
  const { found, width, station } = view, { shapes: towers, height } = machine(view, act);
  if (!station) return board(width, height, towers);
  const above = traveler(view);
  return board(width, height + above.height, above.shapes, svg("g", { transform: `translate(0 ${above.height})` }, towers));
}

/** The traveler's vector as it is now, above the machine that it is in; and what it would say. */
function traveler(view) {
  const { found, width, station, here } = view, phone = width < PHONE, says = station.side === "dec", beside = says && !phone;
  const { before, after } = passing(found, station, here), reach = Math.max(...after.map(Math.abs), ...(before ?? []).map(Math.abs));
  const room = beside ? width * 0.6 : width, indent = phone ? 0 : 78;
  const text = wrapped(card(view), indent, phone ? 32 : 14, room - indent, { class: "walk-small" }, 12), top = (phone ? 18 : 0) + text.height + 4;
  const shapes = [token(clipped(own(found, station.side)[here], 9), 0, 14, { class: "walk-me" }), text.shapes,
    strip(after, { x: 0, y: top, width: room, height: 44, top: reach, under: ["norm", "out"].includes(station.kind) ? null : before })];
  if (!says) return { shapes, height: top + 56 };
  // What it would say if it were read out here: bars that change from station to station.
  const left0 = beside ? room + 24 : 0, from = beside ? 14 : top + 62, left = left0 + (phone ? 96 : 84), wide = width - left - 48;
  shapes.push(words(["在这里读出，会写", "Read out here, it would say"], left0, from, { class: "walk-small live-strong" }));
  reading(found, station, here).slice(0, phone ? 2 : 3).forEach(({ word, probability }, n) => {
    const y = from + 9 + n * 17, bar = Math.max(1, probability * wide);
    shapes.push(token(clipped(word, 10), left - 8, y + 10, { class: n ? "walk-small" : "walk-small live-strong", "text-anchor": "end" }),
      svg("rect", { class: "walk-probability", x: left, y, width: bar, height: 11, rx: 2 }),
      svg("text", { class: "live-number walk-small live-muted", x: left + bar + 5, y: y + 10 }, percent(probability)));
  });
  return { shapes, height: Math.max(top + 56, from + (phone ? 56 : 62)) };
}

function machine(view, act) {
  const { found, width, station, src, word, tgt } = view, phone = width < PHONE;
  const aisle = phone ? 18 : 104, column = (width - aisle) / 2, tall = phone ? 44 : 36;
  const shapes = [], under = [], boxes = {}, sides = { enc: { x: 0, here: src, edge: 1 }, dec: { x: width - column, here: tgt, edge: -1 } };
  let bottom = 0;
  for (const [side, { x, here, edge }] of Object.entries(sides)) {
    const left = side === "enc" ? x + 24 : x, wide = column - 24, trunk = side === "enc" ? x + 9 : x + column - 9;
    const current = station?.side === side, list = stations(found, side);
    for (const [language, lang, name] of [["bl-zh", "zh-Hans", `${SIDES[side][0]}：`], ["bl-en", "en", `${SIDES[side][1]}: `]])
      shapes.push(svg("text", { x: left + 2, y: 14, lang, class: `live-muted bl ${language}` }, name,
        svg("tspan", { class: "walk-me", translate: "no" }, visible(clipped(own(found, side)[here], 9)))));
    let y = 24, layer = -1, frame = null;
    for (const each of list) {
      if (each.layer !== undefined && each.layer !== layer) {
        layer = each.layer;
        frame = y;
        y += CAPTION + PAD;
      }
      const big = isLook(each.kind) || each.kind === "ff", height = big ? tall : SMALL;
      const box = { x: left + (big ? 6 : 0), y, width: wide - (big ? 12 : 0), height };
      boxes[`${side}.${each.n}`] = box;
      shapes.push(part({ ...box, key: `${side}.${each.n}`, name: placeName(each), now: current && station.n === each.n,
        first: station ? current && station.n === each.n : side === "enc" && each.n === 0, act: act && (() => act.station(side, each.n)) },
      big ? inside(view, each, here, box) : words(phone && each.kind === "out" ? KINDS.out : nameOf(each.kind, side), box.x + 8, box.y + 18, {})));
      // The stream passes by, or takes a detour: through the norm into the box, and back with a plus.
      const inner = side === "enc" ? box.x : box.x + box.width, down = box.y + (big ? 0.74 : 0.5) * box.height;
      if (big) {
        const up = box.y + height * 0.28;
        shapes.push(svg("path", { class: "walk-wire", d: `M${trunk},${up} H${inner - edge} M${inner},${down} H${trunk + 6 * edge}` }),
          svg("rect", { class: "walk-norm", x: (trunk + inner) / 2 - 2, y: up - 5, width: 4, height: 10, rx: 1 }), plus(trunk, down));
      } else under.push(svg("path", { class: "walk-stream", d: `M${trunk},${down} H${inner}` }));
      if (current && station.n === each.n) shapes.push(svg("circle", { class: "walk-traveler", cx: trunk, cy: down, r: 7.5 }));
      y += height + GAP;
      if (each.kind === "ff") {
        const to = y - GAP + PAD;
        under.unshift(svg("rect", { class: "walk-layer", x: left, y: frame, width: wide, height: to - frame, rx: 8 }));
        shapes.push(words([`第 ${layer + 1} 层`, `layer ${layer + 1}`], left + 8, frame + 16, { class: "live-muted walk-small" }));
        y = to + GAP;
      }
    }
    const end = y - GAP;
    under.push(svg("path", { class: "walk-stream", d: `M${trunk},${24 + SMALL / 2} V${end - SMALL / 2}` }));
    sides[side].end = end;
    bottom = Math.max(bottom, end);
  }
  const feed = feeding(view, boxes, column + aisle / 2, phone);
  const next = nextWords(view, act, { top: sides.enc.end + 14, bottom, column, phone });
  // What the small signs say.
  const y = bottom + 20, x = phone ? 2 : sides.dec.x + 2;
  const legend = [plus(x + 7, y - 4), words(["加进向量", "added to the vector"], x + 19, y, { class: "walk-small live-muted" }),
    svg("rect", { class: "walk-norm", x: x + 152, y: y - 9, width: 4, height: 10, rx: 1 }), words(["先归一化", "normalized first"], x + 162, y, { class: "walk-small live-muted" })];
  return { shapes: [feed, under, shapes, next, legend], height: bottom + 28 };
}

const plus = (x, y) => [svg("circle", { class: "walk-plus", cx: x, cy: y, r: 6 }), svg("path", { class: "walk-cross", d: `M${x - 3.5},${y} h7 M${x},${y - 3.5} v7` })];

/** What a sublayer's box says: the weights and the word that is looked at most, or how many units are on. */
function inside({ found, width, word }, station, here, box) {
  const phone = width < PHONE, name = words(nameOf(station.kind, station.side), box.x + 8, box.y + (phone ? 17 : 23), {});
  const at = phone ? { x: box.x + 8, y: box.y + 26, width: box.width - 64, height: 12 } : { x: box.x + 116, y: box.y + 10, width: box.width - 116 - 66, height: 16 };
  if (isLook(station.kind)) {
    const mean = meanRow(sublayer(found, station), here), names = seen(found, station);
    return [name, token(clipped(names[biggest(mean)], phone ? 7 : 8), box.x + box.width - 7, box.y + (phone ? 36 : 23), { "text-anchor": "end", class: "walk-small" }),
      row(mean, { ...at, count: station.side === "enc" || station.kind === "cross" ? names.length : word + 1 })];
  }
  const units = sublayer(found, station).units[here], on = units.filter((value) => value > 0).length;
  return [name, words([`${units.length} 个单元亮 ${on} 个`, `${on} of ${units.length} units on`], at.x, at.y + (phone ? 9 : 12), { class: "live-muted walk-small" })];
}

/** Keys and values: from the memory to every cross-attention. */
function feeding({ found, station }, boxes, middle, phone) {
  const memory = boxes[`enc.${stations(found, "enc").length - 1}`], crosses = stations(found, "dec").filter(({ kind }) => kind === "cross").map(({ n }) => boxes[`dec.${n}`]);
  const ys = crosses.map((box) => box.y + box.height / 2), from = memory.y + memory.height / 2;
  const wires = ys.map((y, i) => `M${middle},${y} H${crosses[i].x - 6}`).join("");
  return svg("g", { class: station && station.kind !== "cross" ? "walk-feed" : "walk-feed lit" },
    svg("path", { d: `M${memory.x + memory.width},${from} H${middle}M${middle},${Math.min(from, ...ys)} V${Math.max(from, ...ys)}${wires}` }),
    ys.map((y, i) => svg("path", { class: "walk-arrow", d: `M${crosses[i].x - 1},${y} l-7,-4 v8 Z` })),
    phone ? [] : [["键", "keys"], ["值", "values"]].map((name, n) =>
      words(name, middle - 8, (ys[0] + ys[Math.min(1, ys.length - 1)]) / 2 + 17 * n, { class: "walk-small live-muted", "text-anchor": "end" })));
}

/** What would be written next: where the shorter tower leaves room. */
function nextWords({ found, tgt }, act, { top, bottom, column, phone }) {
  const best = likely(found, tgt).slice(0, 4), tall = Math.min(25, (bottom - top - 20) / best.length), x = phone ? 0 : 24;
  const left = x + (phone ? 66 : 96), wide = column - left - 48;
  const button = part({ key: "next", x: x - (phone ? 0 : 8), y: top - 5, width: column - x + (phone ? 0 : 8), height: 28 + best.length * tall, bare: true,
    name: ["下一个词的概率", "Probabilities of the next word"], act: act && (() => act.station("dec", stations(found, "dec").length - 1)) },
  words(["下一个词", "Next word"], x, top + 12, { class: "live-strong" }));
  return [button, best.map(({ word, probability }, i) => {
    const y = top + 20 + i * tall, bar = Math.max(1, probability * wide);
    return [token(clipped(word, phone ? 8 : 12), left - 8, y + tall * 0.68, { "text-anchor": "end", class: i ? "" : "live-strong" }),
      svg("rect", { class: "walk-probability", x: left, y: y + 3, width: bar, height: tall - 7, rx: 2 }),
      svg("text", { class: "live-number walk-small live-muted", x: left + bar + 5, y: y + tall * 0.68 }, percent(probability))];
  })];
}
