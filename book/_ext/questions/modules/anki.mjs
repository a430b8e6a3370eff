/* A deck as the text file that Anki imports: its first lines say what the columns are. The cards are the build's. */

export const DECKS = { zh: "注意力之书", en: "The Attention Book", both: "注意力之书 · The Attention Book" };
const TONGUES = { zh: ["zh"], en: ["en"], both: ["zh", "en"] };

/** `cards`: [{ id, page, role, zh: { front, back, title }, en: … }]; `language`: zh, en, or both on one card. Whoever imports
    them again changes cards, and adds none: each has a name of its own. */
export function ankiText(cards, language) {
  const head = ["#separator:tab", "#html:true", "#guid column:1", "#notetype column:2", "#deck column:3", "#tags column:6"];
  const joined = (card, side, between) => TONGUES[language].map((tongue) => card[tongue][side]).join(between);
  const rows = cards.map((card) => [
    `attention-book-${card.id}-${language}`, "Basic", `${DECKS[language]}::${joined(card, "title", " · ")}`,
    joined(card, "front", "<hr>"), joined(card, "back", "<hr>"), `attention-book ${card.page} ${card.role}`,
  ].map(quoted).join("\t"));
  return [...head, ...rows].join("\n") + "\n";
}

/** A field in quotes: tabs and line breaks would end it. */
const quoted = (text) => `"${text.replace(/\t/g, " ").replace(/\n/g, "<br>").replaceAll('"', '""')}"`;
