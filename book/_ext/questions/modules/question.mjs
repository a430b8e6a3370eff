/* A question in a page: what stands there without scripts becomes something that answers.
   The box holds what it asks, its task, all replies in a fold, and its data (see data.py). */
import { both, el } from "../page/words.mjs";
import { choice } from "./kinds/choice.mjs";
import { line } from "./kinds/line.mjs";
import { number } from "./kinds/number.mjs";
import { order } from "./kinds/order.mjs";
import { paint } from "./kinds/paint.mjs";
import { say } from "./kinds/say.mjs";
import { button, copied } from "./parts.mjs";
import { isDue, note, progress } from "./store.mjs";

const KINDS = { choice, line, number, order, paint, say };
const NOT_RIGHT = ["不对", "Not right"];
const OWN_WORDS = [["下次再说全一点", "More next time"], ["说到了一部分", "Part of it"], ["都说到了", "All of it"]];

export const dataOf = (root) => JSON.parse(root.querySelector('script[type="application/json"]').textContent);

/** Bring a question to life, and return what one answers it with. `answered(outcome)` hears of the first answer of each asking.
    Where it is `reviewing`, a prediction is a question like any other: the text was read long ago. */
export function mount(root, { answered = () => {}, reviewing = false, fresh = reviewing } = {}) {
  const data = dataOf(root), predicts = data.role === "predict" && !reviewing, isSay = data.kind === "say";
  const fold = root.querySelector(":scope > .question-answer"), inFold = (what) => copied(fold.querySelectorAll(`:scope > ${what}`));
  const replies = [...fold.querySelectorAll(":scope > :is(ol, ul) > li")];
  let tries = 0;
  const control = KINDS[data.kind]({ root, data, replies, done, turn: () => progress().cards[data.id]?.reps ?? 0 });
  const told = el("div", { role: "status", class: "question-told" }); // it must be there before it speaks
  const show = button({ hidden: isSay || !reviewing }, () => { // whoever has forgotten says so, rather than guess
    const words = tries ? NOT_RIGHT : ["没想起来", "Not remembered"];
    if (!tries) done({ right: false });
    told.querySelector(".question-words").replaceChildren(...both(words));
    settle(false);
    told.firstChild.tabIndex = -1;
    told.firstChild.focus();
  }, both(["看答案", "Show the answer"]));
  const place = el("div", { class: "question-try" }, control.element ?? [], told, show);
  fold.before(place);
  fold.hidden = true;
  const head = root.querySelector(".admonition-title");
  head.id ||= `${data.id}-head`;
  root.setAttribute("role", "group");
  root.setAttribute("aria-labelledby", head.id);
  root.classList.add("question-live");

  function done(outcome) {
    tries += 1;
    const grade = outcome.grade ?? (outcome.right ? 3 : 1), isOver = outcome.right || predicts || isSay || tries > 1;
    if (tries === 1) {
      note(data.id, grade, outcome.item);
      answered({ ...outcome, grade, id: data.id });
    }
    tell({ ...outcome, grade });
    if (isOver) settle(outcome.right);
    else control.lock(false);
    show.hidden = isOver;
  }

  function tell({ item, right, grade }) {
    const words = isSay ? OWN_WORDS[grade - 1]
      : predicts ? (right ? ["猜中了", "As you guessed"] : ["和你猜的不一样", "Not as you guessed"])
      : right ? ["对", "Right"]
      : tries > 1 ? NOT_RIGHT : ["还不对，再试一次", "Not yet: one more try"];
    said(right, el("p", { class: "question-verdict" }, el("span", { "aria-hidden": "true" }, right ? "✓ " : isSay ? "" : "✗ "), el("span", { class: "question-words" }, both(words))),
      el("p", {}, copied(replies[item]?.querySelector(".question-reply")?.childNodes ?? [])));
  }

  const said = (right, ...words) => told.replaceChildren(el("div", { class: `question-said${right ? " right" : ""}` }, words));

  /** The end of an asking: the answer stands there, and all replies can be opened. */
  function settle(right) {
    show.hidden = true;
    control.lock(true);
    control.reveal();
    if (!told.firstChild) said(right);
    const truth = right ? [] : copied(replies[data.right]?.childNodes ?? []);
    told.firstChild.append(el("div", {}, truth, inFold(".question-mended"), inFold(":is(.bl-pair, .bl)"), right ? [] : inFold(".question-back")));
    fold.hidden = isSay;
    root.classList.add("question-done");
  }

  /** Ask once more, from the start. */
  function ask() {
    tries = 0;
    root.classList.remove("question-done");
    told.replaceChildren();
    show.hidden = fold.hidden = true;
    place.querySelector(".question-before")?.remove();
    control.reset();
    control.lock(false);
  }

  if (progress().cards[data.id] && !fresh) before();
  return control;

  /** Answered on an earlier visit: out of the way. */
  function before() {
    control.lock(true);
    fold.hidden = false;
    place.prepend(el("p", { class: "question-before" }, both(isDue(data.id)
      ? ["答过了，今天该再想一遍。", "Answered before, and due again today."] : ["答过了。", "Answered before."]), " ", button({}, () => {
      ask();
      control.focus();
    }, both(["再答一次", "Ask me again"]))));
  }
}
