"""The glossary: in pinyin's order on a Chinese page, and a field that finds what one types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from parsed import tree
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

ENTRIES = """() => {
  const all = [...document.querySelectorAll("dl.glossary > *")], found = [];
  for (const part of all.filter((each) => each.tagName === "DT")) {
    const name = [...part.childNodes].filter((each) => each.className !== "headerlink");
    const text = name.map((each) => each.textContent).join("").trim();
    if (part.previousElementSibling?.tagName === "DT") found.at(-1).push(text);
    else found.push([text]);
    if (!part.getClientRects().length) found.at(-1).hidden = true;
  }
  return found.filter((each) => !each.hidden);
}"""


def shown(page: Any) -> list[list[str]]:
    """The names of the entries that one sees, in their order."""
    found: list[list[str]] = page.evaluate(ENTRIES)
    return found


def typed(page: Any, text: str) -> set[str]:
    """The names of all entries that the field leaves."""
    page.locator(".glossary-filter input").fill(text)
    return {name for entry in shown(page) for name in entry}


@pytest.fixture(params=["served", "folder"])
def glossary(request: Any, page: Any, base_url: str, site: Path) -> Any:
    """The page in Chinese, from a server and from a folder."""
    root = base_url if request.param == "served" else site.as_uri()
    page.goto(f"{root}/glossary.html?lang=zh")
    return page


def test_the_order_is_that_of_the_language(tab_page: Any, base_url: str, site: Path) -> None:
    written = tree(site / "glossary.html").xpath(
        "//dl[contains(@class, 'glossary')]/dt[not(preceding-sibling::*[1][self::dt])]"
    )
    spelled = {term.get("id"): term.get("data-pinyin") for term in written}
    first = """[...document.querySelectorAll("dl.glossary > dt[data-pinyin]")].map(e => e.id)"""
    tab_page.goto(f"{base_url}/glossary.html?lang=zh")
    chinese = tab_page.evaluate(first)
    assert chinese == sorted(spelled, key=lambda term: spelled[term])
    assert chinese != list(spelled)
    names = [entry[0] for entry in shown(tab_page)]
    assert names.index("长度惩罚") < names.index("低秩微调") < names.index("注意力")
    tab_page.locator("[data-set-language=en]").click()
    assert tab_page.evaluate(first) == list(spelled)
    english = [[name for name in entry if name.isascii()] for entry in shown(tab_page)]
    heads = [entry[0].casefold() for entry in english if entry]
    assert heads.index("ablation") < heads.index("masked diffusion") < heads.index("word alignment")


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        ("掩码", "因果掩码", "注意力"),
        ("掩码 扩散", "掩码扩散", "掩码"),
        ("yanmakuosan", "掩码扩散", "掩码"),
        ("yan ma kuo", "掩码扩散", "掩码"),
        ("ymks", "掩码扩散", "掩码"),
        ("zhuyili", "多头注意力", "掩码"),
        ("ZYL", "注意力", "掩码"),
        ("chongzhi", "重置门", "注意力"),
        ("zhongzhi", "", "重置门"),
        ("cuowulü", "对齐错误率", "注意力"),
        ("cuowulv", "对齐错误率", "注意力"),
        ("Multi head", "多头注意力", "归纳头"),
        ("multi-head", "多头注意力", "归纳头"),
        ("ＢＬＥＵ", "BLEU", "注意力"),
    ],
)
def test_entries_are_found_as_one_types(
    tab_page: Any, base_url: str, text: str, found: str, not_found: str
) -> None:
    tab_page.goto(f"{base_url}/glossary.html?lang=zh")
    names = typed(tab_page, text)
    assert not found or any(found in name for name in names), names
    assert not_found not in names


def test_the_field_says_how_many_and_gives_all_back(glossary: Any) -> None:
    everything = shown(glossary)
    told = glossary.locator(".glossary-filter [role=status]")
    names = typed(glossary, "掩码")
    assert "掩码" in names
    assert f"{len(shown(glossary))} 条" in told.inner_text()
    assert typed(glossary, "qwxz") == set()
    expect(told).to_contain_text("没有这样的词条")
    glossary.locator("[data-set-language=en]").click()
    expect(told).to_contain_text("no such entry")
    glossary.locator("[data-set-language=zh]").click()
    glossary.locator(".glossary-filter input").press("Enter")  # nothing is sent
    assert "glossary.html" in glossary.url
    typed(glossary, "")
    assert shown(glossary) == everything
    expect(told).to_have_text("")


def test_english_letters_are_not_read_as_pinyin_on_an_english_page(
    tab_page: Any, base_url: str
) -> None:
    tab_page.goto(f"{base_url}/glossary.html?lang=en")
    assert "attention" in typed(tab_page, "att")
    assert typed(tab_page, "zhuyili") == set()


def test_a_link_to_an_entry_that_is_not_shown_shows_it(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}/glossary.html?lang=en")
    typed(page, "softmax")
    page.evaluate("location.hash = '#term-ablation'")
    expect(page.locator("[id='term-ablation']")).to_be_in_viewport()
    expect(page.locator(".glossary-filter input")).to_have_value("")


def test_without_scripts_the_list_is_whole(
    browser: Any, base_url: str, watch: Any, site: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = watch(context.new_page())
    page.goto(f"{base_url}/glossary.html")
    terms = len(tree(site / "glossary.html").xpath("//dl[contains(@class, 'glossary')]/dt"))
    assert page.locator("dl.glossary > dt").count() == terms
    expect(page.locator("dl.glossary > dt").last).to_be_visible()
    expect(page.locator(".glossary-filter")).to_be_hidden()
    context.close()
