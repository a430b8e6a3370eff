/* The parts of the figure: the tokens, a box for each pass; the bars of what may follow; the table of costs. */
import { both, el, visible } from "../page/words.mjs";
import { inLine } from "../translator/pieces.mjs";
import { pass } from "./cost.mjs";
import { END, costs, percent, reading } from "./texts.mjs";

export const SHOWN = 8; // bars
const EOS = 3;

/** Numbers of what was written, as an address keeps them; the last may be the end. */
export const idsIn = (wrote) => (wrote ? wrote.split(".").map(Number) : []);

/** What a choice adds to the text: the word as far as it is written then. */
const labelOf = ({ start, text, end }) => (end ? END : start + visible(text.trim() || text));

/** `view`: { about: { lang, subwords, size, sizes }, tokens: [of the prompt, then written], read: how many are the prompt's,
    guess or null, ended, t, p } */
export function tokensOf({ about, tokens, read, ended }) {
  const shown = inLine(tokens, about.subwords), cell = ({ text, clings }, extra = "") =>
    el("span", { class: `next-cell ${clings ? "clings" : ""} ${extra}`.trim() }, el("bdi", { translate: "no", lang: about.lang }, visible(text)));
  const box = (kind, cells) => el("span", { class: `next-pass ${kind}` }, cells);
  const bos = el("span", { class: "next-cell next-mark" }, el("bdi", { translate: "no" }, "<bos>"));
  const last = tokens.length - 1;
  return [
    box("next-prefill", [bos, shown.slice(0, read).map((each) => cell(each))]),
    shown.slice(read).map((each, i) => box(`next-decode${each.clings ? " clings" : ""}`, [cell(each, read + i === last && !ended ? "next-fresh" : "")])),
    ended ? el("span", { class: "next-end live-muted" }, both(END)) : [],
  ];
}

/** The bars; with `take` each is a button that writes its token. */
export function barsOf({ about, guess, ended }, take) {
  if (ended || !guess) return [];
  const choices = guess.choices.slice(0, SHOWN), sum = choices.reduce((total, { share }) => total + share, 0);
  const listed = choices.filter(({ share }) => share > 0).length, most = Math.max(...choices.map(({ share, probability }) => Math.max(share, probability)));
  const row = (each) => {
    const cut = each.share === 0, label = labelOf(each), [begun, rest] = each.end ? ["", label] : [each.start, label.slice(each.start.length)];
    const inside = [
      el("span", { class: "next-label" }, each.end ? both(label) : el("bdi", { translate: "no", lang: about.lang }, begun ? el("span", { class: "live-muted" }, begun) : "", rest)), " ",
      el("span", { class: "next-track" },
        el("span", { class: "next-bar", style: `inline-size: ${(100 * (cut ? each.probability : each.share) / most).toFixed(1)}%` }),
        el("span", { class: "next-own", style: `inset-inline-start: ${(100 * each.probability / most).toFixed(1)}%` })), " ",
      el("span", { class: "next-number" }, cut ? both(["划去", "cut"]) : percent(each.share))];
    const name = `next-choice${cut ? " cut" : ""}`;
    return el("li", {}, take ? el("button", { type: "button", class: name, "data-id": each.id, click: () => take(each) }, inside) : el("span", { class: name }, inside));
  };
  const others = guess.kept - listed;
  return [
    el("ol", { class: "next-bars" }, choices.map(row)),
    el("p", { class: "live-note next-rest" }, both(others > 0
      ? [`另有 ${others} 个可抽，合计 ${percent(1 - sum)}。条长是抽它的概率，竖线是模型自己的概率；按一条就写它。`, `${others} more can be drawn, ${percent(1 - sum)} together. A bar is the probability of a draw, the tick the model’s own; press a bar to write it.`]
      : ["条长是抽它的概率，竖线是模型自己的概率；按一条就写它。", "A bar is the probability of a draw, the tick the model’s own; press a bar to write it."]))];
}

export function costOf({ about, tokens, read }) {
  const { head, rows } = costs(pass(about.sizes, { tokens: read + 1, cached: 0 }), pass(about.sizes, { tokens: 1, cached: tokens.length + 1 }));
  return el("table", {}, el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, both(text))))),
    el("tbody", {}, rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, both(name)), cells.map((cell) => el("td", {}, both(cell)))))));
}

export function sentenceOf({ about, tokens, read, guess, ended, t, p }) {
  const shown = inLine(tokens, about.subwords), [first] = guess?.choices ?? [];
  const label = first && labelOf(first);
  const told = { kept: guess?.kept, total: about.size - 2, last: tokens.length > read ? visible(shown.at(-1).text) : null, places: tokens.length + 1, ended, temperature: t, topP: p };
  const [zh, en] = [0, 1].map((which) => reading({ ...told, first: first && [Array.isArray(label) ? label[which] : label, percent(first.share)] })[which]);
  return [zh, en];
}

/** How a state is drawn with. */
export const wayOf = ({ t, p }) => (t === 0 ? { topK: 1 } : { temperature: t, topP: p });
export const endedIn = (wrote) => idsIn(wrote).at(-1) === EOS;
export const writtenIn = (wrote) => idsIn(wrote).filter((id) => id !== EOS);
