/* The questions of a page of the book. */
import { both, el, freshId } from "../page/words.mjs";
import { pageAddress } from "./contents.mjs";
import { keep } from "./keep.mjs";
import { opening } from "./opening.mjs";
import { dataOf, mount } from "./question.mjs";
import { onChange, progress, set, trouble } from "./store.mjs";
import { veil } from "./veil.mjs";

/* Predictions that the reader has waved aside, until the tab is closed. */
const WAVED = "attention-book-waved";
let waved = [];
try {
  waved = sessionStorage.getItem(WAVED)?.split(" ") ?? [];
} catch { /* storage is forbidden */ }

function wave(name) {
  waved.push(name);
  try {
    sessionStorage.setItem(WAVED, waved.join(" "));
  } catch { /* until the page is left */ }
}

function chapter(boxes) {
  const asked = boxes.map((root) => ({ root, id: dataOf(root).id, predicts: dataOf(root).role === "predict", open: null }));
  for (const each of asked) {
    try {
      mount(each.root, { answered: () => unveil(each) });
    } catch (error) {
      reportError(error); // the others can be answered all the same
    }
  }
  const unfoldLine = keep({ folds: progress().settings.mode === "veil" });
  bar(asked, apply);
  apply(progress().settings.mode);
  if (progress().settings.mode !== "off") opening();

  /** Fold what is to be guessed first, or nothing. */
  function apply(mode) {
    document.documentElement.dataset.questions = mode;
    if (mode !== "veil") unfoldLine();
    for (const each of asked) {
      if (mode !== "veil") unveil(each);
      else if (each.predicts && !each.open && !progress().cards[each.id] && !waved.includes(each.id)) each.open = veil(each.root, () => wave(each.id));
    }
  }
  function unveil(each) {
    each.open?.();
    each.open = null;
  }
}

/** At the first question: how far the reader is, and how much the questions may interfere. */
function bar(asked, apply) {
  const ids = asked.map(({ id }) => id);
  const count = el("summary"), name = freshId(), warning = el("p", { role: "status", class: "question-note" });
  const radio = (value, words) => el("label", {}, el("input", { type: "radio", name, value, change: () => {
    set("mode", value);
    apply(value);
  } }), el("span", {}, both(words)));
  const choices = [radio("veil", ["先猜再看：没猜之前，下文折起来", "Guess first: the text below stays folded until then"]),
    radio("open", ["只出题，不折课文", "Ask, but fold nothing"]), radio("off", ["都收起来", "Put them away"])];
  function show() {
    const done = ids.filter((id) => progress().cards[id]).length;
    count.replaceChildren(...both([`本页 ${ids.length} 题，答了 ${done} 题`, `${done} of this page’s ${ids.length} questions answered`]));
    for (const each of choices) each.firstChild.checked = each.firstChild.value === progress().settings.mode;
    warning.replaceChildren(...(trouble() ? both(trouble()) : []));
  }
  asked[0]?.root.before(el("details", { class: "question-page" }, count,
    el("fieldset", {}, el("legend", {}, both(["课文里的题", "Questions in the text"])), choices),
    el("p", { class: "question-note" }, both(["答案只存在这个浏览器里，不发往任何地方。", "Answers are kept in this browser and sent nowhere."]), " ",
      el("a", { href: pageAddress("today") }, both(["今日回顾", "Today’s questions"])))), warning);
  onChange(show);
  show();
}

if (globalThis.document) chapter([...document.querySelectorAll(".bd-article .question.admonition:has(> script)")]);
