/* One layer: the residual stream of one token. What flows in, what each sublayer adds, what flows out; all
   strips on one scale, so that they can be compared, and one number of them followed down. */
import { svg } from "../page/words.mjs";
import { board, equals, part, PHONE, plain, row, shown, signed, strip, token, weightText, words, wrapped } from "./draw.mjs";
import { biggest, isLook, length, seen, stations, streamSum } from "./passing.mjs";
import { KINDS, placeName } from "./story.mjs";

const STRIP = 46;
const lengthText = (vector) => [`长 ${plain(length(vector), 1)}`, `length ${plain(length(vector), 1)}`];

/** A strip with its name, its length, and one of its numbers; where it is pressed, that number is followed. */
function line({ name, vector, kind, value, c, top, x, y, width, right, height = STRIP }, act) {
  const step = width / vector.length, at = x + (c + 0.5) * step, beside = c < 0.75 * vector.length;
  const choose = act && ((event) => {
    const box = event.currentTarget.getBoundingClientRect();
    act.number(Math.max(0, Math.min(vector.length - 1, Math.floor((event.clientX - box.left) / box.width * vector.length))));
  });
  return [words(name, x, y + 14, { class: kind === "stream" ? "live-strong" : "" }),
    words(lengthText(vector), right, y + 14, { class: "live-number live-muted walk-small", "text-anchor": "end" }),
    svg("g", { class: "walk-pick", click: choose }, svg("rect", { class: "walk-none", x, y: y + 20, width, height }),
      strip(vector, { x, y: y + 20, width, height, top, kind, mark: c })),
    svg("text", { class: "live-number live-halo walk-small live-strong", x: at + (beside ? 9 : -9), y: y + 31, "text-anchor": beside ? "start" : "end" }, value)];
}

const tallest = (vectors) => Math.max(...vectors.flatMap((each) => [...each].map(Math.abs)));

export function oneLayer(view, act) {
  const { found, width, station, here, head, c, word } = view, phone = width < PHONE, left = 26, wide = width - left - 2, trunk = 9;
  const subs = Object.entries(found[station.side].layers[station.layer]), list = stations(found, station.side), sum = streamSum(found, station, here, c);
  const [first, last] = [subs[0][1].before[here], subs.at(-1)[1].after[here]], top = tallest([first, last, ...subs.map(([, sub]) => sub.added[here])]);
  // The sum of the number that is followed, written out: first, for it says what the strips below show.
  const printed = shown(sum.first) + sum.parts.reduce((all, [, value]) => all + shown(value), 0);
  const text = `${plain(sum.first)} ${sum.parts.map(([, value]) => `${value < 0 ? "−" : "+"} ${plain(Math.abs(value))}`).join(" ")} ${equals(printed, sum.last)} ${plain(sum.last)}`;
  const written = wrapped([`第 ${c + 1} 个数：${text}`, `Number ${c + 1}: ${text}`], left, 15, wide, { class: "live-strong live-number walk-big" }, 15);
  const shapes = [written.shapes], begin = written.height + 12, strips = (y, name, vector, kind, value) =>
    line({ name, vector, kind, value, c, top, x: left, y, width: wide, right: width - 2 }, act);
  let y = begin;
  shapes.push(strips(y, ["流进来", "flows in"], first, "stream", plain(sum.first)));
  y += 20 + STRIP + 8;
  for (const [kind, sub] of subs) {
    const each = list.find((one) => one.kind === kind && one.layer === station.layer), now = kind === station.kind, looks = isLook(kind);
    const low = looks ? (phone ? 44 : 40) : 30, height = 20 + STRIP + 8 + low + 8, at = y + 20 + STRIP + 6, middle = y + 20 + STRIP / 2;
    if (now) shapes.push(svg("rect", { class: "walk-band", x: left - 8, y: y - 4, width: wide + 8, height: height - 2, rx: 8 }));
    shapes.push(strips(y, [`＋ ${KINDS[kind][0]}`, `+ ${KINDS[kind][1]}`], sub.added[here], kind === "ff" ? "ff" : "look", signed(sub.added[here][c])),
      svg("circle", { class: "walk-plus", cx: trunk, cy: middle, r: 7 }), svg("path", { class: "walk-cross", d: `M${trunk - 4},${middle} h8 M${trunk},${middle - 4} v8` }));
    if (looks) shapes.push(heads({ found, here, head, word, phone, each, sub, now, left, wide, at, low }, act));
    else {
      const units = sub.units[here], on = units.filter((value) => value > 0).length;
      shapes.push(part({ key: "units", x: left, y: at, width: Math.min(wide, 300), height: low - 2, now, first: now, name: placeName(each), act: act && (() => act.deeper(each.side, each.n)) },
        words([`${units.length} 个单元，亮 ${on} 个：打开看`, `${units.length} units, ${on} on: look inside`], left + 10, at + 18, { class: "walk-small" })));
    }
    y += height;
  }
  shapes.push(strips(y, ["＝ 流出去", "= flows out"], last, "stream", plain(sum.last)));
  const [from, to] = [begin + 20 + STRIP / 2, y + 20 + STRIP / 2];
  const note = wrapped(["每个子层读的是流的一份归一化的副本，只把结果加回来。", "Each sublayer reads a normalized copy of the stream and only adds its result."], left, y + STRIP + 44, wide, { class: "walk-small live-muted" }, 13);
  return board(width, y + STRIP + 34 + note.height, svg("path", { class: "walk-stream", d: `M${left},${from} H${trunk} V${to} H${left}` }), shapes, note.shapes);
}

