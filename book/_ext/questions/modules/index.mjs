/* Where each question of the book stands, as the script index.js says, and where these scripts lie. */

const found = globalThis.attentionBookQuestions ?? { pages: {}, titles: {} };

/** Page → its questions, in the order of the book; page → its title in both languages. */
export const pages = found.pages;
export const titles = found.titles;

/** Question → page. */
export const known = Object.fromEntries(Object.entries(pages).flatMap(([page, names]) => names.map((name) => [name, page])));

export const base = globalThis.document?.currentScript ? new URL(".", document.currentScript.src) : null;
