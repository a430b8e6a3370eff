/* Finding one's way: the contents show where one is, the outline closes, arrows turn pages, links are copied. */
(function () {
  "use strict";
  addEventListener("storage", ({ key, newValue }) => { // another tab has chosen its colors
    if (key === "mode" && newValue) document.documentElement.dataset.mode = newValue;
    if (key === "theme" && /^(light|dark)$/.test(newValue)) document.documentElement.dataset.theme = newValue;
  });

  /* The drawer is filled when it opens. */
  const toCurrent = () => {
    const links = document.querySelectorAll(".bd-links .current > a.current, .bd-links li.current > a");
    const link = links[links.length - 1], box = link?.closest("dialog, .bd-sidebar-primary");
    if (!link?.getClientRects().length || !box) return;
    const place = link.getBoundingClientRect(), around = box.getBoundingClientRect();
    if (place.top < around.top || place.bottom > Math.min(around.bottom, innerHeight))
      box.scrollTop += place.top - around.top - box.clientHeight / 3;
  };
  document.querySelector(".primary-toggle")?.addEventListener("click", () => setTimeout(toCurrent));
  addEventListener("load", () => setTimeout(toCurrent));

  document.getElementById("pst-secondary-sidebar-modal")?.addEventListener("click", (event) => {
    if (event.target.closest("a[href^='#']")) event.currentTarget.close();
  });

  /* The outline says how long a section takes; beside its heading only what is optional is marked. */
  document.querySelectorAll(".bd-article > section > section[id] > h2 > .section-weight").forEach((weight) => {
    const minutes = /\d+/.exec(weight.textContent)?.[0];
    document.querySelectorAll(`.page-toc a[href="#${CSS.escape(weight.closest("section").id)}"]`).forEach((link) =>
      link.insertAdjacentHTML("beforeend", `<span class="outline-minutes"><span class="bl bl-zh" lang="zh-Hans">${minutes} 分钟</span>` +
        `<span class="bl-sep"> </span><span class="bl bl-en" lang="en">${minutes} min</span></span>`));
  });

  /* The field over the page answers as one types; what that takes is loaded when it opens. */
  const dialog = document.getElementById("pst-search-dialog"), field = dialog?.querySelector("input[type=search]");
  const here = document.currentScript.src;
  field?.addEventListener("focus", () => {
    if (document.getElementById("book-search")) return; // the search page has its own
    const scripts = ["porter-stemmer.js", "search-engine.js", "search.js"].map((name) => {
      const script = document.createElement("script");
      script.src = new URL(name, here);
      script.async = false; // one after the other
      document.head.append(script);
      return script;
    });
    scripts.at(-1).addEventListener("load", () =>
      window.bookSearch(field, dialog.querySelector(".search-status"), dialog.querySelector(".search-found"), 6)());
  }, { once: true });

  /* ← and →, where they have nothing else to do: nobody types, no figure has been touched last. */
  const BUSY = "figure, .live, [data-live], .question, .page-python, .stages, pre, dialog, .table-box, .math-scroll";
  let touched = null;
  addEventListener("pointerdown", (event) => { touched = event.target; }, true);
  addEventListener("keydown", (event) => {
    const way = { ArrowLeft: "a.left-prev", ArrowRight: "a.right-next" }[event.key];
    if (!way || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = document.activeElement ?? document.body;
    if (!at.matches("body, main, a") || at.closest(BUSY) || touched?.closest?.(BUSY) || document.querySelector("dialog[open]")) return;
    document.querySelector(way)?.click();
  });

  /* The sign beside a heading or a figure is a link to it: pressed, it is copied as well. */
  const said = document.getElementById("page-said");
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a.headerlink");
    if (!link) return;
    try {
      await navigator.clipboard.writeText(link.href);
    } catch (e) { return; } // not allowed: the address bar has it
    const sign = link.textContent;
    if (link.classList.contains("copied")) return;
    link.classList.add("copied");
    link.textContent = "✓";
    said.textContent = window.bookLanguage() === "en" ? "Link copied" : "链接已复制";
    setTimeout(() => {
      link.classList.remove("copied");
      link.textContent = sign;
      said.textContent = "";
    }, 1500);
  });
})();
