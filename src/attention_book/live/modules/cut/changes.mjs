/* What a cut changed: which words are new, which stretches differ, and that in a sentence. */

/** Pairs of places [i, j] at which both lists go on alike: a longest common subsequence. */
export function common(before, after) {
  const rows = before.length, columns = after.length;
  const most = Array.from({ length: rows + 1 }, () => new Array(columns + 1).fill(0));
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      most[i][j] = before[i] === after[j] ? most[i + 1][j + 1] + 1 : Math.max(most[i + 1][j], most[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (before[i] === after[j]) pairs.push([i++, j++]);
    else if (most[i + 1][j] >= most[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** The stretches that differ: [{ gone: words, come: words }]. */
export function stretches(before, after) {
  const found = [];
  let i = 0, j = 0;
  for (const [a, b] of [...common(before, after), [before.length, after.length]]) {
    if (a > i || b > j) found.push({ gone: before.slice(i, a), come: after.slice(j, b) });
    [i, j] = [a + 1, b + 1];
  }
  return found;
}

const HEAVY = 0.5, MOST = 3;
const zhQuoted = (text) => `“${text}”`, enQuoted = (text) => `“${text}”`;

/** What was cut and what came of it, [中文, English]. `cuts`: [{ target, source, weight, gloss }], a
    word or null for all of them; `before` and `after`: the words of the translation; `text(words)`: as they are written. */
export function comment({ cuts, before, after, finished, text }) {
  const what = cuts.length > 1
    ? [`剪了 ${cuts.length} 处：`, `${cuts.length} cuts: `]
    : told(cuts[0], text);
  const found = stretches(before, after), [zh, en] = what;
  if (!found.length) {
    const heavy = cuts.length === 1 && cuts[0].target !== null && cuts[0].weight >= HEAVY;
    return heavy
      ? [`${zh}译文一字未改。看得再多，也不等于缺了它不行。`, `${en}nothing changed. A heavy look need not be a cause.`]
      : [`${zh}译文一字未改。`, `${en}nothing changed.`];
  }
  const [shown, rest] = [found.slice(0, MOST), found.length > MOST], end = finished ? ["", ""]
    : ["模型收不住句子，写到长度上限才停。", " The model found no end and stopped at the length limit."];
  return [
    `${zh}${shown.map((each) => zhChange(each, text)).join("，")}${rest ? "……" : "。"}${end[0]}`,
    `${en}${shown.map((each) => enChange(each, text)).join(", ")}${rest ? " …" : "."}${end[1]}`,
  ];
}

function told({ target, source, weight, gloss }, text) {
  const [t, s] = [target && text([target], "target"), source && text([source], "source")];
  if (target === null && source === null) return ["原文全遮住了：", "With the whole source hidden: "];
  if (target === null) return [`谁也看不见${zhQuoted(s)}了：`, `Nothing may look at ${enQuoted(s)}${gloss ? ` (${gloss})` : ""}: `];
  if (source === null) return [`${zhQuoted(t)}这一处看不见原文了：`, `With no look at the source for ${enQuoted(t)}: `];
  const share = weight.toFixed(2);
  return [`剪掉${zhQuoted(t)}看${zhQuoted(s)}的目光（权重 ${share}）：`, `The look of ${enQuoted(t)} at ${enQuoted(s)}, weight ${share}, is cut: `];
}

function zhChange({ gone, come }, text) {
  if (!come.length) return `${zhQuoted(text(gone))}没有了`;
  return gone.length ? `${zhQuoted(text(gone))}变成${zhQuoted(text(come))}` : `多出${zhQuoted(text(come))}`;
}

function enChange({ gone, come }, text) {
  if (!come.length) return `${enQuoted(text(gone))} is gone`;
  return gone.length ? `${enQuoted(text(gone))} became ${enQuoted(text(come))}` : `${enQuoted(text(come))} appeared`;
}
