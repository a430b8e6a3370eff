/* One head: a row of attention from left to right, as score, mask and softmax, value; below it the sum.
   Beside it the two matrices that the row is a row of. */
import { svg } from "../page/words.mjs";
import { board, clipped, heat, hidden, part, PHONE, plain, strip, token, vary, words, wrapped } from "./draw.mjs";
import { length, own, seen, sublayer } from "./passing.mjs";

const ROW = 30, TOP = 40;

export function oneHead(view, act) {
  const { found, width, station, here, head, pick, word } = view, phone = width < PHONE, look = sublayer(found, station), names = seen(found, station);
  const count = station.side === "enc" || station.kind === "cross" ? names.length : word + 1, size = found.headSize, piece = (x) => x.subarray(head * size, (head + 1) * size);
  const scores = look.scores[head][here], weights = look.weights[head][here], values = look.values.map(piece), top = Math.max(...values.flatMap((each) => [...each].map(Math.abs)));
  const table = phone ? width : Math.min(460, width * 0.6), at = phone ? [0, 112, 122, 232] : [0, 150, 164, 296], room = table - at[3];
  const title = (text, x, y, attributes = {}) => words(text, x, y, { class: y > 20 ? "live-muted walk-tiny" : "live-muted walk-small", ...attributes });
  const shapes = [title(["词", "word"], 6, 14), title(phone ? `q·k ÷ √${size}` : [`评分 q·k ÷ √${size}`, `score q·k ÷ √${size}`], at[1], 14, { "text-anchor": "end" }),
    title(["权重", "weight"], at[2] + 4, 14, { class: "walk-small live-strong" }), title(["× 值", "× value"], at[3], 14),
    title(["1 评分", "1 score"], at[1], 30, { "text-anchor": "end" }), title(["2 掩码，softmax", "2 mask, softmax"], at[2] + 4, 30), title(["3 按权重平均", width < 360 ? "3 mean" : "3 weighted mean"], at[3], 30)];
  for (let j = 0; j < count; j++) {
    const y = TOP + j * ROW, now = j === pick, bar = Math.max(1, (at[3] - at[2] - 56) * weights[j]);
    if (now) shapes.push(svg("rect", { class: "walk-band", x: 0, y: y + 1, width: table, height: ROW - 2, rx: 6 }));
    shapes.push(token(clipped(names[j], phone ? 6 : 10), 6, y + 20, { class: now ? "live-strong" : "" }));
    if (j >= weights.length) {
      shapes.push(svg("text", { class: "live-muted live-number", x: at[1], y: y + 20, "text-anchor": "end" }, "−∞"),
        hidden({ x: at[2] + 4, y: y + 7, width: at[3] - at[2] - 16, height: ROW - 14 }), title(["遮住：在后面", "hidden: later"], at[3], y + 20));
      continue;
    }
    const cell = (what, x, wide, first, name, ...inside) => part({ key: `${what}.${j}`, x, y: y + 2, width: wide, height: ROW - 4, bare: true, first, name, quotes: true, act: act && ((event) => act.cell(what, j, event)) }, inside);
    const bars = vary(strip(values[j], { x: at[3], y: y + 3, width: room, height: ROW - 6, top, kind: "value" }), "--o", (0.18 + 0.82 * Math.sqrt(weights[j])).toFixed(2));
    shapes.push(cell("score", at[1] - 50, 58, false, [`${names[j]} 的评分 ${plain(scores[j])}`, `score of ${names[j]}: ${plain(scores[j])}`],
      svg("text", { class: "live-number", x: at[1], y: y + 20, "text-anchor": "end" }, plain(scores[j]))),
    cell("weight", at[2], at[3] - at[2] - 8, now, [`${names[j]} 的权重 ${plain(weights[j], 3)}`, `weight of ${names[j]}: ${plain(weights[j], 3)}`],
      heat(Math.max(weights[j], 0.25), { x: at[2] + 4, y: y + 7, width: bar, height: ROW - 14, rx: 2 }),
      svg("text", { class: `live-number walk-small${now ? " live-strong" : ""}`, x: at[2] + bar + 9, y: y + 20 }, plain(weights[j]))),
    cell("value", at[3] - 2, room + 2, false, [`${names[j]} 的值`, `value of ${names[j]}`], bars));
  }
  let y = TOP + count * ROW + 4;
  shapes.push(svg("line", { class: "walk-rule", x1: 0, x2: table, y1: y, y2: y }), words(["加起来", "sum"], 6, y + 26, { class: "live-strong" }),
    svg("text", { class: "live-number live-strong", x: at[2] + 4, y: y + 26 }, `Σ = ${plain(weights.reduce((a, b) => a + b, 0))}`),
    strip(piece(look.joined[here]), { x: at[3], y: y + 4, width: room, height: 36, top, kind: "look" }));
  const adds = plain(length(look.alone[head][here]), 1);
  const note = wrapped([`这 ${size} 个数乘输出矩阵，得到长 ${adds} 的一份，加进向量。`, `Multiplied by the output matrix, these ${size} numbers add a vector of length ${adds}.`], 6, y + 60, table - 6, { class: "live-muted walk-small" }, 12);
  shapes.push(note.shapes);
  y += 52 + note.height;
  const beside = matrices(view, act, { look, names, count, left: phone ? 0 : table + 34, top: phone ? y + 10 : 44 });
  return board(width, Math.max(y, beside.bottom), shapes, beside.shapes);
}

