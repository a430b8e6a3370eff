// The reader's own file, my_attention.py, in the page. It comes when a reader opens it: one text for
// all chapters, kept in this browser under one key, held to its steps by the package's own checker.
// The build puts before it `pagePython.ownFile`: where each step stands, and the worked file as of each.
(() => {
  "use strict";
  const { bench, both, button, editor, escaped, markup, megabytes, pair, SOFT, ownFile: { steps, texts } } = window.pagePython;
  const KEY = "book-python:my_attention.py", NAME = "my_attention.py";
  const LONGEST = 200_000; // characters; the worked file has nine thousand
  const root = new URL("../../", document.currentScript.src);
  const tell = ([zh, en]) => pair(...[zh, en].map((text) => escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>")));
  const TROUBLES = {
    forbidden: ["这个浏览器不许本页保存东西：关掉这一页，文件就没有了。请先下载。",
      "This browser does not let the page keep anything: the file is gone when you close the page. Download it first."],
    full: ["浏览器的存储满了：最近的改动没能存下。请先下载。", "The browser’s storage is full, and your latest changes are not kept. Download the file first."],
    unreadable: ["浏览器里存着的文件读不出来。它原样留着，现在写的不会存下；要重新开始，选“清空”。",
      "The file in this browser cannot be read. It is left as it is, and what you write now is not kept. To start afresh, choose “Empty it”."],
  };

  // ---- what is kept ---------------------------------------------------------------------------------
  /* { text, at, held, heldText, before }: `at` tells one writing from another; `heldText` is the text as it last held, up to
     step `held`; `before` is what a text that was put in its place replaced. */
  const empty = () => ({ text: "", at: 0, held: 0, heldText: "", before: "" });
  const listeners = [];
  let trouble = null, other = null, unsaved = false;

  /** Whoever wrote it: only what has the right form comes in. */
  const checked = (found) => {
    const is = (text) => typeof text === "string" && text.length <= LONGEST;
    if (!is(found?.text) || typeof found.at !== "number") return null;
    const holds = Number.isInteger(found.held) && found.held > 0 && found.held <= steps.length && is(found.heldText);
    return { text: found.text, at: found.at, held: holds ? found.held : 0, heldText: holds ? found.heldText : "", before: is(found.before) ? found.before : "" };
  };
  /** Where a browser forbids its storage, the page's own stand-in takes everything and keeps nothing. */
  const storage = () => {
    if (window.Storage && !(localStorage instanceof Storage)) throw new Error("forbidden");
    return localStorage;
  };
  const stored = () => {
    try {
      const text = storage().getItem(KEY);
      if (text === null) return null;
      let found = null;
      try { found = checked(JSON.parse(text)); } catch { /* no JSON */ }
      trouble = found ? (trouble === "unreadable" ? null : trouble) : "unreadable";
      return found;
    } catch {
      trouble = "forbidden";
      return null;
    }
  };
  let file = stored() ?? empty();

  /** Keep a change. What another tab has written since is not written over: the reader chooses. */
  const save = (change, { anyway = false } = {}) => {
    const there = anyway ? null : stored();
    if (there && there.at !== file.at) other = there;
    file = { ...file, ...change };
    unsaved = true;
    if (!other && (trouble !== "unreadable" || anyway)) {
      const next = { ...file, at: Date.now() + Math.random() };
      try {
        storage().setItem(KEY, JSON.stringify(next));
        file = next;
        unsaved = false;
        trouble = null;
      } catch (error) {
        trouble = error?.name === "QuotaExceededError" ? "full" : "forbidden";
      }
    }
    listeners.forEach((listener) => listener());
  };
  /** Another tab has written, or this page comes back: its text is this one's too, unless this one could not be kept. */
  const follow = () => {
    const there = stored();
    if (there?.at === file.at || (!there && trouble)) return;
    if (unsaved) other = there;
    else file = there ?? empty();
    listeners.forEach((listener) => listener());
  };
  addEventListener("storage", ({ key }) => { if (key === KEY || key === null) follow(); });
  addEventListener("pageshow", ({ persisted }) => { if (persisted) follow(); });

  // ---- what it holds --------------------------------------------------------------------------------
  const has = (name) => new RegExp(`^(def|class)\\s+${name}\\b`, "m").test(file.text);
  /** The first of the steps before this one that the file has not begun; 0 if it has them all. */
  const lacking = (step) => 1 + steps.slice(0, step - 1).findIndex(({ names }) => !names.every(has));
  const language = () => (document.documentElement.dataset.language === "en" ? "en" : "zh");
  const worked = (step) => texts[language()][step - 1];
  const lines = (text) => text.trimEnd().split("\n").length;
  const linkTo = (step) => {
    const { page, title } = steps[step - 1];
    return `<a href="${new URL(`${page}.html#own-file-${step}`, root)}">${tell([`第 ${step} 步，${title[0]}`, `step ${step}, ${title[1]}`])}</a>`;
  };

  // ---- one box --------------------------------------------------------------------------------------
  /** The box is a step's, or that of the page of the file, which has none; its button makes room. */
  const openFile = (box) => {
    if (box.querySelector(".py-live")) return;
    const part = document.createElement("div");
    part.className = "py-live py-file";
    box.querySelector(".py-change").replaceWith(part);
    const step = Number(/^own-file-(\d+)$/.exec(box.id)?.[1] ?? 0), id = `${box.id}-py`;
    const upTo = step > 1 ? [`检查第 1–${step} 步`, `Check steps 1 to ${step}`] : step ? ["检查第 1 步", "Check step 1"] : ["检查", "Check it"];
    const choices = steps.map(({ title }, i) => `<option value="${i + 1}"></option>`).join("");
    part.innerHTML = `
<p class="py-note">${tell([`\`${NAME}\` 各章共用一份。`, `\`${NAME}\` is one file for all chapters.`])}</p>
<p class="py-trouble py-error" role="status"></p>
<div class="py-lacking"></div>
${markup(id, `<code>${NAME}</code>`, "")}
<details class="py-more"><summary>${tell(["取某一步的文件，下载，载入，清空", "Take a step’s file, download, upload, empty"])}</summary>
<div class="py-row"><label>${tell(["第几步之后的文件：", "The file as of step "])} <select>${choices}</select></label>${button("take", tell(["取来", "Take it"]))}</div>
<div class="py-row">${button("download", tell(["下载", "Download"]))}${button("upload", tell(["载入文件", "Upload"]))}${button("reset", tell(["清空", "Empty it"]))}</div>
<input type="file" accept=".py,text/x-python,text/plain" hidden></details>
<div class="py-ask" role="alert" hidden><p id="${id}-ask"></p><div class="py-row">${button("yes")}${button("no")}</div></div>
<div class="py-row py-back" hidden>${button("before", tell(["换回先前的那份", "Put the earlier text back"]))}</div>`;
    const at = (name) => part.querySelector(`.py-${name}`), select = part.querySelector("select"), input = part.querySelector("input");
    const ask = at("ask"), status = at("status"), say = (words) => { status.innerHTML = tell(words); };
    // the question stands right below the editor, whichever button asks it
    at("row").before(ask, at("back"));

    const text = editor(at("place"), file.text, {
      label: `${id}-label`, describe: `${id}-keys`, run: () => work.go(), leave: () => at("run").focus(),
      changed: (value) => { save({ text: value }); },
    });
    const frame = at("place"), reveal = (line) => {
      const one = frame.scrollHeight / lines(text.area.value + "\n.");
      frame.scrollTop = Math.max(0, (line - 4) * one);
    };
    let sent = "";
    const work = bench(box, part, {
      code: () => {
        sent = file.text;
        return `from attention_book.course.own_file.in_page import check\ncheck(${[sent, step, file.held, file.heldText, SOFT].map((each) => JSON.stringify(each)).join(", ")})`;
      },
      words: (ready) => tell(ready ? upTo : [`${upTo[0]}（先载入 ${megabytes} MB）`, `${upTo[1]} (loads ${megabytes} MB first)`]),
      done: ({ error }) => {
        const data = at("result").querySelector("[data-verdict]")?.dataset.verdict;
        if (!data) return text.mark(error?.line);
        const { passed, step: reached, line } = JSON.parse(data);
        if (sent === text.area.value) text.mark(line);
        if (line) reveal(line);
        if (!passed) return;
        if (reached >= file.held) save({ held: reached, heldText: sent });
        at("result").insertAdjacentHTML("beforeend", reached < steps.length ? `<p>${tell(["接下来：", "Next: "])}${linkTo(reached + 1)}</p>`
          : `<p>${tell(["十六步都完成了：这是你自己写出来的 Transformer。", "All sixteen steps are done: it is a Transformer, and you wrote it."])}</p>`);
      },
    });

    /** Put other text in the place of the reader's, which can be put back. */
    const put = (other, words) => {
      save({ text: other, before: file.text.trim() ? file.text : file.before });
      work.empty();
      say(words);
      frame.scrollTop = frame.scrollHeight;
      text.area.focus({ preventScroll: true });
    };
    let from = null;
    const question = (words, yes, no, answer) => {
      from = part.contains(document.activeElement) ? document.activeElement : null;
      part.querySelector(`#${id}-ask`).innerHTML = tell(words);
      for (const [name, label, given] of [["yes", yes, true], ["no", no, false]]) {
        at(name).innerHTML = tell(label);
        at(name).onclick = () => { ask.hidden = true; from?.focus(); answer(given); };
      }
      ask.hidden = false;
    };
    const replace = (other, words) => {
      if (!file.text.trim() || other === file.text) return put(other, words);
      const count = lines(file.text);
      question([`你的 ${count} 行会被换掉；之后还可以换回来。`, `Your ${count === 1 ? "line" : `${count} lines`} will be replaced. You can put them back afterwards.`],
        ["换掉", "Replace"], ["留着我的", "Keep mine"], (yes) => yes && put(other, words));
      at("no").focus();
    };
    ask.addEventListener("keydown", ({ key }) => { if (key === "Escape") at("no").click(); });

    const take = (number) => replace(worked(number), [`这是第 ${number} 步之后的文件。`, `This is the file as of step ${number}.`]);
    at("take").onclick = () => take(Number(select.value));
    at("reset").onclick = () => {
      if (trouble === "unreadable") { file = empty(); return save({}, { anyway: true }); }
      replace("", ["清空了。", "It is empty now."]);
    };
    at("before").onclick = () => put(file.before, ["换回来了；要再换，再按一次。", "The earlier text is back; press again to swap the two."]);
    at("download").onclick = () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([file.text], { type: "text/x-python" }));
      link.download = NAME;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      say([`存成 \`${NAME}\`；终端里的检查是 \`attention-book course check\`。`, `Saved as \`${NAME}\`; in a terminal, \`attention-book course check\` checks it.`]);
    };
    at("upload").onclick = () => input.click();
    input.onchange = async () => {
      const [chosen] = input.files;
      if (!chosen) return;
      const found = chosen.size > 4 * LONGEST ? null : (await chosen.text().catch(() => null))?.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
      input.value = "";
      if (found == null || found.length > LONGEST || found.includes("\0")) return say(["这不是一份 Python 文件，没有载入。", "This is not a Python file, so it was not loaded."]);
      replace(found, [`载入了 ${lines(found)} 行。`, `Loaded ${lines(found)} lines.`]);
    };

    let asked = null;
    const show = () => {
      if (text.area.value !== file.text) text.set(file.text);
      at("trouble").innerHTML = trouble ? tell(TROUBLES[trouble]) : "";
      at("back").hidden = !file.before || file.before === file.text;
      const first = step > 1 ? lacking(step) : 0, place = at("lacking");
      const now = first ? `${first} ${language()}` : "";
      if (place.dataset.says !== now) {
        place.dataset.says = now;
        place.innerHTML = first ? `${tell(["你的文件里还没有", "Your file does not have "])}${linkTo(first)}${tell([`。跳过了前面，想从这里做起？`, ` yet. Would you rather begin here?`])}<div class="py-row">${button("begin", tell([`取第 ${step - 1} 步之后的文件`, `Take the file as of step ${step - 1}`]))}</div>` : "";
        if (first) at("begin").onclick = () => take(step - 1);
      }
      for (const option of select.options) {
        const [zh, en] = steps[option.value - 1].title;
        option.textContent = `${option.value} · ${language() === "en" ? en : zh}`;
      }
      if (!other && asked) ask.hidden = true; // answered in another box of this page
      if (other && other !== asked) {
        const theirs = other, count = lines(theirs.text);
        question([`另一个标签页里改过这份文件（${count} 行）。留哪一份？另一份之后还可以换回来。`, `Another tab has changed the file (it has ${count} lines). Which one do you want to keep? You can put the other one back afterwards.`],
          ["用那一份", "Take that one"], ["留着这一份", "Keep this one"], (yes) => {
            other = null;
            asked = null;
            const mine = file.text;
            file = { ...theirs };
            save(yes ? { before: mine } : { text: mine, before: theirs.text }, { anyway: true });
          });
      }
      asked = other;
    };
    listeners.push(show);
    document.addEventListener("book:language", show);
    select.value = String(Math.max(1, step - 1));
    show();
    frame.scrollTop = frame.scrollHeight;
    at("title").tabIndex = -1;
    at("title").focus({ preventScroll: true });
  };

  Object.assign(window.pagePython, { openFile });
})();
