/* Where each question of the book stands, as the script index.js says, and where these scripts lie. */

export const { pages, titles, parts } = globalThis.attentionBookQuestions ?? { pages: {}, titles: {}, parts: [] };

/** Question → page. */
export const known = Object.fromEntries(Object.entries(pages).flatMap(([page, names]) => names.map((name) => [name, page])));

export const base = globalThis.document?.currentScript ? new URL(".", document.currentScript.src) : null;
