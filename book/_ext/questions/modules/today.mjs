/* The page of today's questions: what is due, in rounds; progress; the reader's file; cards for Anki. */
import { both, el, freshId } from "../page/words.mjs";
import { takeOwnFile, withOwnFile } from "./along.mjs";
import { ankiText } from "./anki.mjs";
import { pageAddress } from "./contents.mjs";
import { known, pages, titles } from "./index.mjs";
import { load, made } from "./load.mjs";
import { source } from "./opening.mjs";
import { mount } from "./question.mjs";
import { SETTINGS, asFile, dayOf, due, dueDay, forgetAll, fromFile, isDue, lineOf, mixed, onChange, progress, set, trouble } from "./store.mjs";

const ROUND = 10, FIRM = 21, MINUTES = 0.6;

function today(root) {
  const said = el("p", { class: "today-trouble", role: "status" }), stage = el("div", { class: "today-stage" });
  const progressed = el("div"), choice = el("div"), rest = el("div", {}, progressed, choice);
  let asking = false;
  const show = () => {
    said.replaceChildren(...(trouble() ? both(trouble()) : []));
    progressed.replaceChildren(...started());
    if (!asking) invite(stage, begin, tryOne);
  };
  const begin = () => {
    asking = rest.hidden = true;
    round(stage, { over: () => { asking = rest.hidden = false; }, begin });
  };
  const tryOne = () => {
    asking = true;
    sample(stage);
  };
  const changed = () => choice.replaceChildren(...settings());
  rest.append(...files(changed));
  root.replaceChildren(said, stage, rest);
  onChange(show);
  show();
  changed();
}

// ---- what is due ----------------------------------------------------------------------------------

/** What there is to do, in words; `begin` and `tryOne` are what the buttons do. */
function invite(stage, begin, tryOne) {
  const waiting = due(known).length, now = Math.min(waiting, ROUND), later = comingNext();
  if (waiting) {
    const minutes = Math.max(1, Math.round(now * MINUTES));
    const english = `${waiting === 1 ? "One question is" : `${waiting} questions are`} due today`;
    stage.replaceChildren(paragraph(waiting > now
      ? [`今天有 ${waiting} 题到期。先做 ${now} 题，大约 ${minutes} 分钟。`, `${english}. A round has ${now} of them, about ${inMinutes(minutes)}.`]
      : [`今天有 ${waiting} 题到期，大约 ${minutes} 分钟。`, `${english}, about ${inMinutes(minutes)}.`]), button(["开始", "Start"], begin, "today-go"));
  } else if (later) {
    stage.replaceChildren(paragraph([`今天没有到期的题；下一次在${later[0]}。`, `Nothing is due today; the next time is ${later[1]}.`]), goOn());
  } else {
    stage.replaceChildren(paragraph(["还没有答过题，所以这里还没有题。", "You have not answered any question yet, so there is nothing to ask."]),
      button(["先试一题", "Try one"], tryOne, "today-go"), goOn());
  }
}

const inMinutes = (minutes) => (minutes === 1 ? "a minute" : `${minutes} minutes`);

/** The book's first question, for who has answered none. */
async function sample(stage) {
  const [page, [id]] = Object.entries(pages)[0], question = made((await load(page).catch(() => ({})))[id] ?? "<p></p>");
  if (!question.matches(".question")) return stage.replaceChildren(paragraph(["题没能读进来。", "The question could not be loaded."]), goOn());
  const after = el("div"), words = ["快要忘掉的时候，这一题会回到这里。", "When you are about to forget it, this question comes back here."];
  stage.replaceChildren(el("div", { class: "today-question" }, question), after);
  mount(question, { answered: () => after.replaceChildren(paragraph(words), goOn()) }).focus();
}

/** When the next question comes, and how many come that day. */
function comingNext() {
  const days = Object.keys(known).filter((id) => progress().cards[id]).map((id) => dueDay(progress().cards[id])).filter((day) => day > dayOf());
  if (!days.length) return null;
  const next = Math.min(...days), count = days.filter((day) => day === next).length, wait = next - dayOf();
  return [`${wait === 1 ? "明天" : ` ${wait} 天后`}（${count} 题）`, `${wait === 1 ? "tomorrow" : `in ${wait} days`} (${count === 1 ? "one question" : `${count} questions`})`];
}

