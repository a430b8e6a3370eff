/* Shows what search-engine.js finds as one types: on the search page, and in any field that
   window.bookSearch(field, status, results, most) is given.

   The index comes in parts: the headings and the text of the reader's language with the first
   search, the other language's and the code where these find next to nothing. */
(function () {
  "use strict";
  const FOLDER = new URL("../search-index/", document.currentScript.src);
  const FEW = 3, MORE = 3, LONGEST = 200;
  const GROUPS = [
    [["chapter", "page"], "正文", "Chapters", 20],
    [["term"], "术语", "Terms", 6],
    [["reference"], "参考", "Reference", 20],
  ];
  const arriving = new Map();
  let engine = null;

  /* A page from a folder loads nothing but scripts. */
  function load(part) {
    if (!arriving.has(part)) {
      arriving.set(part, new Promise((resolve, reject) => {
        const element = document.createElement("script");
        element.src = new URL(`${part}.js`, FOLDER);
        element.onload = resolve;
        element.onerror = () => {
          arriving.delete(part); // the next search tries again
          reject(new Error(`no ${part}.js`));
        };
        document.head.append(element);
      }));
    }
    return arriving.get(part);
  }

  function name(zh, en, language) {
    if (language === "zh") return zh || en;
    if (language === "en") return en || zh;
    return zh === en ? zh : `${zh} ${en}`;
  }

  function made(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  }

  const addressOf = (place) => new URL(`../${place.page}${place.anchor ? `#${place.anchor}` : ""}`, FOLDER).href;

  function link(place, language) {
    const element = made("a", "", name(place.title.zh, place.title.en, language));
    element.href = addressOf(place);
    return element;
  }

  /* The same text in one form, each character where it stood. */
  function inPlace(text) {
    return Array.from(text, (each) => {
      const one = engine.normal(each);
      return one.length === each.length ? one : each;
    }).join("");
  }

  const marksOf = (terms) => new RegExp(terms.flatMap((term) => term.patterns.map(({ pattern }) => pattern.source)).join("|"), "gu");

  /* Some words around the first hit: of the first of these places that has one in the reader's language. */
  function excerpt(places, terms, language) {
    const marks = marksOf(terms), parts = language === "en" ? ["en", "both", "zh"] : ["zh", "both", "en"];
    const texts = parts.flatMap((part) => places.map((place) => [part, window.bookIndex[part]?.[place.number][place.row] ?? ""]));
    const hit = texts.find(([, text]) => inPlace(text).search(marks) >= 0);
    const [part, text] = hit ?? texts.find(([each, words]) => words && each !== "both") ?? ["", ""];
    if (!text) return [];
    const at = Math.max(0, inPlace(text).search(marks) - 40);
    const piece = (at ? "…" : "") + text.slice(at, at + 170) + (text.length > at + 170 ? "…" : "");
    const paragraph = made("p", "");
    paragraph.lang = part === "zh" ? "zh-Hans" : "en";
    let end = 0;
    for (const match of inPlace(piece).matchAll(marks)) {
      if (!match[0]) continue;
      paragraph.append(piece.slice(end, match.index), made("mark", "", piece.slice(match.index, match.index + match[0].length)));
      end = match.index + match[0].length;
    }
    paragraph.append(piece.slice(end));
    return [paragraph];
  }

  /* A page, by itself if its beginning fits nearly as well as its best place; and its next best places. */
  function item({ found }, terms, language) {
    const [best] = found, top = found.find(({ place }) => place.isTop && place.kind !== "term");
    const lead = (top && top.points > 0.6 * best.points ? top : best).place;
    const more = found.map(({ place }) => place).filter((place) => place !== lead).slice(0, MORE - 1);
    const line = made("li", "", link(lead, language));
    if (!lead.isTop) line.append(made("span", "search-chapter", name(lead.top.zh, lead.top.en, language)));
    line.append(...excerpt([lead, ...more], terms, language));
    if (more.length) line.append(made("ul", "search-more", ...more.map((place) => made("li", "", link(place, language)))));
    return line;
  }

  function grouped({ results, terms }, language, most) {
    const groups = GROUPS.map(([kinds, zh, en, least]) => {
      const own = results.filter(({ kind }) => kinds.includes(kind)).slice(0, Math.min(least, most));
      return { own, title: name(zh, en, language), best: own[0] === results[0] && results[0]?.found[0].points > 20 };
    }).filter(({ own }) => own.length);
    groups.sort((a, b) => b.best - a.best); // a name that is typed whole leads to its entry
    return groups.map(({ own, title }) => made("section", "search-group", made("h2", "", title),
      made("ol", "search", ...own.map((result) => item(result, terms, language)))));
  }

  function summary({ results, by }, language) {
    const count = results.reduce((sum, { found }) => sum + found.length, 0);
    if (!count) return name("没有找到。换一个词试试。", "Nothing found. Try another word.", language);
    const zh = `找到 ${count} 处。`, en = `${count} ${count === 1 ? "place" : "places"} found.`;
    return by ? name(`书里没有这样写。按“${by}”${zh}`, `The book does not have this as typed. For “${by}”: ${en}`, language) : name(zh, en, language);
  }

  window.bookSearch = function (field, status, results, most = Infinity) {
    let latest = 0;
    field.maxLength = LONGEST; // what is longer is no question, and stands in the address

    async function search() {
      const turn = (latest += 1), language = window.bookLanguage(), query = field.value.trim();
      const tell = (zh, en, ...found) => {
        if (turn !== latest) return;
        status.textContent = name(zh, en, language);
        if (results.contains(document.activeElement)) return; // who goes through the list keeps it
        results.replaceChildren(...found);
      };
      if (!query) return tell("输入要找的词：中文、英文、公式或函数的名字都行。", "Type what you are looking for: a word, a formula, the name of a function.");
      if (!/[\p{L}\p{N}√∞∑∂∇×≠≤≥]/u.test(query)) return tell("只有标点，没有字。输入要找的词。", "That is punctuation only. Type a word to look for.");
      const own = language === "both" ? ["zh", "en"] : [language];
      try {
        await Promise.all(["heads", ...own].map(load));
        engine ??= window.bookSearchEngine(window.bookIndex);
        let answer = engine.answer(query);
        if (answer.by || answer.results.length < FEW) {
          await Promise.all(["zh", "en", "both"].map(load));
          answer = engine.answer(query);
        }
        tell(summary(answer, "zh"), summary(answer, "en"), ...grouped(answer, language, most));
      } catch (e) {
        tell("没能载入索引，请再试一次。", "The index could not be loaded. Please try again.");
      }
    }

    let waiting = null;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(search, 120);
    });
    document.addEventListener("book:language", search);
    /* ↓ and ↑ go from the field through what was found. */
    field.form.parentElement.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], links = [field, ...results.querySelectorAll("a")];
      const at = links.indexOf(document.activeElement);
      if (!step || at < 0 || !links[at + step]) return;
      event.preventDefault();
      links[at + step].focus();
    });
    return search;
  };

  const field = document.getElementById("book-search");
  if (!field) return;
  const search = window.bookSearch(field, document.getElementById("search-status"), document.getElementById("search-results"));
  field.addEventListener("input", () => {
    const url = new URL(location);
    url.searchParams.set("q", field.value);
    history.replaceState(null, "", url);
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  field.value = (new URLSearchParams(location.search).get("q") || "").slice(0, LONGEST);
  field.focus();
  search();
})();
