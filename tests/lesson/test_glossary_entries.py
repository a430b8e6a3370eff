"""A glossary's entries: found by the search, and linked with the section that introduces each."""

from typing import Any

import pytest
import search_parts
from lesson.glossary_filter import pinyin
from lxml import html
from tiny_lesson import make_project

GLOSSARY = """# {zh}`术语表` {en}`Glossary`

```{glossary}
键值缓存
KV cache
  {zh}`留着的键和值。`
  {en}`Keys and values that are kept.`

softmax
  {zh}`指数，再除以和。`
  {en}`Exponentials, divided by their sum.`

头
head
  {zh}`一份注意力。`
  {en}`One share of attention.`

练手
drill
  {zh}`只在练习里。`
  {en}`In exercises alone.`

没人用
unused
  {zh}`没有哪一章用它。`
  {en}`No chapter uses it.`
```
"""
INDEX = """# {zh}`书` {en}`Book`

A first look at {term}`softmax`.

```{toctree}
:numbered:
one
two
```

```{toctree}
glossary
```
"""
ONE = """# {zh}`第一章` {en}`Chapter one`

## {zh}`指数` {en}`Powers`

The {term}`softmax` first.

## {zh}`练习` {en}`Exercises`

Draw a {term}`head`, and {term}`drill`.
"""
TWO = """# {zh}`第二章` {en}`Chapter two`

## {zh}`缓存` {en}`A cache`

The {term}`KV cache` and {term}`Softmax <softmax>` again.

## {zh}`头` {en}`Heads`

A {term}`head`.
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a built project with two chapters and a glossary."""
    made = make_project(tmp_path_factory.mktemp("glossary"))
    made.write(index=INDEX, one=ONE, two=TWO, glossary=GLOSSARY)
    made.build()
    return made


def entry(project: Any, anchor: str) -> Any:
    """Return the definition below the term with this anchor."""
    page = html.fromstring(project.page("glossary"))
    (found,) = page.xpath(f'//dt[@id="{anchor}"]/following-sibling::dd[1]')
    return found


def introductions(project: Any, anchor: str) -> list[str]:
    return [
        link.get("href")
        for link in entry(project, anchor).xpath('.//p[@class="glossary-introduced"]//a')
    ]


def test_an_entry_leads_to_the_first_chapter_that_links_to_it(project: Any) -> None:
    assert introductions(project, "term-KV-cache") == ["two.html#a-cache"]


def test_exercises_introduce_only_what_no_other_section_names(project: Any) -> None:
    assert introductions(project, "term-head") == ["two.html#heads"]
    assert introductions(project, "term-drill") == ["one.html#exercises"]


def test_a_page_without_a_number_introduces_nothing(project: Any) -> None:
    assert introductions(project, "term-softmax") == ["one.html#powers"]


def test_an_unused_entry_leads_nowhere(project: Any) -> None:
    assert introductions(project, "term-unused") == []


def test_each_entry_is_a_result_of_the_search_in_both_languages(project: Any) -> None:
    places = search_parts.whole(project.html)["glossary.html"]
    found = {fields[0]: fields for fields in places}
    (cache,) = (fields for fields in found.values() if fields[1] == "键值缓存")
    assert cache[2] == "KV cache"
    assert "留着的键和值" in cache[3]
    assert "Keys and values that are kept" in cache[4]
    anchors = html.fromstring(project.page("glossary")).xpath("//dt/@id")
    assert cache[0] in anchors
    assert {fields[2] for fields in found.values()} >= {"softmax", "unused"}


def test_the_link_follows_a_term_that_moves(tmp_path: Any) -> None:
    project = make_project(tmp_path)
    project.write(index=INDEX, one=ONE, two=TWO, glossary=GLOSSARY)
    project.build()
    project.write(one=ONE.replace("first.", "first, and the {term}`KV cache`."))
    project.build()
    assert introductions(project, "term-KV-cache") == ["one.html#powers"]


def test_the_first_term_of_an_entry_is_spelled_in_pinyin(project: Any) -> None:
    page = html.fromstring(project.page("glossary"))
    found = page.xpath("//dl[contains(@class, 'glossary')]/dt/@data-pinyin")
    assert found == [
        "jian4 zhi2 huan3 cun2", "softmax", "tou2", "lian4 shou3", "mei2 ren2 yong4"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("term", "spelled"),
    [
        ("重置门", "chong2 zhi4 men2"),
        ("低秩微调", "di1 zhi4 wei1 tiao2"),
        ("长度惩罚", "chang2 du4 cheng2 fa2"),
        ("对齐错误率", "dui4 qi2 cuo4 wu4 lv4"),
        ("更新门", "geng1 xin1 men2"),
        ("QK 电路与 OV 电路", "qk dian4 lu4 yu3 ov dian4 lu4"),
    ],
)
def test_signs_that_are_read_in_several_ways(term: str, spelled: str) -> None:
    assert pinyin(term) == spelled
