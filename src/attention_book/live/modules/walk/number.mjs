/* One number, written out: a dot product term by term, a softmax quotient, a weighted sum; a unit of the
   feed-forward network; the words that may come next and their scores. */
import { svg, visible } from "../page/words.mjs";
import { board, clipped, equals, heat, part, percent, PHONE, plain, shown, signed, token, vary, words } from "./draw.mjs";
import { dotProduct, isLook, likely, mixture, quotient, seen, sublayer, unitSum, wordSum } from "./passing.mjs";

const MOST = 8;

/** A power of e, short enough for a column: 0.0012, 1.36, 22.4, 1900, 1.36·10⁸. */
function power(value) {
  if (value >= 1e6 || (value > 0 && value < 1e-3)) {
    const [digits, exponent] = value.toExponential(2).split("e");
    return `${digits}·10${[...String(Number(exponent))].map((letter) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(letter)]).join("")}`;
  }
  return value >= 1e4 ? value.toFixed(0) : value >= 100 ? value.toFixed(1) : value >= 0.01 ? value.toFixed(2) : value.toFixed(4);
}

/** The same power as a number, as exact as it is printed. */
const printedPower = (value) => (value >= 1e6 || value < 1e-3 ? Number(value.toPrecision(3)) : value >= 1e4 ? Math.round(value) : value >= 100 ? shown(value, 1) : shown(value, value >= 0.01 ? 2 : 4));

/** A table of terms: columns of numbers, and a bar for the last one. */
function terms(width, { heads, rows, now = -1, tall = 24, choose }) {
  const phone = width < PHONE, wide = Math.min(width, 620), name = phone ? 74 : 120, column = phone ? 58 : 84, end = name + column * (heads.length - 1);
  const room = wide - end - 20, top = Math.max(...rows.map((each) => Math.abs(each.bar))) || 1, low = rows.some((each) => each.bar < 0);
  const zero = end + 14 + (low ? room / 2 : 0), scale = (low ? room / 2 : room) / top;
  const shapes = heads.map((text, n) => words(text, n ? name + column * n : 6, 14, { class: "live-muted walk-small", "text-anchor": n ? "end" : "start" }));
  rows.forEach((each, n) => {
    const y = 22 + n * tall, chosen = n === now, line = y + tall * 0.68;
    if (chosen) shapes.push(svg("rect", { class: "walk-band", x: 0, y, width: wide, height: tall - 1, rx: 5 }));
    const box = { x: each.bar < 0 ? zero + each.bar * scale : zero, y: y + 5, width: Math.max(1, Math.abs(each.bar) * scale), height: tall - 10, rx: 1.5 };
    const inside = [Array.isArray(each.name) ? words(each.name, 6, line, { class: each.muted ? "live-muted" : "" }) : token(clipped(each.name, phone ? 7 : 12), 6, line, { class: chosen ? "live-strong" : "" }),
      each.cells.map((cell, k) => svg("text", { class: `live-number${each.muted ? " live-muted" : ""}`, x: name + column * (k + 1), y: line, "text-anchor": "end" }, cell)),
      each.weight === undefined ? svg("rect", { class: each.bar < 0 ? "walk-minus" : "walk-positive", ...box }) : heat(Math.max(0.25, each.weight), box)];
    shapes.push(choose ? part({ key: `term.${n}`, x: 0, y, width: wide, height: tall - 1, bare: true, first: chosen, name: each.name, quotes: true, act: () => choose(n) }, inside) : svg("g", {}, inside));
  });
  if (low) shapes.push(svg("line", { class: "walk-axis", x1: zero, x2: zero, y1: 22, y2: 22 + rows.length * tall }));
  return { shapes, height: 22 + rows.length * tall, wide };
}

/** A drawing of terms and, below a line, what comes of them. */
function withTotal(width, made, lines, above = [], shift = 0) {
  const y = made.height + shift, last = lines.length - 1;
  return board(width, y + 28 + lines.length * 24, above, svg("g", { transform: `translate(0 ${shift})` }, made.shapes), svg("line", { class: "walk-rule", x1: 0, x2: made.wide, y1: y + 4, y2: y + 4 }),
    lines.map((line, n) => words(line, 6, y + 28 + n * 24, { class: n === last ? `live-strong live-number${width < PHONE ? "" : " walk-big"}` : "live-number" })));
}