/** Where to read on: the last chapter, in the order of the book, of which something has been answered; if all has, the next one. */
function goOn() {
  const order = Object.keys(pages), { cards } = progress(), last = order.findLastIndex((page) => pages[page].some((id) => cards[id]));
  const page = order.slice(Math.max(last, 0)).find((each) => pages[each].some((id) => !cards[id]));
  return page ? el("p", {}, both(last < 0 ? ["从这里读起：", "Begin with: "] : ["接着读：", "Read on: "]), el("a", { href: pageAddress(page) }, both(titles[page]))) : [];
}

/** One question after the other, and those that were missed once more; `over` is called at the end, `begin` for another round. */
async function round(stage, { over, begin }) {
  const ids = mixed(due(known).slice(0, ROUND), known), texts = {}, lost = [];
  await Promise.all([...new Set(ids.map((id) => known[id]))].map((page) =>
    load(page).then((found) => Object.assign(texts, found), () => lost.push(page))));
  const asking = ids.filter((id) => texts[id]), missed = [], first = asking.length;
  const label = el("p", { class: "today-note", id: freshId() }), bar = el("progress", { "aria-labelledby": label.id });
  const place = el("div", { class: "today-question" }), next = button(["下一题", "Next"], () => ask(at + 1), "today-go");
  let at = 0;
  stage.replaceChildren(label, bar, place, el("p", {}, next));
  function ask(number) {
    at = number;
    if (at === first) asking.push(...missed);
    if (at >= asking.length) return end();
    const id = asking[at], from = source(id), question = made(texts[id]), again = at >= first;
    label.replaceChildren(...both(again ? [`没想起来的，再来一遍（不计入日程）：${at - first + 1} / ${missed.length}`, `Once more, what you missed (it does not count): ${at - first + 1} / ${missed.length}`]
      : [`${at + 1} / ${first}`, `${at + 1} / ${first}`]));
    bar.max = asking.length;
    bar.value = at;
    place.replaceChildren(question, el("p", { class: "today-note" }, from));
    next.disabled = true;
    mount(question, { reviewing: true, answered: ({ grade }) => {
      if (grade === 1 && !again) missed.push(id);
      next.disabled = from.hidden = false;
    } }).focus();
  }
  function end() {
    const right = first - missed.length, left = due(known).length, words = el("div", { class: "today-end", tabindex: -1 });
    if (first) words.append(paragraph([`${first} 题，想起来 ${right} 题。`, `${right} of ${first} remembered.`]));
    if (lost.length) words.append(paragraph([`有几章的题没能读进来，下次再问：${lost.map((page) => titles[page][0]).join("、")}。`,
      `The questions of some chapters could not be loaded and are asked another time: ${lost.map((page) => titles[page][1]).join("; ")}.`]));
    const place = el("div");
    stage.replaceChildren(words, place);
    over();
    if (left && first) {
      place.append(paragraph([`还有 ${left} 题到期；明天再做也不迟。`, `${left} more ${left === 1 ? "is" : "are"} due; tomorrow will do as well.`]),
        button(["再来一轮", "Another round"], begin, "today-go"));
    } else if (!left) {
      const later = comingNext();
      place.append(paragraph([`今天的题都答完了${later ? `；下一次在${later[0]}` : ""}。`, `All of today’s questions are answered${later ? `; the next time is ${later[1]}` : ""}.`]), goOn());
    }
    words.focus();
  }
  ask(0);
}

// ---- progress, settings, files ------------------------------------------------------------------

/** The chapters of which something is answered or kept. */
function started() {
  const { cards } = progress();
  const rows = Object.keys(pages).filter((page) => lineOf(page) || pages[page].some((id) => cards[id])).map((page) => {
    const done = pages[page].filter((id) => cards[id]), counts = [done.filter((id) => isDue(id)).length, done.filter((id) => cards[id].s >= FIRM).length];
    return el("tr", {}, el("th", { scope: "row" }, el("a", { href: pageAddress(page) }, both(titles[page]))),
      el("td", {}, `${done.length} / ${pages[page].length}`), counts.map((count) => el("td", {}, String(count || ""))), el("td", { class: "today-line" }, lineOf(page)));
  });
  if (!rows.length) return [];
  const heads = [["章", "Chapter"], ["答过", "Answered"], ["到期", "Due"], ["记牢", "Firm"], ["我留的一句话", "My line"]];
  const title = el("h2", { id: freshId() }, both(["进度", "Progress"]));
  return [title, el("div", { class: "today-scroll", tabindex: 0, role: "region", "aria-labelledby": title.id }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((words) => el("th", { scope: "col" }, both(words))))), el("tbody", {}, rows))),
  paragraph([`“记牢”：三周以后多半还想得起来。`, `“Firm”: likely to be remembered three weeks from now.`], "today-note")];
}

