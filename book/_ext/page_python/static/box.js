// The box of an exercise, or of a cell: a listing becomes an editor with Run, Stop and Reset, and the place
// for what Python says. What the reader wrote is kept in this browser. Python is not loaded before Run.
(() => {
  "use strict";
  const { editor, escaped, run, stop, isReady, isBusy, files, page, pages, SOFT, HARD } = window.pagePython;
  const { checks = [], ...known } = pages[page] ?? {}, told = JSON.stringify(known);
  const megabytes = (files.bytes / 1e6).toFixed(1);
  const WORDS = {
    title: ["在这里写", "Write it here"], change: ["改一改，再运行", "Change and run"], mend: ["改好它，再运行检查", "Mend it, then run the check"],
    close: ["收起", "Close"], yours: ["这是你上次改的；“恢复原样”就是书里的代码。", "This is how you left it; “Reset” brings back the book’s code."],
    first: [`在本页运行（先载入 ${megabytes} MB）`, `Run in this page (loads ${megabytes} MB first)`],
    run: ["运行", "Run"], stop: ["停止", "Stop"], reset: ["恢复原样", "Reset"], copy: ["复制", "Copy"],
    copied: ["已复制，可以贴进笔记本的一个单元格。", "Copied; you can paste it into a cell of the notebook."],
    uncopied: ["浏览器不让复制；代码已选中，请按 Ctrl+C。", "The browser does not allow copying. The code is selected; press Ctrl+C."],
    keys: ["Tab 缩进，Esc 离开，Shift+Enter 运行。写下的留在这个浏览器里。", "Tab indents, Esc leaves, Shift+Enter runs. What you write stays in this browser."],
    loading: ["正在载入 Python……", "Loading Python …"], starting: ["正在启动 Python……", "Starting Python …"],
    running: ["正在运行……", "Running …"], took: ["用时 {} 秒", "{} s"], unkept: ["这个浏览器不让本页保存：关掉就没有了。", "This browser does not let the page keep anything: it is gone when you close it."],
    stopped: ["已停止。", "Stopped."], long: ["超过 {} 秒，已停止。是不是有循环没有尽头？", "Stopped after {} seconds. Is there a loop that never ends?"],
    ended: ["Python 意外结束了：多半是内存不够，或者函数一层层调用自己，停不下来。代码还在；下次运行会重新启动。", "Python ended unexpectedly: most likely it ran out of memory, or a function calls itself without end. Your code is kept; the next run starts Python again."],
    start: ["Python 没有启动：{}。代码还在，可以再试一次；也可以在笔记本里做。", "Python did not start: {}. Your code is kept; try again, or use the notebook."],
    busy: ["另一格正在运行。", "Another cell is running."], line: ["第 {} 行", "line {}"],
    leftOut: ["……还有 {} 个字符没有显示。", "… and {} more characters."], nothing: ["运行完了，没有要显示的：最后一行不是一个值。", "Done. There is nothing to show: the last line is not a value."],
    missing: ["网页里没有 {}，笔记本里有。上面的结论不算数：请在笔记本里运行。", "The page has no {}, but the notebook does. The verdict above does not count: run it in the notebook."],
  };
  /** What an error means, in words: its kind, what it says, and the two languages. */
  const ADVICE = [
    ["SyntaxError", /invalid character '(.)' \(U\+(?:FF|30|20)/, "“$1” 是全角符号，Python 只认半角的。切换到英文输入法再打一遍。", "“$1” is a full-width or typographic character; Python needs the plain one, as on an English keyboard."],
    ["SyntaxError", /invalid non-printable character/, "这一行有看不见的特殊空格，删掉再打普通的空格。", "The line has an invisible special space; delete it and type a plain one."],
    ["SyntaxError", /was never closed/, "有一个括号没有配对。", "A bracket is never closed."],
    ["SyntaxError", /expected ':'/, "行尾少了一个冒号。", "The colon at the end of the line is missing."],
    ["TabError", /./, "缩进里混用了 Tab 和空格：统一用空格。", "The indentation mixes tabs and spaces: use spaces throughout."],
    ["IndentationError", /./, "缩进对不齐，或者冒号下面一行没有缩进。", "The indentation does not line up, or the line below a colon is not indented."],
    ["RecursionError", /./, "函数一层层调用自己，停不下来。", "A function calls itself without end."],
    ["MemoryError", /./, "内存不够：网页里的张量要小。", "Out of memory: tensors in a page have to be small."],
    ["ModuleNotFoundError", /./, "网页里的 Python 只带标准库的大部分、这本书的包和一个小的 PyTorch；笔记本里什么都可以装。", "The page’s Python has most of the standard library, the book's package and a small PyTorch; a notebook can install anything."],
    ["NameError", /./, "这个名字还没有定义：拼写对吗？是不是在本章别处定义的？", "This name is not defined here: is it spelled right, or does another cell of the chapter define it?"],
  ];
  const fill = (text, value) => text.replace("{}", value);
  const pair = (zh, en) => `<span class="bl bl-zh" lang="zh-Hans">${zh}</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">${en}</span>`;
  const both = (name, value = "") => pair(...WORDS[name].map((text) => escaped(fill(text, value))));

  // ---- what Python says ---------------------------------------------------------------------------
  const advice = ({ kind, message }) => {
    for (const [of, form, zh, en] of ADVICE) {
      const found = of === kind && (form.exec(message) ?? (form.source === "." ? [""] : null));
      if (found) return `<p>${pair(...[zh, en].map((text) => escaped(text.replace("$1", found[1] ?? ""))))}</p>`;
    }
    return "";
  };
  const failure = (error) => {
    const place = error.line ? ` (${both("line", error.line)})` : "";
    const lines = error.lines ? `<pre tabindex="0">${escaped(error.lines)}</pre>` : "";
    if (error.kind === "KeyboardInterrupt") return `<div class="py-error"><p><strong>${both("long", SOFT)}</strong>${place}</p>${lines}</div>`;
    const message = error.zh ? pair(escaped(error.zh), escaped(error.en)) : escaped(error.message);
    return `<div class="py-error"><p><strong><code>${escaped(error.kind)}</code></strong>${place} ${message}</p>${advice(error)}${lines}</div>`;
  };
  const said = ({ html, error, missing }, printed) => {
    const note = missing.length && !error?.zh ? `<p class="py-error">${both("missing", missing.join(", "))}</p>` : "";
    return (error ? failure(error) : html || (printed ? "" : `<p class="py-note">${both("nothing")}</p>`)) + note;
  };

  // ---- running, in the box of an exercise or a cell and in that of the reader's own file -------------
  const button = (name, words = "", more = "") => `<button class="py-${name}" type="button"${more}>${words}</button>`;
  /** What runs: its buttons, then (`rest`) others; where output and verdict come. */
  const markup = (name, title, rest) => `
<p class="py-title" id="${name}-label">${title}</p>
<div class="py-place"></div>
<div class="py-row">${button("run")}${button("stop", both("stop"), " hidden")}${rest}</div>
<p class="py-note" id="${name}-keys">${both("keys")}</p>
<div class="py-progress" hidden></div>
<p class="py-status" role="status"></p>
<pre class="py-out" tabindex="0" hidden></pre>
<div class="py-result" aria-live="polite"></div>`;
  const runButtons = new Map();
  const label = () => runButtons.forEach((words, each) => { each.innerHTML = words(isReady()); });

  /** Bring markup to life: `code()` is the text to run, `words(ready)` what the button says, `done(found)` is called with
      what came. Returns the parts, `go`, and `empty`, which clears what was said. */
  const bench = (box, part, { code, words, done }) => {
    const names = ["place", "run", "stop", "progress", "status", "out", "result"];
    const parts = Object.fromEntries(names.map((each) => [each, part.querySelector(`.py-${each}`)]));
    const { progress, status, out, result } = parts, name = part.querySelector(".py-title").id;
    const empty = () => { result.innerHTML = out.textContent = status.innerHTML = ""; out.hidden = true; box.classList.remove("py-ran"); };
    const go = async () => {
      if (isBusy()) { status.innerHTML = both("busy"); return; }
      empty();
      box.classList.add("py-ran"); // the book's own output makes room
      parts.run.disabled = true;
      parts.stop.hidden = false;
      if (document.activeElement === parts.run) parts.stop.focus();
      if (!isReady()) status.innerHTML = both("loading");
      let printed = "", begun = performance.now();
      try {
        const found = await run(code(), told, {
          progress: (count) => {
            progress.hidden = false;
            progress.innerHTML = `<progress max="${files.bytes}" value="${count}" aria-labelledby="${name}"></progress> ${(count / 1e6).toFixed(1)} / ${megabytes} MB`;
            if (count >= files.bytes) { progress.hidden = true; status.innerHTML = both("starting"); }
          },
          started: () => { begun = performance.now(); progress.hidden = true; status.innerHTML = both("running"); label(); },
          out: (more) => { printed += more; out.hidden = false; out.textContent = printed; },
        });
        if (found.left_out) out.insertAdjacentHTML("beforeend", both("leftOut", found.left_out));
        status.innerHTML = both("took", ((performance.now() - begun) / 1000).toFixed(2));
        result.innerHTML = said(found, printed);
        done(found);
      } catch ({ message }) {
        const [why, more] = message.startsWith("start: ") ? ["start", message.slice(7)] : [message, HARD];
        status.innerHTML = "";
        result.innerHTML = `<div class="py-error"><p>${both(why in WORDS ? why : "ended", more)}</p></div>`;
      }
      progress.hidden = true;
      parts.run.disabled = false;
      if (document.activeElement === parts.stop || document.activeElement === document.body) parts.run.focus({ preventScroll: true });
      parts.stop.hidden = true;
      label();
    };
    runButtons.set(parts.run, words);
    label();
    parts.run.onclick = go;
    parts.stop.onclick = stop;
    return { ...parts, go, empty };
  };

  // ---- the box of an exercise or a cell ---------------------------------------------------------------
  /** A cell has no name: what was made of other code is kept under another. */
  const number = (text) => [...text].reduce((sum, sign) => (sum * 31 + sign.codePointAt(0)) % 2 ** 32, 7).toString(36);

  const setUp = (box) => {
    const isCell = box.matches(".py-cell"), place = [...document.querySelectorAll(".py-cell")].indexOf(box);
    const id = box.id || `py-cell-${place}`, check = checks[place];
    const original = box.querySelector("pre").textContent.replace(/\n$/, "") + (check ? `\n\n\n${check}` : "");
    const key = `book-python:${isCell ? `${page}:${number(original)}` : box.dataset.name}`;
    const part = document.createElement("div");
    part.className = "py-live";
    part.innerHTML = markup(id, both(check ? "mend" : isCell ? "change" : "title"),
      button("reset", both("reset")) + button("copy", both("copy")) + (isCell ? button("close", both("close")) : ""));
    isCell ? box.querySelector(".cell_input").after(part) : box.append(part);
    box.classList.add("py-alive");
    const { place: frame, run: runButton, status, go, empty } = bench(box, part, {
      code: () => text.area.value, words: (ready) => both(ready ? "run" : "first"), done: ({ error }) => text.mark(error?.line),
    });
    let kept = original;
    try { kept = localStorage.getItem(key) ?? original; } catch { /* storage is forbidden */ }
    if (isCell && kept !== original) status.innerHTML = both("yours");
    const keep = (text) => {
      try { text === original ? localStorage.removeItem(key) : localStorage.setItem(key, text); }
      catch { status.innerHTML = both("unkept"); }
    };
    const text = editor(frame, kept, {
      label: `${id}-label`, describe: `${id}-keys`, changed: keep, run: go, leave: () => runButton.focus(),
    });
    part.querySelector(".py-reset").onclick = () => { text.replace(original); empty(); };
    if (isCell) part.querySelector(".py-close").onclick = () => {
      box.classList.remove("py-alive", "py-ran");
      box.querySelector(".py-change").focus();
    };
    part.querySelector(".py-copy").onclick = async () => {
      try { await navigator.clipboard.writeText(text.area.value); status.innerHTML = both("copied"); }
      catch { text.area.focus(); text.area.select(); status.innerHTML = both(document.execCommand("copy") ? "copied" : "uncopied"); }
    };
  };

  const open = (box) => {
    if (box.matches(".own-file")) return pagePython.openFile(box);
    if (!box.querySelector(".py-live")) setUp(box);
    if (!box.matches(".py-cell")) return;
    box.classList.add("py-alive");
    box.querySelector("textarea").focus();
  };
  Object.assign(window.pagePython, { open, bench, both, button, markup, megabytes, pair });
})();
