/* Where the reader of a chapter is: a bar below the header, the section and the minutes left in words.
   The section is kept, so that the book can be opened there again. */
import { both, el } from "../page/words.mjs";
import { pageName } from "./contents.mjs";
import { keepPlace } from "./store.mjs";

/** Who comes to the end counts as having read the chapter, unless they jumped there: so many sections were open so long. */
const SEEN_AT_LEAST = 3, SECOND = 1000;

function reading(found) {
  const sections = found.map((element) => ({ element, minutes: minutesOf(element), ...titleOf(element.querySelector("h2")) }));
  const bar = el("div", { class: "reading-bar", "aria-hidden": "true" }), words = el("p", { class: "reading-place" });
  document.querySelector(".bd-header-article")?.append(bar);
  document.querySelector(".header-article-items__start")?.append(words);
  const seen = new Set();
  let said = null, moved = Boolean(location.hash), waiting = false, last = -1, since = 0;

  function look() {
    waiting = false;
    const line = innerHeight * 0.4, boxes = sections.map(({ element }) => element.getBoundingClientRect());
    const at = boxes.findLastIndex((box) => box.top <= line), { top: start = line, height = 1 } = boxes[at] ?? {};
    const within = Math.min(Math.max((line - start) / height, 0), 1), end = boxes.at(-1).bottom <= innerHeight + 40;
    bar.style.transform = `scaleX(${end ? 1 : Math.max((at + within) / sections.length, 0)})`;
    tell(at, end);
    const now = performance.now();
    if (at !== last) {
      if (now - since > SECOND) seen.add(last);
      [last, since] = [at, now];
    }
    if (at < 0 || !moved) return;
    const isRead = end && seen.size >= Math.min(SEEN_AT_LEAST, sections.length - 1);
    keepPlace(pageName(), sections[at].element.id, sections[at].title, isRead);
  }

  /** "3 / 8 · 20 min left": the section that is open, of how many, and the core that is still to come. */
  function tell(at, end) {
    const left = end ? 0 : sections.reduce((sum, { minutes, isCore }, i) => sum + (i === at || (i > at && isCore) ? minutes : 0), 0);
    const count = at < 0 ? "" : `${at + 1} / ${sections.length}`, dot = count ? " · " : "";
    if (said === count + left) return;
    said = count + left;
    words.replaceChildren(count, el("span", { class: "reading-left" }, left ? both([`${dot}还剩 ${left} 分钟`, `${dot}${left} min left`]) : []));
  }

  const soon = () => {
    if (!waiting) requestAnimationFrame(look);
    waiting = true;
  };
  addEventListener("scroll", () => {
    moved = true;
    soon();
  }, { passive: true });
  addEventListener("resize", soon);
  look();
}

function minutesOf(section) {
  return Number(/\d+/.exec(section.querySelector(":scope > h2 > .section-weight")?.textContent)?.[0] ?? 0);
}

/** A heading's words in each language, without what stands beside them. */
function titleOf(heading) {
  const isCore = Boolean(heading?.querySelector(".weight-core"));
  const title = ["en", "zh"].map((other) => {
    const copy = heading?.cloneNode(true);
    copy?.querySelectorAll(`.headerlink, .section-weight, .bl-sep, .bl-${other}`).forEach((each) => each.remove());
    return (copy?.textContent ?? "").replace(/\s+/g, " ").trim();
  });
  return { isCore, title };
}

const sections = globalThis.document ? [...document.querySelectorAll(".bd-article > section > section[id]")] : [];
if (sections.some(minutesOf)) reading(sections.filter((each) => each.querySelector(":scope > h2")));