function settings() {
  const name = freshId(), options = SETTINGS.retention.toSorted();
  return [el("h2", {}, both(["目标记住率", "How much to remember"])), el("fieldset", { class: "today-choice" },
    el("legend", {}, both(["题回来的时候，你希望还记得多少？定得越高，每天的题越多。", "When questions come back, how many of them do you want to remember? A higher share means more questions a day."])),
    options.map((value) => el("label", {}, el("input", { type: "radio", name, checked: progress().settings.retention === value,
      change: () => set("retention", value) }), " ", `${value * 100}%`)))];
}

/** Progress saved and read, and the questions as cards. `changed` is called when all of it may be another one. */
function files(changed) {
  const said = el("p", { role: "status", class: "today-note" }), say = (words) => said.replaceChildren(...both(words));
  const input = el("input", { type: "file", accept: "application/json,.json", id: freshId(), change: async () => {
    const [file] = input.files;
    if (!file) return;
    try {
      const text = await file.text(), count = fromFile(text), own = takeOwnFile(text);
      say([`读入 ${count} 题；同一题以后答的为准。${own ? "你的 my_attention.py 也在里面，读进来了。" : ""}`,
        `${count} ${count === 1 ? "question" : "questions"} read; of each, the later answer counts.${own ? " Your my_attention.py came with them." : ""}`]);
      changed();
    } catch {
      say([`“${file.name}”不是本书的进度文件，什么也没有改。`, `“${file.name}” is not a progress file of this book; nothing was changed.`]);
    }
    input.value = "";
  } });
  const saved = () => save(`attention-book-progress-${new Date().toISOString().slice(0, 10)}.json`, withOwnFile(asFile()), "application/json");
  const all = button(["全部删掉", "Delete all"], () => {
    if (!confirm(inLanguage(["删掉这个浏览器里的全部进度？", "Delete all progress in this browser?"]))) return;
    forgetAll();
    say(["都删掉了。", "All is deleted."]);
    changed();
  }, "today-delete");
  const onlyMine = el("input", { type: "checkbox", id: freshId() });
  const cards = (language, words) => button(words, async () => {
    try {
      const found = (await load("cards")).filter((card) => !onlyMine.checked || progress().cards[card.id]);
      if (!found.length) return say(["还没有答过题：去掉“只要答过的”，就是全部的题。", "You have not answered any question yet; without “only those I have answered” you get them all."]);
      save(`attention-book-${language}.txt`, ankiText(found, language), "text/plain");
      say([`${found.length} 张卡片。在 Anki 里选“文件 → 导入”。`, `${found.length} ${found.length === 1 ? "card" : "cards"}. In Anki choose File → Import.`]);
    } catch {
      say(["卡片没能读进来。", "The cards could not be loaded."]);
    }
  });
  return [el("h2", {}, both(["存档", "Your file"])),
    paragraph(["进度只在这个浏览器里，不发往任何地方。换设备、清浏览器之前，存成一个文件带走。", "Your progress is in this browser and is sent nowhere. Before you change devices or clear the browser, save it as a file."]),
    el("div", { class: "today-row" }, button(["存成文件", "Save as a file"], saved),
      el("label", { class: "today-file", for: input.id }, both(["读入文件", "Read a file"]), input), all),
    el("h2", {}, both(["做成 Anki 卡片", "Cards for Anki"])),
    el("div", { class: "today-row" }, cards("zh", ["中文卡片", "Cards in Chinese"]), cards("en", ["英文卡片", "Cards in English"]), cards("both", ["双语卡片", "Cards in both"]),
      el("label", { for: onlyMine.id }, onlyMine, " ", both(["只要答过的", "only those I have answered"]))), said];
}

// ---- small things -------------------------------------------------------------------------------

const paragraph = (words, kind) => el("p", { class: kind }, both(words));
const button = (words, click, kind) => el("button", { type: "button", class: kind, click }, both(words));

/** Words for what shows no markup. */
function inLanguage([zh, en]) {
  const language = globalThis.bookLanguage?.();
  return language === "zh" ? zh : language === "en" ? en : `${zh} ${en}`;
}

function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const root = globalThis.document?.querySelector(".today");
if (root) today(root);
