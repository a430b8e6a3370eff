import re
from itertools import chain
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

import attention_book.plotting.style as style
from attention_book.foundations.bilingual import SEPARATOR, Bilingual, L, set_language

ROOT = Path(__file__).parents[2]
CALL = re.compile(r"""\bL\(\s*f?(["'])(.*?)\1\s*,\s*f?(["'])(.*?)\3""", re.S)


def test_each_language_has_its_text():
    key = Bilingual("键", "Key")
    assert (key.text("zh"), key.text("en")) == ("键", "Key")


def test_a_sentence_may_hold_what_a_label_may_not():
    sentence = Bilingual("第一行\n要 $5", "line one\ncosts $5")
    assert sentence.text("en").endswith("$5")
    with pytest.raises(ValueError, match="formula"):
        sentence.label()


def test_equal_texts_are_equal_whatever_language_is_fixed():
    before = Bilingual("键", "Key")
    set_language("en")
    assert before == Bilingual("键", "Key")


def test_both_texts_can_be_told_apart_again():
    assert L("注意力权重", "Attention weights").split(SEPARATOR) == [
        "注意力权重",
        "Attention weights",
    ]


@pytest.mark.parametrize(("language", "text"), [("zh", "键"), ("en", "Key")])
def test_a_fixed_language_gives_that_text_alone(language, text):
    set_language(language)
    assert L("键", "Key") == text
    set_language(None)
    assert L("键", "Key") == "键" + SEPARATOR + "Key"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("language", ["de", "zh/en", "", 1])
def test_an_unknown_language_is_refused(language):
    with pytest.raises(ValueError, match=r"language must be 'zh', 'en' or None, got"):
        set_language(language)
    with pytest.raises(ValueError, match="language: expected 'zh' or 'en', got"):
        Bilingual("键", "Key").text(language)


@pytest.mark.parametrize("code", ["ZH", "zh-CN", "zh_TW.UTF-8", "zho", "cmn-Hans", " zh "])
def test_any_code_of_a_language_chooses_its_text(code):
    """The kind: a code that is none of the two words was English, or refused."""
    set_language(code)
    assert L("键", "Key") == Bilingual("键", "Key").text(code) == "键"
    set_language("en_US.UTF-8")
    assert L("键", "Key") == Bilingual("键", "Key").text("eng") == "Key"


@pytest.mark.parametrize(
    ("zh", "en", "named"),
    [
        ("$d_k$", "size", r"a formula"),
        ("大小", "$d_k$", r"a formula"),
        ("两\n行", "two lines", "line break"),
        ("键", f"a{SEPARATOR}b", r"U\+2009"),
        ("", "Key", "got an empty one"),
        ("键", " ", "got an empty one"),
    ],
)
def test_a_text_that_cannot_be_split_is_refused(zh, en, named):
    with pytest.raises(ValueError, match=named):
        L(zh, en)


def test_a_fixed_language_does_not_hide_a_wrong_label():
    set_language("en")
    with pytest.raises(ValueError, match="a formula"):
        L("$d_k$", "size")


def test_the_font_has_every_character_of_every_label_in_the_book():
    sources = chain(ROOT.glob("book/*.md"), ROOT.glob("src/**/*.py"))
    used = {
        (character, path.name)
        for path in sources
        for match in CALL.finditer(path.read_text(encoding="utf8"))
        for character in match[2] + match[4]
    }
    font = TTFont(ROOT / "src/attention_book/plotting/fonts" / style.FONT_FILE)
    assert used, "no label found: does the pattern still fit the calls?"
    assert {place for place in used if ord(place[0]) not in font.getBestCmap()} == set()
