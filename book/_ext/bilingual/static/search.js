/* Search the index of sections: Chinese by substring, English by stem.

   window.bookIndex is [[page, [[anchor, title zh, title en, text zh, text en, text], …]], …];
   the last text (code, formulas) belongs to both languages. */
(function () {
  "use strict";
  const script = document.currentScript;
  const CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff";
  const WORDS = new RegExp(`(?:(?![${CJK}])[\\p{L}\\p{N}_])+`, "gu");
  const RUNS = new RegExp(`[${CJK}]+|${WORDS.source}`, "gu");
  const IS_CJK = new RegExp(`^[${CJK}]`);
  const MOST = 60;
  const porter = new Stemmer();
  const stems = new Map();

  function stem(word) {
    if (!stems.has(word)) stems.set(word, porter.stemWord(word));
    return stems.get(word);
  }

  /* "多头attention" is two terms. */
  function terms(query) {
    return [...new Set(query.toLowerCase().match(RUNS))].map((run) => IS_CJK.test(run) ? { cjk: run } : { word: run, stem: stem(run) });
  }

  function words(text) {
    const found = [];
    for (const word of text.toLowerCase().match(WORDS) || []) {
      found.push(word);
      if (word.includes("_")) found.push(...word.split("_").filter(Boolean));
    }
    return found;
  }

  function load() {
    return window.bookIndex.flatMap(([page, sections]) => sections.map((fields) => {
      const [anchor, titleZh, titleEn, zh, en, both] = fields;
      return {
        page, anchor, top: sections[0], title: { zh: titleZh, en: titleEn }, text: { zh, en, both },
        titleLower: `${titleZh} ${titleEn}`.toLowerCase(), lower: `${zh} ${en} ${both}`.toLowerCase(),
      };
    }));
  }

  /* How well one term fits a text, 0 if it doesn't. */
  function count(term, text, stemmed) {
    if (term.cjk) return text.split(term.cjk).length - 1;
    const exact = stemmed.get(term.stem) || 0;
    if (exact || term.word.length < 3) return exact;
    let partial = 0;
    for (const [word, times] of stemmed) if (word.startsWith(term.word)) partial += times / 2;
    return partial;
  }

  function tally(list) {
    const times = new Map();
    list.forEach((word) => times.set(stem(word), (times.get(stem(word)) || 0) + 1));
    return times;
  }

  function score(section, wanted, query) {
    section.titleStems ||= tally(words(section.titleLower));
    section.stems ||= tally(words(section.lower));
    let total = 0;
    for (const term of wanted) {
      const inTitle = count(term, section.titleLower, section.titleStems);
      const inText = count(term, section.lower, section.stems);
      if (!inTitle && !inText) return 0;
      total += (inTitle ? 12 : 0) + Math.log1p(inText);
    }
    const titles = Object.values(section.title).map((title) => title.toLowerCase());
    if (titles.includes(query)) total += 20;
    else if (wanted.length > 1 && section.titleLower.includes(query)) total += 8;
    if (wanted.length > 1 && section.lower.includes(query)) total += 4;
    if (section.anchor === "") total += 1;
    return total;
  }

  function pattern(wanted) {
    const parts = wanted.map((term) => {
      const start = (term.cjk || (term.stem.length > 2 ? term.stem.replace(/i$/, "[iy]") : term.word));
      const safe = start.replace(/[.*+?^${}()|\\]/g, "\\$&");
      return term.cjk ? safe : `(?<![\\p{Script=Latin}\\p{N}])${safe}\\p{Script=Latin}*`;
    });
    return new RegExp(parts.join("|"), "giu");
  }

  function excerpt(section, wanted, language) {
    const marks = pattern(wanted);
    const order = language === "en" ? ["en", "both", "zh"] : ["zh", "both", "en"];
    const texts = order.map((key) => section.text[key]);
    const text = texts.find((candidate) => candidate.search(marks) >= 0) || texts.find(Boolean) || "";
    const at = Math.max(0, text.search(marks) - 40);
    const piece = (at ? "…" : "") + text.slice(at, at + 170) + (text.length > at + 170 ? "…" : "");
    const paragraph = document.createElement("p");
    paragraph.lang = text === section.text.zh ? "zh-Hans" : "en";
    let end = 0;
    for (const match of piece.matchAll(marks)) {
      if (!match[0]) continue;
      paragraph.append(piece.slice(end, match.index));
      const hit = document.createElement("mark");
      hit.textContent = match[0];
      paragraph.append(hit);
      end = match.index + match[0].length;
    }
    paragraph.append(piece.slice(end));
    return paragraph;
  }

  function name(zh, en, language) {
    if (language === "zh") return zh || en;
    if (language === "en") return en || zh;
    return zh === en ? zh : `${zh} ${en}`;
  }

  function item(section, wanted, language) {
    const line = document.createElement("li");
    const link = document.createElement("a");
    link.href = section.page + (section.anchor ? "#" + section.anchor : "");
    link.textContent = name(section.title.zh, section.title.en, language);
    line.append(link);
    if (section.anchor) {
      const chapter = document.createElement("span");
      chapter.className = "search-chapter";
      chapter.textContent = name(section.top[1], section.top[2], language);
      line.append(chapter);
    }
    line.append(excerpt(section, wanted, language));
    return line;
  }

  function summary(found, language) {
    const zh = found ? `找到 ${found} 处。` : "没有找到。换一个更短的词试试。";
    const en = found ? `${found} ${found === 1 ? "place" : "places"} found.` : "Nothing found. Try a shorter word.";
    return name(zh, en, language);
  }

  const field = document.getElementById("book-search");
  const list = document.querySelector("#search-results .search");
  const status = document.getElementById("search-status");
  let sections = null;
  let loading = null;

  function index() {
    loading ||= new Promise((resolve) => {
      const element = document.createElement("script");
      element.src = script.dataset.index;
      element.onload = () => resolve((sections = load()));
      element.onerror = () => resolve((loading = null)); // the next search tries again
      document.head.append(element);
    });
    return loading;
  }

  async function search() {
    const query = field.value.trim().toLowerCase();
    const wanted = terms(query);
    if (!wanted.length) {
      list.replaceChildren();
      status.textContent = "";
      return;
    }
    if (!sections) await index();
    const language = window.bookLanguage();
    if (!sections) {
      status.textContent = name("没能载入索引，请再试一次。", "The index could not be loaded; try again.", language);
      return;
    }
    const found = sections.map((section) => [score(section, wanted, query), section]).filter(([points]) => points > 0);
    found.sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...found.slice(0, MOST).map(([, section]) => item(section, wanted, language)));
    status.textContent = summary(found.length, language);
  }

  let waiting = null;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const url = new URL(location);
      url.searchParams.set("q", field.value);
      history.replaceState(null, "", url);
      search();
    }, 150);
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  document.addEventListener("book:language", search);
  field.value = new URLSearchParams(location.search).get("q") || "";
  field.focus();
  search();
})();
