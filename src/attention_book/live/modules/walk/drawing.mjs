/* The drawing of a level, and what stands around it. Pure: a view in, an <svg> and plain data out. */
import { visible } from "../page/words.mjs";
import { inLine } from "../translator/pieces.mjs";
import { equals, plain, short, shown } from "./draw.mjs";
import { oneHead } from "./head.mjs";
import { oneLayer, onlyStrips } from "./layer.mjs";
import { allUnits, nextWords, oneNumber } from "./number.mjs";
import { normOf, passing } from "./passing.mjs";
import { along, deepest, lookedAt } from "./state.mjs";
import { LEVELS, path, placeName, sentence } from "./story.mjs";
import { wholeModel } from "./whole.mjs";

/** `act`: what may be asked for where the drawing is pressed; null for one that stands still. */
export function drawing(view, act) {
  const { station, level } = view, kind = station && level ? LEVELS[station.kind][level] : "model";
  if (kind === "strips") return onlyStrips(view, act, ...strips(view));
  return { model: wholeModel, layer: oneLayer, head: oneHead, number: oneNumber, units: allUnits, words: nextWords }[kind](view, act);
}

function strips({ found, station, here, c }) {
  const { before, added, after } = passing(found, station, here), root = short(Math.sqrt(found.size)), numbered = (text) => [`第 ${c + 1} 个数：${text}`, `Number ${c + 1}: ${text}`];
  if (station.kind === "embed") {
    const row = found[station.side].start.rows[here];
    return [[[["表里的一行", "its row of the table"], row, "look"], [`× ${root}`, after, "stream"]], numbered(`${plain(row[c], 4)} × ${root} ${equals(shown(row[c], 4) * Number(root), after[c])} ${plain(after[c])}`)];
  }
  if (station.kind === "place") {
    const wave = c % 2 ? "cos" : "sin", slow = (10000 ** ((c - (c % 2)) / found.size)).toFixed(1), sum = `${plain(before[c], 3)} ${added[c] < 0 ? "−" : "+"} ${plain(Math.abs(added[c]), 3)}`;
    return [[[["词是什么：嵌入", "which word: the embedding"], before, "stream"], [[`＋ 在哪里：位置 ${here}`, `+ where: position ${here}`], added, "ff"], [["＝ 两者之和", "= the sum"], after, "stream"]],
      numbered(`${plain(before[c], 3)} + ${wave}(${here} ÷ ${slow}) ≈ ${sum} ${equals(shown(before[c], 3) + shown(added[c], 3), after[c], 3)} ${plain(after[c], 3)}`)];
  }
  const { mean, deviation, gain, shift } = normOf(found, station.side, here), less = mean < 0 ? `+ ${plain(-mean)}` : `− ${plain(mean)}`;
  const printed = ((shown(before[c]) - shown(mean)) / shown(deviation)) * shown(gain[c]) + shown(shift[c]);
  return [[[["归一化以前", "before the norm"], before, "stream"], [["以后", "after it"], after, "look"]],
    numbered(`(${plain(before[c])} ${less}) ÷ ${plain(deviation)} × ${plain(gain[c])} ${shift[c] < 0 ? "−" : "+"} ${plain(Math.abs(shift[c]))} ${equals(printed, after[c])} ${plain(after[c])}`)];
}

/** What stands around the drawing, as plain data: it comes from the build before there is a model. */
export function face(view) {
  const { found, station, word, src, tgt } = view, looked = lookedAt(view), done = word >= found.input.length - 1;
  const line = (side, raw, names, me) => inLine(raw, found.subwords).map(({ text, clings }, i) => ({
    text: visible(text), clings, mark: /^<.*>$/.test(raw[i]), now: (station ? station.side === side : true) && i === me, name: names[i],
    weight: looked?.side === side && looked.row[i] !== undefined ? Math.round(looked.row[i] * 1000) / 1000 : null,
  }));
  return {
    lines: { enc: line("enc", found.raw.source, found.source, src), dec: line("dec", found.raw.input.slice(0, word + 1), found.input, tgt) },
    ghost: done ? null : visible(found.target[word]),
    title: station ? placeName(station) : [`按 → 跟着“${visible(found.source[src])}”走到底`, `Press → to follow “${visible(found.source[src])}” all the way`],
    count: station ? `${station.n + 1}/${station.of}` : "",
    path: path(view), sentence: sentence(view),
    more: done ? ["写完了", "All written"] : [`写下“${visible(found.target[word])}”`, `Write “${visible(found.target[word])}”`],
    can: { back: Boolean(along(view, -1)), on: Boolean(along(view, 1)), closer: !station || !deepest(view), out: Boolean(station), more: !done, less: word > 0 },
  };
}
