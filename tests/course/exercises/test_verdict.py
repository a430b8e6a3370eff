import re

import pytest
import torch
from bs4 import BeautifulSoup

from attention_book.course.exercises import Finding, Verdict
from attention_book.course.exercises.verdict import LANGUAGE_VARIABLE, reader_language
from attention_book.foundations import Bilingual, set_language

FAILED = Verdict(
    "double",
    False,
    3,
    law="value",
    statement=Bilingual("结果不对。", "The result is wrong."),
    finding=Finding(
        {"x": torch.tensor([1.0, 2.0])}, torch.tensor([2.0, 4.0]), Bilingual("无", "none")
    ),
    mistake="added",
    hint=Bilingual("`x < 2` 时是乘，不是加。", "For `x < 2` multiply."),
)
PASSED = Verdict("double", True, 3)
ENGLISH = """\
✗ double: not yet. The result is wrong.
Hint: For `x < 2` multiply.
Given x:
    tensor([1., 2.])
Expected:
    tensor([2., 4.])
Got:
    none"""
CHINESE = """\
✗ double：还不对。结果不对。
提示：`x < 2` 时是乘，不是加。
输入 x：
    tensor([1., 2.])
应得：
    tensor([2., 4.])
得到：
    无"""


@pytest.fixture(autouse=True)
def _english(monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "en")
    yield
    set_language(None)


def test_it_is_true_if_the_answer_passed():
    assert PASSED
    assert not FAILED


def test_it_prints_in_english_and_in_chinese():
    assert str(FAILED) == repr(FAILED) == ENGLISH
    set_language("zh")
    assert str(FAILED) == CHINESE


def test_a_pass_says_how_much_was_tried(monkeypatch):
    assert str(PASSED) == "✓ double: correct. It passes all 3 checks."
    monkeypatch.setenv("ATTENTION_BOOK_LANGUAGE", "zh")
    assert str(PASSED) == "✓ double：正确。通过了全部 3 项检查。"


def page(verdict):
    return BeautifulSoup(verdict._repr_html_(), "lxml")


def test_a_notebook_shows_one_language():
    set_language("zh")
    shown = page(FAILED)
    assert "结果不对" in shown.text
    assert "wrong" not in shown.text
    assert not shown.select("[lang]")


def test_the_book_shows_both_languages_each_in_a_span_of_its_own(monkeypatch):
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    shown = page(FAILED)
    for language, code in (("zh", "zh-Hans"), ("en", "en")):
        spans = shown.select(f'.bl.bl-{language}[lang="{code}"]')
        text = "".join(span.text for span in spans)
        assert bool(re.search("[\u4e00-\u9fff]", text)) == (language == "zh")
        assert ("结果不对" in text, "wrong" in text) == (language == "zh", language == "en")
    for span in shown.select(".bl, .bl-sep"):
        span.decompose()
    rest = shown.text.replace("✗", "").replace("double", "")
    assert not re.search("[\u4e00-\u9fff]", rest)
    assert "tensor([2., 4.])" in rest


def test_the_hint_comes_first_and_the_numbers_are_folded_unless_they_are_all_there_is():
    fold = page(FAILED).select_one("details")
    assert fold.summary
    assert "tensor([2., 4.])" in fold.text
    assert "open" not in fold.attrs
    assert "multiply" in fold.find_previous_sibling("p").text
    assert "open" in page(Verdict("double", False, 1, finding=FAILED.finding)).details.attrs
    assert not page(PASSED).select("details")


def test_the_book_follows_a_language_that_was_asked_for(monkeypatch):
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    set_language("en")
    assert "还不对" not in page(FAILED).text


def test_markup_in_texts_is_escaped_and_code_is_code():
    shown = page(FAILED)
    assert "x < 2" in [code.text for code in shown.select("code")]
    assert "`" not in shown.text
    risky = Verdict(
        "double", False, 1, finding=Finding({"x": "<b>"}, "<i>", Bilingual("<u>", "<u>"))
    )
    assert not page(risky).select("b, i, u")


def test_a_large_tensor_is_shown_by_its_shape():
    text = str(Verdict("double", False, 1, finding=Finding({"x": torch.zeros(30, 40)}, 0, 1)))
    assert "(30, 40): tensor([0., 0., 0., 0., 0., 0., 0., 0.] ...)" in text
    assert len(text) < 300


# --- the reader's language ---------------------------------------------------------------------

LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture
def unspoken(monkeypatch):
    """Leave the language to what a test sets."""
    for name in (*LOCALE, LANGUAGE_VARIABLE, "ATTENTION_BOOK_BUILD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("locale.getlocale", lambda: (None, None))
    return monkeypatch


def test_the_argument_wins_over_all(unspoken):
    set_language("zh")
    unspoken.setenv(LANGUAGE_VARIABLE, "zh")
    assert reader_language("en") == "en"


def test_the_notebooks_language_wins_over_the_environment(unspoken):
    set_language("zh")
    unspoken.setenv(LANGUAGE_VARIABLE, "en")
    assert reader_language() == "zh"


def test_the_variable_wins_over_the_locale(unspoken):
    unspoken.setenv(LANGUAGE_VARIABLE, "en")
    unspoken.setenv("LANG", "zh_CN.UTF-8")
    assert reader_language() == "en"


@pytest.mark.parametrize(
    ("name", "language"),
    [("zh_CN.UTF-8", "zh"), ("zh_TW", "zh"), ("de_DE.UTF-8", "en"), ("C", "en"), ("", "en")],
)
@pytest.mark.parametrize("variable", LOCALE)
def test_the_locale_decides_last(unspoken, variable, name, language):
    unspoken.setenv(variable, name)
    assert reader_language() == language


def test_windows_names_its_locale_in_words(unspoken):
    unspoken.setattr("locale.getlocale", lambda: ("Chinese (Simplified)_China", "936"))
    assert reader_language() == "zh"


def test_the_books_build_does_not_depend_on_the_locale(unspoken):
    unspoken.setenv("LANG", "zh_CN.UTF-8")
    unspoken.setenv("ATTENTION_BOOK_BUILD", "1")
    assert reader_language() == "en"


@pytest.mark.parametrize("code", ["zh-CN", "ZH", "zho", "cmn-Hans", "zh_TW.UTF-8", " zh"])
def test_any_code_of_a_language_means_it(unspoken, code):
    """The kind: a code that is none of the two words was refused, or taken for English."""
    assert reader_language(code) == "zh"
    unspoken.setenv(LANGUAGE_VARIABLE, code)
    assert reader_language() == "zh"
    assert reader_language("en_GB") == reader_language("eng") == "en"


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_language_is_refused(unspoken):
    with pytest.raises(ValueError, match="language: expected 'zh' or 'en', got 'de'"):
        reader_language("de")
    unspoken.setenv(LANGUAGE_VARIABLE, "fr")
    with pytest.raises(ValueError, match=f"{LANGUAGE_VARIABLE}: expected 'zh' or 'en', got 'fr'"):
        reader_language()
