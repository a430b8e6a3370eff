/* A glossary: its entries in the order of the page's language, and those alone that one types. */
(function () {
  "use strict";
  const root = document.documentElement;
  const list = document.currentScript.previousElementSibling, form = list.previousElementSibling;
  const field = form.querySelector("input"), told = form.querySelector("[role=status]");

  const fold = (text) => text.normalize("NFKC").toLowerCase().replace(/ü/g, "v").replace(/[\s'’·–-]+/g, " ").trim();
  const nameOf = (term) => fold([...term.childNodes].map((part) => part.className === "headerlink" ? "" : part.textContent).join(""));

  /* An entry is some terms, then what is said of them. */
  const entries = [];
  for (const part of list.children) {
    if (part.dataset.pinyin !== undefined) entries.push({ parts: [], names: [], pinyin: part.dataset.pinyin });
    const entry = entries.at(-1);
    entry.parts.push(part);
    if (part.tagName === "DT") entry.names.push(nameOf(part));
  }

  function order() {
    const inPinyin = (one, other) => one.pinyin < other.pinyin ? -1 : 1;
    const wanted = root.dataset.language === "zh" ? [...entries].sort(inPinyin) : entries;
    list.append(...wanted.flatMap(({ parts }) => parts));
  }

  /* "zhuyi" and "zyl" are the beginning of syllables that follow each other, whole or by their first letters. */
  function isSpelled({ pinyin }, letters) {
    const syllables = pinyin.replace(/\d/g, "").split(" ");
    return syllables.some((_, first) => {
      const rest = syllables.slice(first);
      return rest.join("").startsWith(letters) || rest.map(([letter]) => letter).join("").startsWith(letters);
    });
  }

  function isMeant(entry, asked) {
    if (/[\u3400-\u9fff]/.test(asked)) return entry.names.some((name) => name.replace(/ /g, "").includes(asked.replace(/ /g, "")));
    if (entry.names.some((name) => ` ${name}`.includes(` ${asked}`))) return true;
    return root.dataset.language !== "en" && isSpelled(entry, asked.replace(/ /g, ""));
  }

  function filter() {
    const asked = fold(field.value);
    let shown = 0;
    for (const entry of entries) {
      const isShown = !asked || isMeant(entry, asked);
      shown += isShown;
      entry.parts.forEach((part) => (part.hidden = !isShown));
    }
    const zh = shown ? `${shown} 条` : "没有这样的词条", en = shown ? `${shown} of ${entries.length}` : "no such entry";
    told.innerHTML = asked && `<span class="bl bl-zh" lang="zh-Hans">${zh}</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">${en}</span>`;
  }

  field.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("book:language", () => {
    order();
    filter();
  });
  addEventListener("hashchange", () => { // a link leads to an entry that is not shown
    const aim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!aim?.hidden) return;
    field.value = "";
    filter();
    aim.scrollIntoView();
  });
  order();
})();
