"""The words of the machinery have a translation that can take their place."""

import re

from bilingual.labels import WORDS, BilingualCatalog
from bilingual.marks import pick

CHINESE = re.compile(r"[\u4e00-\u9fff]+")
BLANKS = re.compile(r"%(?:\(\w+\))?s")


def test_every_word_has_its_translation() -> None:
    wrong = [
        english
        for english, chinese in WORDS.items()
        if not CHINESE.search(chinese) or BLANKS.findall(english) != BLANKS.findall(chinese)
    ]
    assert WORDS
    assert not wrong


def test_the_catalog_answers_in_both_languages_or_as_it_was_asked() -> None:
    catalog = BilingualCatalog({**WORDS, "Page source": "源文件"})
    assert pick(catalog.gettext("Note"), "zh") == "注"
    assert pick(catalog.gettext("Note"), "en") == "Note"
    assert pick(catalog.ngettext("Page source", "Sources", 1), "zh") == "源文件"
    assert catalog.gettext("unheard of") == "unheard of"
