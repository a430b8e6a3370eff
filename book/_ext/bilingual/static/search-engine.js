/* Finds the places of a query in the index: pages in the order of what they are about, in groups.

   window.bookIndex.heads: { pages: [[address, kind, [[anchor, title zh, title en, folded, explains], …]], …],
   characters, words, same, silent, about }; .zh, .en, .both: the texts of the same places, in the same order; the
   last (code, formulas) belongs to both languages. What is folded lies within the place before it.

   A query is cut into terms: words that the book knows (the other words for them count too), words of Latin
   letters by their stem, and what is left of a run of Chinese, as a whole or by its pairs of characters. */
window.bookSearchEngine = (function () {
  "use strict";
  const CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff";
  const IS_CJK = new RegExp(`[${CJK}]`);
  const WORD = new RegExp(`(?:(?![${CJK}])[\\p{L}\\p{N}_])+`, "uy");
  const LETTER = `(?:(?![${CJK}])[\\p{L}\\p{N}])`; // Chinese beside it is another word
  const SIGN = /[√∞∑∂∇×≠≤≥]/u;
  const PARTS = /\s*(?:[：:·,，;；?？!！—–()（）、]|\s-\s)\s*/u;
  const TEXTS = ["zh", "en", "both"];
  /* How much a place is worth by its group, and that it is folded away. */
  const WORTH = { chapter: 1.35, page: 1, term: 0.9, reference: 0.6 }, FOLDED = 0.45;
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

  return function engine(index) {
    const { pages, characters, words, same, silent, about } = index.heads;
    const porter = new Stemmer(), stems = new Map();
    const stem = (word) => {
      if (!stems.has(word)) stems.set(word, porter.stemWord(word));
      return stems.get(word);
    };

    /* One form for all widths, cases and scripts: "ＲｏＰＥ" is "rope", "機" is "机". */
    const letters = Array.from(characters), forms = new Map();
    for (let n = 0; n + 1 < letters.length; n += 2) forms.set(letters[n], letters[n + 1]);
    const others = letters.length ? new RegExp(`[${[...forms.keys()].join("")}]`, "gu") : /[^\s\S]/gu;
    const normal = (text) => text.normalize("NFKC").toLowerCase().replace(others, (each) => forms.get(each)).replace(/[‐‑]/g, "-");

    const places = [];
    pages.forEach(([page, kind, heads], number) => {
      let around = null;
      const top = { zh: heads[0][1], en: heads[0][2] };
      heads.forEach(([anchor, zh, en, folded, explains = []], row) => {
        const place = {
          page, kind, number, row, anchor, top, title: { zh, en }, isTop: row === 0, at: places.length, around: folded ? around : null,
          titles: [...new Set([zh, en].flatMap((title) => [title, ...title.split(PARTS)]).concat(row ? [] : about[page] ?? []).map(normal).filter(Boolean))],
          explains: explains.map(normal), text: "", parts: 0,
        };
        if (!folded) around = place;
        places.push(place);
      });
    });

    /* What is there of a place's text, in all parts that have come. */
    function textOf(place) {
      const there = TEXTS.filter((part) => index[part]);
      if (place.parts !== there.length) {
        place.text = normal(there.map((part) => index[part][place.number][place.row]).join(" "));
        place.parts = there.length;
      }
      return place.text;
    }

    // ---- a query ------------------------------------------------------------------------------

    const known = new Map(); // a word of the book, or one that means the same: all that it may be called
    const know = (list) => {
      const all = [...new Set(list.map(normal))];
      for (const each of all) known.set(each, [...new Set([each, ...(known.get(each) ?? []), ...all])]);
    };
    for (const place of places) {
      if (place.kind === "term") place.titles.filter((each) => IS_CJK.test(each) || /[\s-]/.test(each)).forEach((each) => known.has(each) || known.set(each, [each]));
    }
    for (const [theirs, ours] of Object.entries(words)) known.set(normal(theirs), [normal(theirs), normal(ours)]);
    same.forEach(know);
    const nothing = new Set(silent.map(normal));
    const longest = Math.max(1, ...[...known.keys(), ...nothing].map((each) => each.length));
    const isLatin = (letter) => letter !== undefined && /[\p{L}\p{N}_]/u.test(letter) && !IS_CJK.test(letter);

    /* The longest word of a table that stands at a place of a text, whole. */
    function wordAt(text, at, table) {
      for (let length = Math.min(longest, text.length - at); length > 0; length -= 1) {
        const word = text.slice(at, at + length);
        if (!table.has(word)) continue;
        if (isLatin(word[0]) && isLatin(text[at - 1])) continue;
        if (isLatin(word.at(-1)) && isLatin(text[at + length])) continue;
        return word;
      }
      return "";
    }

    function cut(text, leaveOut) {
      const found = [];
      let run = "";
      const end = () => {
        if (run) found.push({ own: run, names: [run], isRun: true });
        run = "";
      };
      for (let at = 0; at < text.length;) {
        const word = wordAt(text, at, known), empty = leaveOut ? wordAt(text, at, nothing) : "";
        if (word && word.length >= empty.length) {
          end();
          found.push({ own: word, names: known.get(word) });
          at += word.length;
        } else if (empty && (isLatin(empty[0]) || empty.length > 1 || !run)) {
          end();
          at += empty.length;
        } else if (IS_CJK.test(text[at])) {
          run += text[at];
          at += 1;
        } else {
          end();
          WORD.lastIndex = at;
          const latin = WORD.exec(text)?.[0] ?? (SIGN.test(text[at]) ? text[at] : "");
          if (latin) found.push({ own: latin, names: [latin] });
          at += latin.length || 1;
        }
      }
      end();
      return found;
    }

    /* The terms of a query: without the words that say nothing, if there are others. */
    function termsOf(query) {
      const text = normal(query).trim();
      let found = cut(text, true);
      if (!found.length) found = cut(text, false);
      const whole = found.filter(({ own, isRun }) => own.length > 1 || !isRun || found.length === 1);
      const once = new Map((whole.length ? whole : found).map((term) => [term.own, { ...term, patterns: term.names.map(patternOf) }]));
      return [...once.values()];
    }

    /* How a word is looked for: Chinese and phrases as they are, a single word by its stem. */
    function patternOf(name) {
      if (IS_CJK.test(name) || SIGN.test(name)) return { name, start: name.split(" ")[0], pattern: new RegExp(escaped(name).replace(/ /g, "\\s?"), "gu") };
      const isWord = /^[\p{L}\p{N}]+$/u.test(name), base = isWord ? stem(name).replace(/i$/, "") : name;
      const open = name.length > 2 ? escaped(base).replace(/[ -]|\\-/g, "[\\s-]") + `${LETTER}*` : escaped(name);
      return { name, stem: isWord ? stem(name) : undefined, start: base.split(/[ -]/)[0], pattern: new RegExp(`(?<!${LETTER})${open}(?!${LETTER})`, "gu") };
    }

    /* How often a term stands in a text; a longer word that begins with it counts half. */
    function count({ name, stem: wanted, start, pattern }, text) {
      let times = 0;
      if (!text.includes(start)) return times;
      for (const [hit] of text.matchAll(pattern)) {
        if (wanted === undefined || hit === name || stem(hit) === wanted) times += 1;
        else if (hit.startsWith(name)) times += 0.5;
      }
      return times;
    }

    /* How well a title is this term: 1 if it is nothing else. */
    function fit(term, titles) {
      let best = 0;
      term.patterns.forEach((each, n) => {
        for (const title of titles) {
          if (best === 1 || !count(each, title)) continue;
          best = Math.max(best, (n ? 0.95 : 1) * (title === each.name ? 1 : 0.45 + 0.5 * Math.min(each.name.length / title.length, 1)));
        }
      });
      return best;
    }

    function timesIn(term, text) {
      return text ? Math.max(...term.patterns.map((each) => count(each, text))) : 0;
    }

    /* How much of a run of Chinese is there by its pairs: the fallback where it is nowhere as a whole. */
    function pairs(run, text) {
      if (run.length < 3) return 0;
      let there = 0;
      for (let n = 0; n + 1 < run.length; n += 1) if (text.includes(run.slice(n, n + 2))) there += 1;
      return there / (run.length - 1);
    }

    // ---- places -------------------------------------------------------------------------------

    function score(terms, byPairs) {
      const N = places.length, facts = places.map(() => []), common = [];
      terms.forEach((term, t) => {
        let having = 0;
        places.forEach((place, n) => {
          const text = textOf(place);
          const title = fit(term, place.titles), explains = place.explains.length ? fit(term, place.explains) : 0;
          let times = timesIn(term, text);
          if (!times && byPairs && term.isRun) {
            const share = pairs(term.own, `${place.titles[0]} ${text}`);
            if (share >= 0.6) times = share / 2;
          }
          if (title || times) having += 1;
          facts[n][t] = { title, explains: title || times ? explains : 0, times };
        });
        common[t] = Math.log(1 + N / (1 + having));
      });
      return places.map((place, n) => {
        let points = 0, there = 0;
        terms.forEach((term, t) => {
          const { title, explains, times } = facts[n][t], around = place.around && facts[place.around.at][t];
          const inside = around && !title && !times ? around.times : times;
          if (!title && !inside) return;
          there += 1;
          points += common[t] * (title * (place.isTop ? 9 : 6) + (explains > 0.9 ? 4 : 0) + (3 * inside) / (inside + 3));
        });
        return { place, points, there };
      });
    }

    /* Pages, the best first; of each its best places. What is folded counts where the text around it does not
       have all of the terms. */
    function ranked(terms, needed, byPairs) {
      const scored = score(terms, byPairs), groups = new Map();
      for (const { place, points, there } of scored) {
        if (there < needed) continue;
        if (place.around && scored[place.around.at].there >= needed) continue;
        const key = place.kind === "chapter" || place.kind === "page" ? place.page : `${place.page}#${place.anchor}`;
        if (!groups.has(key)) groups.set(key, { kind: place.kind, page: place.page, found: [], number: place.number });
        groups.get(key).found.push({ place, points: points * (place.around ? FOLDED : 1) });
      }
      const results = [...groups.values()];
      for (const result of results) {
        result.found.sort((a, b) => b.points - a.points);
        const [best] = result.found, size = pages[result.number][2].length;
        const about = Math.min(result.found.length / Math.sqrt(size), 3);
        const exact = terms.length === 1 && best.place.titles.includes(terms[0].own) ? 1.25 : 1;
        result.points = (best.points * exact + (result.kind === "chapter" ? about * 2 : 0)) * WORTH[result.kind];
      }
      return results.sort((a, b) => b.points - a.points || a.number - b.number);
    }

    /* The whole answer: results, terms, and by which words they were found if not by all of the query. */
    function answer(query) {
      const terms = termsOf(query), none = { results: [], terms, by: "" };
      const found = (some, needed, byPairs) => {
        const results = some.length ? ranked(some, needed, byPairs) : [];
        return results.length ? { results, terms: some, by: some === terms && !byPairs ? "" : some.map(({ own }) => own).join(" ") } : null;
      };
      const whole = found(terms, terms.length, false);
      if (whole || !terms.length) return whole ?? none;
      /* What stands in the book, or most of it does; else pairs of characters; else any part. */
      const near = distinct(terms.flatMap((term) => (stands(term) ? [term] : nearest(term, term.own.length / 2))));
      const some = near.length ? near : distinct(terms.flatMap((term) => nearest(term, 1)));
      const byPairs = near.length ? null : found(terms, terms.length, true);
      if (byPairs) return byPairs;
      for (let needed = some.length; needed > 0; needed -= 1) {
        const best = found(some.slice(0, needed), needed, false);
        if (best) return best;
      }
      return none;
    }

    const distinct = (terms) => terms.filter((term, n) => terms.findIndex((other) => other.own === term.own) === n);
    const stands = (term) => places.some((place) => fit(term, place.titles) || timesIn(term, textOf(place)));

    /* The longest part of a term that stands in the book, if it is longer than that. */
    function nearest(term, shortest) {
      const whole = term.own, isCjk = IS_CJK.test(whole);
      for (let length = whole.length - 1; length > (isCjk ? shortest : Math.max(2, whole.length / 2)); length -= 1) {
        for (let at = 0; at + length <= (isCjk ? whole.length : length); at += 1) {
          const part = termsOf(whole.slice(at, at + length));
          if (part.length === 1 && part[0].own.length === length && stands(part[0])) return part;
        }
      }
      return [];
    }

    return { answer, termsOf, normal, places: places.length };
  };
})();