/** Scores and weights of all words, the row above outlined in them. */
function matrices({ found, width, station, here, head, pick, word }, act, { look, names, count, left, top }) {
  const phone = width < PHONE, queries = own(found, station.side).slice(0, station.side === "dec" ? word + 1 : undefined);
  const range = Math.max(...look.scores[head].flatMap((each) => [...each].map(Math.abs))), indent = phone ? 0 : 66, room = phone ? (width - 16) / 2 : width - left - 28;
  const wide = Math.min(24, (room - indent) / count), tall = Math.min(phone ? 13 : 19, 180 / queries.length), shapes = [];
  const matrix = (x, up, title, cell) => {
    shapes.push(words(title, x, up + 12, { class: "live-muted walk-small" }));
    queries.forEach((name, i) => {
      const y = up + 20 + i * tall;
      if (indent && tall > 10) shapes.push(token(clipped(name, 8), x + indent - 6, y + tall - 4, { "text-anchor": "end", class: i === here ? "walk-tiny walk-me" : "walk-tiny live-muted" }));
      for (let j = 0; j < count; j++) shapes.push(cell(i, j, { x: x + indent + j * wide, y, width: wide - 1, height: tall - 1 }));
    });
    shapes.push(svg("rect", { class: "walk-outline", x: x + indent - 1.5, y: up + 20 + here * tall - 1.5, width: count * wide + 2, height: tall + 2, rx: 2 }),
      svg("rect", { class: "walk-none", x, y: up + 20, width: indent + count * wide, height: queries.length * tall, click: act && ((event) => {
        const box = event.currentTarget.getBoundingClientRect();
        act.token(station.side, Math.min(queries.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * queries.length))));
      }) }));
    return up + 20 + queries.length * tall;
  };
  const score = (i, j, box) => {
    const value = look.scores[head][i][j];
    return value === undefined ? hidden(box) : vary(svg("rect", { class: value < 0 ? "walk-low" : "walk-high", ...box }), "--w", (Math.abs(value) / range).toFixed(3));
  };
  const weight = (i, j, box) => (look.weights[head][i][j] === undefined ? hidden(box) : heat(look.weights[head][i][j], box));
  if (phone) {
    matrix(0, top, ["所有词的评分", "all scores"], score);
    return { bottom: matrix(width / 2 + 8, top, ["→ softmax → 权重", "→ softmax → weights"], weight) + 6, shapes };
  }
  if (wide > 9) names.slice(0, count).forEach((name, j) => {
    const x = left + indent + (j + 0.5) * wide;
    shapes.push(token(clipped(name, 7), x, top + 14, { class: `walk-tiny ${j === pick ? "live-strong" : "live-muted"}`, transform: `rotate(-50 ${x} ${top + 14})` }));
  });
  const first = matrix(left, top, "", score);
  shapes.push(words(["评分：蓝正，金负", "Scores: blue +, gold −"], left, first + 14, { class: "live-muted walk-small" }));
  const second = matrix(left, first + 14, "", weight);
  shapes.push(words(["每行做 softmax：权重", "Softmax of a row: weights"], left, second + 14, { class: "live-muted walk-small" }));
  return { bottom: second + 22, shapes };
}
