/* Progress in the table of contents: a ring beside each page with questions, and above all how many are due today. */
import { both, el, svg } from "../page/words.mjs";
import { base, known, pages } from "./index.mjs";
import { due, isDue, onChange, progress } from "./store.mjs";

/** The name of this page, and the address of any: the scripts lie two folders below the book. */
export const pageName = () => /([\w-]+)(?:\.html)?$/.exec(location.pathname)?.[1] ?? "index";
export const pageAddress = (page) => new URL(`../../${page}.html`, base).href;

function contents(sidebar) {
  const rings = [];
  for (const link of sidebar.querySelectorAll("a.reference")) {
    const ids = pages[pageOf(link)];
    if (!ids) continue;
    const place = el("span", { class: "question-ring" });
    link.append(place);
    rings.push([place, ids]);
  }
  const count = el("span", { class: "question-count" });
  const badge = el("p", { class: "question-badge", hidden: true },
    el("a", { href: pageAddress("today") }, both(["今日回顾", "Today’s questions"]), " ", count));
  sidebar.prepend(badge);
  function show() {
    for (const [place, ids] of rings) place.replaceChildren(...ring(ids));
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

const sidebar = globalThis.document?.querySelector(".bd-links");
if (sidebar) contents(sidebar);
