"""No English word is left in a Chinese page except names and code, and the reverse."""

from __future__ import annotations

import re
from typing import Any

import pytest
from parsed import tree

# names, and words that are the same for every reader
NAMES = {
    "English", "EN", "Ctrl", "GitHub", "Colab", "Binder", "Python", "PyTorch", "Keras",
    "attention_book", "Transformer", "D2L", "ipynb", "md", "pdf", "PDF", "JavaScript",
    "Jupyter", "SVG", "SGD", "Adam", "Nadaraya", "Watson", "REINFORCE", "softmax",
    "BLEU", "Bahdanau", "Luong", "general", "ALiBi", "BERT", "GPT", "top",
    "NaN", "float", "bfloat", "chrF", "Tom", "chases", "Jerry", "Epanechnikov", "Llama", "tanh",
    "MLA", "GQA", "NTK", "YaRN", "RoPE", "RMSNorm", "SwiGLU", "GRU", "LSTM",
    "Shaw", "KiB", "Gemma", "Qwen", "gpt", "oss", "GLM", "Air", "DeepSeek",
}  # fmt: skip
#: The words of the worked example, which a translator writes in either language.
WRITTEN = {"汤姆", "追逐", "杰瑞"}
ENGLISH = re.compile(r"[A-Za-z]{2,}(?:_[A-Za-z]+)*")
IDENTIFIER = re.compile(r"\w+(?:\.\w+)+")  # attention_book.attention.masked_softmax
CHINESE = re.compile(r"[\u4e00-\u9fff]+")
WALK = """
language => {
  const skip = "script, style, noscript, pre, code, kbd, samp, .katex, .math, .cell_output," +
    " .citation, .bibtex-citation, .sig, .pasted-text, [data-alt-zh], dl.glossary dt," +
    " [translate=no], .language-toggle button, svg";
  const own = language === "zh" ? ".bl-zh, [lang=en]:not(html)"
    : ".bl-en, [lang=zh-Hans]:not(html)";
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), parent = walker.currentNode.parentElement;
    if (!text || parent.closest(skip) || parent.closest(own)) continue;
    if (!parent.checkVisibility({visibilityProperty: true})) continue;
    found.push(["text", text, parent.outerHTML.slice(0, 120)]);
  }
  const attributes = ["title", "aria-label", "placeholder", "alt", "data-bs-original-title"];
  for (const name of attributes)
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (element.closest(skip.replace(", svg", "")) || element.closest(own)) continue;
      found.push([name, element.getAttribute(name), element.outerHTML.slice(0, 120)]);
    }
  found.push(["window", document.title, ""]);
  return found;
}
"""


def leftovers(page: Any, language: str) -> list[str]:
    """What is written in the other language."""
    troubles = []
    for kind, text, where in page.evaluate(WALK, language):
        text = text.replace("\u2060", "")  # what keeps a line from breaking there
        if language == "zh":
            prose = IDENTIFIER.sub("", text)
            foreign = [word for word in ENGLISH.findall(prose) if word not in NAMES]
        else:
            foreign = [word for word in CHINESE.findall(text) if word not in WRITTEN]
        if foreign:
            troubles.append(f"{kind}: {' '.join(foreign)!r} in {text[:80]!r} ({where})")
    return troubles


@pytest.mark.browser
def test_one_language_on_a_page(laid_out: Any) -> None:
    page = laid_out
    page.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
    page.evaluate(
        "document.querySelectorAll('.folded > .admonition-title button').forEach(b => b.click())"
    )
    troubles = []
    for language in ("en", "zh"):
        page.evaluate(f"document.querySelector('[data-set-language={language}]').click()")
        troubles += leftovers(page, language)
    assert not troubles, "\n" + "\n".join(troubles)


@pytest.mark.browser
def test_the_walk_finds_a_leftover(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}/masks.html?lang=zh")
    page.evaluate(
        "document.querySelector('article').insertAdjacentHTML('beforeend', '<p>left over</p>')"
    )
    page.evaluate("document.querySelector('article').setAttribute('title', 'forgotten')")
    assert [trouble.split(":")[0] for trouble in leftovers(page, "zh")] == ["text", "title"]


@pytest.mark.browser
def test_words_of_the_search_page(page: Any, base_url: str) -> None:
    for language, words in (("zh", "找到"), ("en", "found")):
        page.goto(f"{base_url}/search.html?q=softmax&lang={language}")
        page.wait_for_selector("#search-results li")
        assert words in page.locator("#search-status").inner_text()


def test_one_language_in_figures(site: Any) -> None:
    """Every figure has a description in both languages; a live one is named by a text."""
    for path in site.glob("*.html"):
        page = tree(path)
        for svg in page.xpath("//article//svg[@role='img' and @aria-labelledby]"):
            (name,) = page.xpath(f"//*[@id='{svg.get('aria-labelledby')}']")
            assert name.xpath(".//*[@lang='zh-Hans']"), path
            assert name.xpath(".//*[@lang='en']"), path
        for svg in page.xpath("//article//svg[@role='img' and not(@aria-labelledby)]"):
            assert svg.get("data-alt-zh"), path
            assert svg.get("data-alt-en"), path