/** The heads of a look, each with its row of weights and the word that it looks at most. */
function heads({ found, here, head, word, phone, each, sub, now, left, wide, at, low }, act) {
  const gap = 6, room = (wide - gap * (found.heads - 1)) / found.heads, names = seen(found, each);
  return Array.from({ length: found.heads }, (_, h) => {
    const weights = sub.weights[h][here], best = biggest(weights), x = left + h * (room + gap), chosen = now && h === head;
    const title = phone || room < 110 ? svg("text", { class: "walk-small live-muted", x: x + 5, y: at + 14 }, `${h + 1}`)
      : words([`头 ${h + 1}`, `head ${h + 1}`], x + 8, at + 15, { class: "walk-small live-muted" });
    return part({ key: `head.${each.kind}.${h}`, x, y: at, width: room, height: low - 2, now: chosen, first: chosen, quotes: true,
      name: [`${KINDS[each.kind][0]}，头 ${h + 1}，最多看 ${names[best]}`, `${KINDS[each.kind][1]}, head ${h + 1}, looks most at ${names[best]}`], act: act && (() => act.head(each.side, each.n, h)) },
    title, token(names[best], x + room - (phone ? 4 : 38), at + 14, { class: "walk-small", "text-anchor": "end" }),
    phone ? [] : svg("text", { class: "live-number walk-small live-muted", x: x + room - 8, y: at + 14, "text-anchor": "end" }, weightText(weights[best])),
    row(weights, { x: x + 5, y: at + low - 18, width: room - 10, height: 11, count: each.kind === "cross" || each.side === "enc" ? names.length : word + 1 }));
  });
}

/** Embedding, position and norm: strips below each other, and the same number of each written out. */
export function onlyStrips(view, act, lines, sum) {
  const { width, c } = view, height = 62, top = tallest(lines.map(([, vector]) => vector));
  const written = wrapped(sum, 0, 15, width, { class: "live-strong live-number walk-big" }, 15);
  const from = written.height + 12, step = 20 + height + 12;
  return board(width, from + lines.length * step, written.shapes, lines.map(([name, vector, kind], n) =>
    line({ name, vector, kind, value: plain(vector[c]), c, top, x: 0, y: from + n * step, width, right: width - 2, height }, act)));
}
