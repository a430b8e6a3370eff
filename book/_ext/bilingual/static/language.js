/* The language toggle, and every word that CSS can't switch: attributes, the title. */
(function () {
  const root = document.documentElement;
  const known = /^(zh|en|both)$/;

  function inLanguage(element, name, language) {
    const zh = element.getAttribute("data-zh-" + name);
    const en = element.getAttribute("data-en-" + name);
    return language === "zh" ? zh : language === "en" ? en : zh === en ? zh : zh + " " + en;
  }

  function setAttribute(element, name, text) {
    if (name === "text") { // the window's title has one language, in 对照 the first
      element.textContent = element.tagName === "TITLE" && root.dataset.language === "both" ? element.dataset.zhText : text;
      return;
    }
    element.setAttribute(name, text);
  }

  function translate(scope, language) {
    scope.querySelectorAll("[data-bl]").forEach((element) => {
      element.dataset.bl.split(" ").forEach((name) => setAttribute(element, name, inLanguage(element, name, language)));
    });
    /* figures: one drawing, its description in the reader's language */
    scope.querySelectorAll("[data-alt-zh][data-alt-en]").forEach((element) => {
      const alt = language === "zh" ? element.dataset.altZh : language === "en" ? element.dataset.altEn
        : element.dataset.altZh + " " + element.dataset.altEn;
      element.setAttribute(element.tagName === "IMG" ? "alt" : "aria-label", alt);
    });
  }

  function show(language) {
    root.dataset.language = language;
    root.lang = language === "en" ? "en" : "zh-Hans";
    document.querySelectorAll("[data-set-language]").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset.setLanguage === language));
    });
    translate(document, language);
    document.dispatchEvent(new CustomEvent("book:language", { detail: language }));
  }

  function remember(language) {
    try {
      localStorage.setItem("book-language", language);
    } catch (e) { /* private window: the choice lasts for this page */ }
  }

  /* The reader's place: the text that was at the top stays there when the language changes. */
  function keepPlace(change) {
    const anchor = [...document.querySelectorAll("article :is(h1, h2, h3, p, pre, figure, table)")].find(
      (element) => element.getClientRects().length && element.getBoundingClientRect().top > 60);
    const block = anchor && (anchor.closest(".bl-pair") || anchor);
    const before = block && block.getBoundingClientRect().top;
    delete root.dataset.layout; // from here on the whole page is laid out (layout.html)
    change();
    if (block) window.scrollBy({ top: block.getBoundingClientRect().top - before, behavior: "instant" });
  }

  document.querySelectorAll("[data-set-language]").forEach((button) => {
    button.addEventListener("click", () => {
      const language = button.dataset.setLanguage;
      keepPlace(() => show(language));
      remember(language);
      const url = new URL(location);
      if (url.searchParams.has("lang")) {
        url.searchParams.set("lang", language);
        history.replaceState(null, "", url);
      }
    });
  });

  /* 对照 on a phone: the second language shows where one taps the first (language.css). */
  document.querySelector("article")?.addEventListener("click", ({ target }) => {
    if (root.dataset.language !== "both" || target.closest("a, button, summary, input, label, select, textarea")) return;
    target.closest(".bl-pair > .bl-zh")?.parentElement.classList.toggle("unfolded");
  });

  window.bookLanguage = () => root.dataset.language || "both";
  window.bookTranslate = (scope) => translate(scope, window.bookLanguage());
  /* "zh-CN" and "EN" mean zh and en. */
  const asked = (new URLSearchParams(location.search).get("lang") || "").toLowerCase().split("-")[0];
  if (known.test(asked)) remember(asked);
  addEventListener("storage", (event) => { // another tab has chosen
    if (event.key === "book-language" && known.test(event.newValue)) keepPlace(() => show(event.newValue));
  });
  show(window.bookLanguage());
})();