/** Score → weight → mean: the chain that a number of attention belongs to. */
function chain({ found, width, station, here, head, pick, part: which, v }, act) {
  const look = sublayer(found, station), phone = width < PHONE, gap = phone ? 18 : 24, each = (Math.min(620, width) - 2 * gap) / 3;
  return [["score", ["评分", "score"], plain(look.scores[head][here][pick])], ["weight", ["权重", "weight"], plain(look.weights[head][here][pick], phone ? 2 : 3)],
    ["value", ["平均", "mean"], plain(look.joined[here][head * found.headSize + v])]].map(([key, name, value], n) => [
    part({ key: `step.${key}`, x: n * (each + gap), y: 0, width: each, height: 34, now: key === which, first: key === which, pressed: key === which, name: [`${name[0]} ${value}`, `${name[1]} ${value}`], act: act && (() => act.part(key)) },
      words(phone ? name : [`${n + 1} ${name[0]}`, `${n + 1} ${name[1]}`], n * (each + gap) + (phone ? 5 : 8), 22, { class: "walk-small" }), svg("text", { class: `live-number live-strong${phone ? " walk-small" : ""}`, x: n * (each + gap) + each - (phone ? 5 : 8), y: 22, "text-anchor": "end" }, value)),
    n ? svg("text", { class: "live-muted", x: n * (each + gap) - gap / 2, y: 22, "text-anchor": "middle" }, "→") : [],
  ]);
}

export function oneNumber(view, act) {
  const { found, width, station, here, head, pick, part: which, v } = view;
  if (!isLook(station.kind)) return longSum(view);
  const look = sublayer(found, station), names = seen(found, station), choose = act && act.pick;
  const done = (made, lines) => withTotal(width, made, lines, chain(view, act), 46);
  if (which === "score") {
    const { terms: list, sum, result } = dotProduct(found, look, head, here, pick);
    const made = terms(width, { heads: [["第几个数", "number"], "q", "k", "q × k"], tall: 22, rows: list.map(([n, q, k, product]) => ({ name: String(n), cells: [plain(q), plain(k), signed(product)], bar: product })) });
    return done(made, [`q·k ${equals(list.reduce((all, term) => all + shown(term[3]), 0), sum)} ${plain(sum)}`, `${plain(sum)} ÷ √${found.headSize} ${equals(shown(sum) / Math.sqrt(found.headSize), result)} ${plain(result)}`]);
  }
  if (which === "weight") {
    const { terms: list, sum, shares } = quotient(look.scores[head][here]);
    const made = terms(width, { heads: [["词", "word"], ["评分", "score"], ["e 的幂", "exp"], ["权重", "weight"]], now: pick, tall: 26, choose,
      rows: list.map(([j, score, e]) => ({ name: names[j], cells: [plain(score), power(e), plain(shares[j], 3)], bar: shares[j], weight: shares[j] })) });
    return done(made, [[`所有幂之和 = ${power(sum)}`, `sum of all powers = ${power(sum)}`],
      `${power(list[pick][2])} ÷ ${power(sum)} ${equals(printedPower(list[pick][2]) / printedPower(sum), shares[pick], 3)} ${plain(shares[pick], 3)}`]);
  }
  const { terms: list, result } = mixture(found, look, head, here, v), sign = equals(list.reduce((all, term) => all + shown(term[3]), 0), result);
  const made = terms(width, { heads: [["词", "word"], ["权重", "weight"], ["值", "value"], ["权重 × 值", "product"]], now: pick, tall: 26, choose,
    rows: list.map(([j, weight, value, product]) => ({ name: names[j], cells: [plain(weight, 3), plain(value), signed(product)], bar: product })) });
  return done(made, [[`第 ${v + 1} 个数 = 上面各行之和 ${sign} ${plain(result)}`, `number ${v + 1} = sum of these ${sign} ${plain(result)}`]]);
}

