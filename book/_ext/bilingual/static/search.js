/* Search the index of sections: Chinese by substring, English by stem.

   window.bookIndex is [[page, [[anchor, title zh, title en, text zh, text en, text], …]], …];
   the last text (code, formulas) belongs to both languages. An entry that ends with "inside" is
   folded away within the section before it.
   window.bookSpellings: characters that stand for others, in pairs, and words for other words. */
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

  let spellings = { characters: new Map(), words: [] };

  /* One form for all widths, cases and scripts: "ＲｏＰＥ" is "rope", "機" is "机". */
  function normal(text) {
    const plain = text.normalize("NFKC").toLowerCase();
    return Array.from(plain, (each) => spellings.characters.get(each) || each).join("");
  }

  /* The same, each character where it stood. */
  function inPlace(text) {
    return Array.from(text, (each) => {
      const one = normal(each);
      return one.length === each.length ? one : each;
    }).join("");
  }

  /* "多头attention" is two terms. */
  function terms(query) {
    return [...new Set(query.match(RUNS))].map((run) => IS_CJK.test(run) ? { cjk: run } : { word: run, stem: stem(run) });
  }

  function words(text) {
    const found = [];
    for (const word of text.match(WORDS) || []) {
      found.push(word);
      if (word.includes("_")) found.push(...word.split("_").filter(Boolean));
    }
    return found;
  }

  function load() {
    const { characters, words } = window.bookSpellings;
    const letters = Array.from(characters);
    const pairs = letters.flatMap((each, n) => (n % 2 ? [] : [[each, letters[n + 1]]]));
    spellings = { characters: new Map(pairs), words: Object.entries(words) };
    return window.bookIndex.flatMap(([page, sections]) => {
      let around = null;
      return sections.map((fields) => {
        const [anchor, titleZh, titleEn, zh, en, both, inside] = fields;
        const section = {
          page, anchor, top: sections[0], title: { zh: titleZh, en: titleEn }, text: { zh, en, both },
          titleLower: normal(`${titleZh} ${titleEn}`), lower: normal(`${zh} ${en} ${both}`),
          around: inside ? around : null,
        };
        if (inside) section.lower += ` ${around.lower}`;
        else around = section;
        return section;
      });
    });
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
    const titles = Object.values(section.title).map(normal);
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
    const text = texts.find((each) => inPlace(each).search(marks) >= 0) || texts.find(Boolean) || "";
    const at = Math.max(0, inPlace(text).search(marks) - 40);
    const piece = (at ? "…" : "") + text.slice(at, at + 170) + (text.length > at + 170 ? "…" : "");
    const paragraph = document.createElement("p");
    paragraph.lang = text === section.text.zh ? "zh-Hans" : "en";
    let end = 0;
    for (const match of inPlace(piece).matchAll(marks)) {
      if (!match[0]) continue;
      paragraph.append(piece.slice(end, match.index));
      const hit = document.createElement("mark");
      hit.textContent = piece.slice(match.index, match.index + match[0].length);
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

  /* Where all terms stand, the best place first. What is folded away counts only for words that
     its section does not show. */
  function places(wanted, query) {
    const points = new Map(sections.map((section) => [section, score(section, wanted, query)]));
    const found = sections.filter((each) => points.get(each) && !(each.around && points.get(each.around)));
    return found.sort((a, b) => points.get(b) - points.get(a));
  }

  function stands(term) {
    return sections.some((section) => score(section, [term], "") > 0);
  }

  /* What of a term stands in the book: the book's word for it, or its longest part; or nothing. */
  function nearest(term) {
    if (stands(term)) return [term];
    const whole = term.cjk || term.word;
    const other = spellings.words.reduce((text, [theirs, ours]) => text.replaceAll(normal(theirs), normal(ours)), whole);
    if (other !== whole) {
      const own = terms(other);
      if (own.every(stands)) return own;
    }
    for (let length = whole.length - 1; length > (term.cjk ? 0 : Math.max(2, whole.length / 2)); length -= 1) {
      for (let at = 0; at + length <= (term.cjk ? whole.length : length); at += 1) {
        const part = terms(whole.slice(at, at + length));
        if (part.length === 1 && stands(part[0])) return part;
      }
    }
    return [];
  }

  /* The places, and the words that they were found by: others where those of the query stand in no
     place together. */
  function answer(query) {
    const wanted = terms(query);
    const found = places(wanted, query);
    if (found.length) return { found, wanted, by: "" };
    let nearby = wanted.flatMap(nearest);
    nearby = nearby.filter((each, n) => nearby.findIndex((other) => shown(other) === shown(each)) === n);
    for (let count = nearby.length; count; count -= 1) {
      const some = nearby.slice(0, count);
      const others = places(some, "");
      if (others.length) return { found: others, wanted: some, by: some.map(shown).join(" ") };
    }
    return { found: [], wanted, by: "" };
  }

  function shown(term) {
    return term.cjk || term.word;
  }

  function summary(found, by, language) {
    const count = found.length;
    if (!count) return name("没有找到。换一个词试试。", "Nothing found. Try another word.", language);
    const zh = `找到 ${count} 处。`;
    const en = `${count} ${count === 1 ? "place" : "places"} found.`;
    return by ? name(`书里没有这样写。按“${by}”${zh}`, `Not in the book as typed. By “${by}”: ${en}`, language) : name(zh, en, language);
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
    if (!terms(normal(field.value)).length) {
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
    const { found, wanted, by } = answer(normal(field.value.trim()));
    list.replaceChildren(...found.slice(0, MOST).map((section) => item(section, wanted, language)));
    status.textContent = summary(found, by, language);
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
