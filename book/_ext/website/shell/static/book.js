/* What a page can't do without a script: fold solutions, copy code, scroll by keyboard, print. */
(function () {
  "use strict";
  const inLanguage = (zh, en) => `data-bl="aria-label" data-zh-aria-label="${zh}" data-en-aria-label="${en}"`;

  /* What scrolls sideways must be reachable by keyboard; what doesn't must not be in the way. A box is
     measured when it is laid out, which may be as late as when it comes into sight, or for the keyboard. */
  const SCROLLS = ".math-scroll, .highlight > pre, .table-box, .output, .cell_output pre, .figure-box";
  const boxes = () => [...document.querySelectorAll(SCROLLS)];
  function measure(some) {
    const scrolls = some.map((box) => box.scrollWidth > box.clientWidth + 1); // measure first, change then
    some.forEach((box, i) => {
      if (scrolls[i] !== (box.tabIndex === 0)) scrolls[i] ? (box.tabIndex = 0) : box.removeAttribute("tabindex");
    });
  }
  const laidOut = new ResizeObserver((entries) => measure(entries.map((entry) => entry.target)));
  function watch() {
    boxes().forEach((box) => { laidOut.unobserve(box); laidOut.observe(box); });
  }

  /* A box of class `dropdown` folds under its title.  Without this script it stays open. */
  function fold(box) {
    const title = box.querySelector(":scope > .admonition-title");
    if (!title) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold-button";
    button.append(...title.childNodes);
    title.append(button);
    const set = (open) => {
      box.classList.toggle("folded", !open);
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", (event) => {
      if (!event.target.closest("a")) set(box.classList.contains("folded"));
    });
    set(box.classList.contains("toggle-shown"));
  }

  /* A link to something folded opens it. */
  function openTarget() {
    let target = null;
    try {
      target = location.hash && document.querySelector("#" + CSS.escape(decodeURIComponent(location.hash.slice(1))));
    } catch (e) { return; }
    if (!target) return;
    let opened = false;
    for (let box = target; box; box = box.parentElement) {
      if (box.classList.contains("folded")) {
        box.querySelector(".fold-button").click();
        opened = true;
      }
      if (box.tagName === "DETAILS" && !box.open) opened = box.open = true;
    }
    if (opened) target.scrollIntoView();
  }

  /* On paper nothing can be unfolded, and there is no dark. */
  function openForPrinting() {
    const root = document.documentElement, theme = root.dataset.theme;
    root.dataset.theme = "light";
    window.addEventListener("afterprint", () => (root.dataset.theme = theme), { once: true });
    const closed = [...document.querySelectorAll("article .folded, article details:not([open])")];
    const set = (open) => closed.forEach((box) => {
      if (box.tagName === "DETAILS") box.open = open;
      else box.classList.toggle("folded", !open);
    });
    set(true);
    window.addEventListener("afterprint", () => set(false), { once: true });
  }

  const ICON = '<svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" ' +
    'stroke-width="1.8" aria-hidden="true"><rect x="8" y="8" width="12" height="12" rx="2"/>' +
    '<path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2"/></svg>';
  const DONE = '<svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" ' +
    'stroke-width="2.2" aria-hidden="true"><path d="M5 12l5 5l10-10"/></svg>';

  /* Code with prompts: copy what one would type. */
  function typed(text) {
    const lines = text.split("\n");
    if (!lines.some((line) => line.startsWith(">>> "))) return text.trimEnd();
    return lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4)).join("\n");
  }

  function copyButton(pre) {
    const box = pre.parentElement;
    box.insertAdjacentHTML("beforeend",
      `<button type="button" class="copy-button" ${inLanguage("复制代码", "Copy the code")}>${ICON}</button>`);
    const button = box.lastElementChild;
    button.addEventListener("click", async () => {
      const copy = pre.cloneNode(true);
      copy.querySelectorAll(".linenos").forEach((number) => number.remove());
      try {
        await navigator.clipboard.writeText(typed(copy.textContent));
      } catch (e) {
        getSelection().selectAllChildren(pre); // no permission: select it for Ctrl+C
        return;
      }
      button.innerHTML = DONE;
      setTimeout(() => (button.innerHTML = ICON), 1500);
    });
  }

  function boxTables() {
    document.querySelectorAll("article table").forEach((table) => {
      if (table.closest(".table-box")) return;
      const box = document.createElement("div");
      box.className = "table-box";
      table.replaceWith(box);
      box.append(table);
    });
  }

  /* The buttons of the line above the text; the page's policy allows no `onclick`. */
  const PRESSED = {
    print: () => window.print(),
    fullscreen: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
  };

  /* Its menus: one closes where one presses elsewhere, or Escape. */
  const menus = [...document.querySelectorAll("[data-bs-toggle=dropdown]")];
  const open = (button, yes) => {
    button.setAttribute("aria-expanded", String(yes));
    button.nextElementSibling.classList.toggle("show", yes);
  };
  document.addEventListener("click", ({ target }) => menus.forEach((button) =>
    open(button, button.contains(target) && button.getAttribute("aria-expanded") !== "true")));
  document.addEventListener("keydown", ({ key }) => {
    const button = key === "Escape" && menus.find((each) => each.getAttribute("aria-expanded") === "true");
    if (!button) return;
    open(button, false);
    button.focus();
  });

  document.querySelectorAll("[data-press]").forEach((button) => {
    button.addEventListener("click", PRESSED[button.dataset.press]);
  });
  document.querySelectorAll(".admonition.dropdown").forEach(fold);
  document.querySelectorAll("article div.highlight > pre").forEach(copyButton);
  boxTables();
  openTarget();
  watch();
  addEventListener("hashchange", openTarget);
  document.addEventListener("click", (event) => { // a second time to the same place: no hashchange
    if (event.target.closest("a[href*='#']")?.href === location.href) openTarget();
  });
  /* Whoever jumps within the page needs all of it laid out, or lands elsewhere. */
  const layOut = () => delete document.documentElement.dataset.layout;
  addEventListener("click", (event) => event.target.closest?.("a[href*='#']") && layOut(), true);
  addEventListener("popstate", layOut);
  /* The rest is laid out a section at a time, once the browser has nothing else to do. */
  const sections = [...document.querySelectorAll("article.bd-article > section > section")];
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  function layOutNext() {
    const section = sections.shift();
    if (!section) return layOut();
    section.style.contentVisibility = "visible";
    whenIdle(layOutNext);
  }
  addEventListener("load", () => setTimeout(layOutNext, 3000));
  addEventListener("keydown", (event) => {
    if (event.key === "Tab" || event.key === "End") layOut();
    if (event.key === "Tab") measure(boxes());
  }, true);
  addEventListener("beforeprint", openForPrinting);
  document.addEventListener("book:language", watch);
})();