/** Sums of many products: the largest written out, the others together. */
function longSum({ found, width, station, here, pick }) {
  const unit = station.kind === "ff", { terms: list, bias, sum, result } = unit ? unitSum(sublayer(found, station), here, pick) : wordSum(found, here, pick);
  const written = list.slice(0, MOST), rest = list.slice(MOST).reduce((all, term) => all + term[3], 0);
  const sign = equals(written.reduce((all, term) => all + shown(term[3]), shown(rest) + shown(bias)), sum);
  const made = terms(width, { heads: [["第几个数", "number"], ["向量", "vector"], unit ? ["权重", "weight"] : ["词的行", "its row"], ["乘积", "product"]],
    rows: [...written.map(([n, x, w, product]) => ({ name: String(n), cells: [plain(x), plain(w), signed(product)], bar: product })),
      { name: [`另 ${list.length - MOST} 个`, `${list.length - MOST} others`], cells: ["", "", signed(rest)], bar: rest, muted: true },
      { name: ["偏置", "bias"], cells: ["", "", signed(bias)], bar: bias, muted: true }] });
  return withTotal(width, made, unit ? [[`和 ${sign} ${plain(sum)}`, `sum ${sign} ${plain(sum)}`], `max(0, ${plain(sum)}) = ${plain(result)}`]
    : [[`得分 ${sign} ${plain(sum)}`, `score ${sign} ${plain(sum)}`], [`softmax 以后：${percent(likely(found, here)[pick].probability)}`, `after softmax: ${percent(likely(found, here)[pick].probability)}`]]);
}

/** The words that may come next: score, power, probability. */
export function nextWords({ found, width, here, pick }, act) {
  const best = likely(found, here), { sum } = quotient(found.out[here].logits), rest = 1 - best.reduce((all, each) => all + each.probability, 0), { word, logit, probability } = best[pick];
  const made = terms(width, { heads: [["词", "word"], ["得分", "score"], ["e 的幂", "exp"], ["概率", width < PHONE ? "prob." : "probability"]], tall: 28, now: pick, choose: act && act.deeperAt,
    rows: best.map((each) => ({ name: each.word, cells: [plain(each.logit), power(Math.exp(each.logit)), percent(each.probability)], bar: each.probability })) });
  const share = `${power(Math.exp(logit))} ÷ ${power(sum)} ≈ ${percent(probability)}`;
  return withTotal(width, made, [[`另外 ${found.numWords - best.length} 个词一共 ${percent(rest)}`, `the other ${found.numWords - best.length} words together: ${percent(rest)}`], [`“${visible(word)}”：${share}`, `“${visible(word)}”: ${share}`]]);
}

/** All units of the feed-forward network: which are on, and how much. */
export function allUnits({ found, width, station, here, pick }, act) {
  const units = sublayer(found, station).units[here], top = Math.max(...units) || 1, across = width < PHONE ? 8 : 16, step = width / across, tall = Math.min(34, step * 0.72);
  const shapes = [...units].map((value, u) => {
    const x = (u % across) * step, y = Math.floor(u / across) * tall, now = u === pick;
    const cell = vary(svg("rect", { class: value > 0 ? "walk-unit" : "walk-off", x: x + 2, y: y + 2, width: step - 4, height: tall - 4, rx: 3 }), "--w", (value / top).toFixed(3));
    return part({ key: `unit.${u}`, x: x + 1, y: y + 1, width: step - 2, height: tall - 2, bare: true, now, first: now, name: [`单元 ${u + 1}：${plain(value)}`, `unit ${u + 1}: ${plain(value)}`], act: act && (() => act.deeperAt(u)) },
      cell, value > 0 ? svg("text", { class: "live-number walk-tiny", x: x + step / 2, y: y + tall / 2 + 4, "text-anchor": "middle" }, value.toFixed(1)) : []);
  });
  const y = Math.ceil(units.length / across) * tall + 8;
  return board(width, y + 26, shapes, words([`单元 ${pick + 1}：${plain(units[pick])}`, `Unit ${pick + 1}: ${plain(units[pick])}`], 4, y + 16, { class: "live-strong live-number" }));
}
