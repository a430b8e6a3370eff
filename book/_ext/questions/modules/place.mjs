/* The place where a reader was last: the section of a chapter that stood on the screen. It stays in this browser,
   and the front page offers it again, beside what is due today. */
import { both, el } from "../page/words.mjs";
import { pageAddress, pageName } from "./contents.mjs";
import { known } from "./index.mjs";
import { due, onChange } from "./store.mjs";

export const KEY = "attention-book-place";
const LONGEST = 200, WAIT = 400;

/** What is kept, if it has the right form, whoever wrote it: { page, section, title: [中文, English] }. */
export function kept(text) {
  try {
    const { page, section, title } = JSON.parse(text) ?? {};
    const fits = [page, section].every((name) => typeof name === "string" && /^[a-z0-9-]{1,80}$/.test(name)) &&
      Array.isArray(title) && title.length === 2 && title.every((each) => typeof each === "string" && each && each.length <= LONGEST);
    return fits ? { page, section, title } : null;
  } catch {
    return null;
  }
}

const stored = () => { try { return kept(localStorage.getItem(KEY)); } catch { return null; } };

/** A heading in both languages, as it is read. */
function titleOf(heading) {
  const number = heading.querySelector(".section-number")?.textContent.trim() ?? "";
  return ["zh", "en"].map((language) => {
    const copy = heading.cloneNode(true), other = language === "zh" ? ".bl-en" : ".bl-zh";
    for (const each of copy.querySelectorAll(`.headerlink, .section-number, .badge-core, .badge-optional, .section-badge, .bl-sep, ${other}`)) each.remove();
    return `${number} ${copy.textContent}`.replace(/\s+/g, " ").trim().slice(0, LONGEST);
  });
}

/** Note the section that one reads, as one reads on. */
function note(article) {
  const headings = [...article.querySelectorAll("section > h2")];
  let waiting = null;
  const keep = () => {
    waiting = null;
    const passed = headings.filter((each) => each.getBoundingClientRect().top < innerHeight * 0.4).at(-1);
    const section = passed?.closest("section").id;
    if (!section) return;
    try {
      localStorage.setItem(KEY, JSON.stringify({ page: pageName(), section, title: titleOf(passed) }));
    } catch { /* nothing is kept where nothing may be kept */ }
  };
  addEventListener("scroll", () => { waiting ??= setTimeout(keep, WAIT); }, { passive: true });
}

/** On the front page: where the reader was, and how many questions are due. */
function offer(before) {
  const line = el("p", { class: "front-return", hidden: true });
  before.before(line);
  const show = () => {
    const place = stored(), waiting = due(known).length;
    const there = place && [both(["接着读：", "Continue: "]),
      el("a", { href: `${pageAddress(place.page)}#${place.section}` }, both(place.title))];
    const today = waiting > 0 && [el("a", { href: pageAddress("today") }, both(["今日回顾", "Today’s questions"])),
      both([`：${waiting} 题到期`, `: ${waiting} due`])];
    line.hidden = !there && !today;
    line.replaceChildren(...[there || [], there && today ? " · " : [], today || []].flat(3));
  };
  onChange(show);
  show();
}

if (globalThis.document) {
  const article = document.querySelector(".bd-article"), doors = article?.querySelector(".doors");
  if (article?.querySelector(".opening")) note(article);
  if (doors) offer(doors);
}
