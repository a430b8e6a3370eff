/* Progress in the table of contents: a tick beside what was read, a ring beside each page with questions, above all
   how many are due today; and on the front page where the reader was last. */
import { both, el, svg } from "../page/words.mjs";
import { base, known, pages } from "./index.mjs";
import { due, isDue, lastPlace, onChange, placeOf, progress } from "./store.mjs";

/** The name of this page, and the address of any: the scripts lie two folders below the book. */
export const pageName = () => /([\w-]+)(?:\.html)?$/.exec(location.pathname)?.[1] ?? "index";
export const pageAddress = (page) => new URL(`../../${page}.html`, base).href;

/** The links that show progress: the sidebar's, and those of the lists of chapters. */
const CHAPTERS = ".bd-links a.reference, .book-part-pages a.reference";

function contents(sidebar) {
  const rings = [];
  for (const link of document.querySelectorAll(CHAPTERS)) {
    const page = pageOf(link), ids = pages[page] ?? [];
    if (!page) continue;
    const place = el("span", { class: "question-ring" });
    link.append(place);
    rings.push([place, page, ids]);
  }
  const count = el("span", { class: "question-count" });
  const badge = el("p", { class: "question-badge", hidden: true },
    el("a", { href: pageAddress("today") }, both(["今日回顾", "Today’s questions"]), " ", count));
  sidebar.prepend(badge);
  function show() {
    for (const [place, page, ids] of rings) place.replaceChildren(...tick(page), ...ring(ids));
    const waiting = due(known).length;
    badge.hidden = waiting === 0;
    count.replaceChildren(String(waiting), el("span", { class: "question-hidden" }, both([" 题到期", " due"])));
  }
  onChange(show);
  show();
}

const pageOf = (link) => (link.getAttribute("href") === "#" ? pageName() : /([\w-]+)\.html$/.exec(link.pathname)?.[1]);

/** How much of a page is answered, as a ring and in words; nothing where nothing is. */
function ring(ids) {
  const { cards } = progress(), done = ids.filter((id) => cards[id]).length, waiting = ids.filter((id) => isDue(id)).length;
  if (!done) return [];
  const around = 2 * Math.PI * 5, circle = (kind, more) => svg("circle", { class: `question-ring-${kind}`, cx: 7, cy: 7, r: 5, ...more });
  const drawing = svg("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" }, circle("ground"),
    circle("done", { "stroke-dasharray": `${(done / ids.length) * around} ${around}`, transform: "rotate(-90 7 7)" }));
  const words = [`（${ids.length} 题答了 ${done} 题${waiting ? `，${waiting} 题到期` : ""}）`,
    `(${done} of ${ids.length} questions answered${waiting ? `, ${waiting} due` : ""})`];
  return [" ", drawing, el("span", { class: "question-hidden" }, both(words))];
}

function tick(page) {
  return placeOf(page)?.isRead ? [" ", el("span", { class: "read-tick", "aria-hidden": "true" }, "✓"),
    el("span", { class: "question-hidden" }, both(["（读过）", "(read)"]))] : [];
}

/** "Continue: 15.4 …" on the front page, and how many questions are due. */
function goOn(before) {
  const line = el("p", { class: "front-return" });
  before.before(line);
  function show() {
    const last = lastPlace(), waiting = due(known).length;
    const there = last ? [both(["接着读：", "Continue: "]), el("a", { href: `${pageAddress(last.page)}#${last.anchor}` }, both(last.title))] : [];
    const today = waiting ? [el("a", { href: pageAddress("today") }, both(["今日回顾", "Today’s questions"])), both([`：${waiting} 题到期`, `: ${waiting} due`])] : [];
    line.hidden = !last && !waiting;
    line.replaceChildren(...[there, last && waiting ? " · " : [], today].flat(3));
  }
  onChange(show);
  show();
}

const doors = globalThis.document?.querySelector(".bd-article .doors");
if (doors) goOn(doors);
const sidebar = globalThis.document?.querySelector(".bd-links");
if (sidebar) contents(sidebar);
