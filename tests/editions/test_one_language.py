"""A page in one language: what paper and EPUB are made of."""

from pathlib import Path

import pytest
from lxml import html
from pages.book import Book
from pages.one_language import in_one_language

GLOSSARY = """<article><dl class="glossary">
<dt data-pinyin="xiao1 rong2">消融</dt><dt>ablation</dt><dd>1</dd>
<dt data-pinyin="gong1 yong4">共用</dt><dt>shared</dt><dt>tied</dt><dd>2</dd>
<dt data-pinyin="beam">beam</dt><dd>3</dd>
</dl></article>"""


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("zh", ["beam", "3", "共用", "shared", "tied", "2", "消融", "ablation", "1"]),
        ("en", ["消融", "ablation", "1", "共用", "shared", "tied", "2", "beam", "3"]),
    ],
)
def test_a_glossary_is_in_the_order_of_the_language(language: str, texts: list[str]) -> None:
    article = in_one_language(html.fragment_fromstring(GLOSSARY), book(language))
    assert [part.text for part in article[0]] == texts
    assert not article.xpath(".//@data-pinyin")


def book(language: str) -> Book:
    return Book(Path(), "https://book.org", language, [])
