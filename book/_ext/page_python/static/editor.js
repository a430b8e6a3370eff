// A small editor for Python: a textarea, in which the browser's own undo, search and input methods
// work, over the same text with colors. Tab indents, Escape leaves.
(() => {
  "use strict";
  const INDENT = "    ";
  const KEYWORDS = "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
  const BUILTINS = "abs all any bool dict enumerate float int isinstance len list max min print range reversed round set sorted str sum super tuple type zip";
  const TOKEN = new RegExp([
    /(?<c1>#.*)/, /(?<s2>[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
    /(?<mi>\b\d[\w.]*)/, /(?<nf>(?<=\b(?:def|class)\s+)[\p{L}_]\w*)/, /(?<word>[\p{L}_][\p{L}\w]*)/,
  ].map((part) => part.source).join("|"), "gu");
  const keywords = new Set(KEYWORDS.split(" ")), builtins = new Set(BUILTINS.split(" "));
  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

  /** Python as HTML, with the classes that the page's listings have. */
  const colored = (text) => {
    let html = "", at = 0;
    for (const { 0: found, index, groups } of text.matchAll(TOKEN)) {
      let kind = Object.keys(groups).find((name) => groups[name] !== undefined);
      if (kind === "word") kind = keywords.has(found) ? "k" : builtins.has(found) ? "nb" : "";
      html += escaped(text.slice(at, index)) + (kind ? `<span class="${kind}">${escaped(found)}</span>` : escaped(found));
      at = index + found.length;
    }
    return html + escaped(text.slice(at));
  };

  /** Put text in the place of the selection so that it can be undone. */
  const insert = (area, text) =>
    (text ? document.execCommand("insertText", false, text) : document.execCommand("delete"))
    || area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");

  const onKey = (area, run, leave) => (event) => {
    const { selectionStart: start, selectionEnd: stop, value } = area;
    if (event.isComposing) return;
    const first = value.lastIndexOf("\n", start - 1) + 1, before = value.slice(first, start);
    const replace = (text) => { event.preventDefault(); insert(area, text); };
    if (event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
    else if (event.key === "Escape") leave();
    else if (event.key === "Tab" && !event.ctrlKey && !event.altKey && !event.metaKey) {
      if (start === stop && !event.shiftKey) return replace(" ".repeat(4 - (before.length % 4)));
      const block = value.slice(first, stop);
      const moved = event.shiftKey ? block.replace(/^ {1,4}/gm, "") : block.replace(/^(?=.)/gm, INDENT);
      event.preventDefault();
      if (moved === block) return;
      area.setSelectionRange(first, stop);
      insert(area, moved);
      area.setSelectionRange(start === stop ? Math.max(first, start + moved.length - block.length) : first, first + moved.length);
    } else if (event.key === "Enter") {
      let space = before.match(/^ */)[0];
      if (/:\s*(#.*)?$/.test(before)) space += INDENT;
      else if (/^\s*(return|pass|break|continue|raise)\b/.test(before)) space = space.slice(4);
      if (before.startsWith(" ") || space) replace(`\n${space}`);
    } else if (event.key === "Backspace" && start === stop && before && /^ +$/.test(before) && before.length % 4 === 0) {
      area.setSelectionRange(start - 4, start);
      replace("");
    }
  };

  /** An editor in an element: `{ text, area, mark }`; `changed(text)` is called for each change. */
  const editor = (place, text, { label, describe, changed, run, leave }) => {
    place.classList.add("py-editor", "highlight");
    place.innerHTML = `<pre class="py-numbers" aria-hidden="true"></pre><div class="py-text"><pre aria-hidden="true"></pre><textarea spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off" translate="no" wrap="off" rows="1" aria-labelledby="${label}" aria-describedby="${describe}"></textarea></div>`;
    const numbers = place.querySelector(".py-numbers"), shown = place.querySelector(".py-text pre"), area = place.querySelector("textarea");
    const draw = (wrong) => {
      const count = area.value.split("\n").length;
      numbers.innerHTML = Array.from({ length: count }, (_, n) => (n + 1 === wrong ? `<b>${n + 1}</b>` : n + 1)).join("\n");
      shown.innerHTML = `${colored(area.value)}\n`;
    };
    area.value = text;
    area.addEventListener("input", () => { draw(); changed(area.value); });
    area.addEventListener("keydown", onKey(area, run, leave));
    draw();
    return {
      area,
      /** Show which line an error names, until the next change. */
      mark: draw,
      set: (other) => { area.value = other; draw(); },
      /** Put other text in, so that it can be undone. */
      replace: (other) => { area.focus(); area.select(); insert(area, other); },
    };
  };

  Object.assign(window.pagePython ??= {}, { editor, escaped });
})();
