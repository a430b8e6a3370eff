/* The arrow keys: along the words or the ribbons, and across from the source by a ribbon to the translation. */

const ALONG = { false: { ArrowLeft: -1, ArrowRight: 1 }, true: { ArrowUp: -1, ArrowDown: 1 } };
const ACROSS = { false: { ArrowUp: -1, ArrowDown: 1 }, true: { ArrowLeft: -1, ArrowRight: 1 } };

/** The key of what an arrow leads to from here; null where there is nothing. */
export function step({ narrow, words, ribbons }, key, arrow) {
  const word = words.find((each) => each.key === key), ribbon = ribbons.find((each) => each.key === key);
  const side = (name) => words.filter((each) => each.side === name);
  const looks = [...ribbons].sort((a, b) => a.target - b.target || a.source - b.source);
  const row = word ? side(word.side) : looks, here = row.findIndex((each) => each.key === key);
  if (arrow === "Home") return row[0]?.key ?? null;
  if (arrow === "End") return row.at(-1)?.key ?? null;
  const along = ALONG[narrow][arrow], across = ACROSS[narrow][arrow];
  if (along) return row[here + along]?.key ?? null;
  if (!across) return null;
  if (ribbon) {
    const [name, place] = across < 0 ? ["source", ribbon.source] : ["target", ribbon.target];
    return side(name).find((each) => each.place === place)?.key ?? null;
  }
  if ((word.side === "source") !== (across > 0)) return null; // nothing beyond
  const heaviest = looks.filter((each) => each[word.side] === word.place).sort((a, b) => b.weight - a.weight)[0];
  return heaviest?.key ?? side(word.side === "source" ? "target" : "source")[Math.min(here, words.length)]?.key ?? null;
}
