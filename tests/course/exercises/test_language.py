import pytest

from attention_book.course.exercises.language import LANGUAGE_VARIABLE, reader_language
from attention_book.foundations import set_language

LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture(autouse=True)
def _no_language_chosen(monkeypatch):
    for name in (*LOCALE, LANGUAGE_VARIABLE, "ATTENTION_BOOK_BUILD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("locale.getlocale", lambda: (None, None))
    yield
    set_language(None)


def test_the_argument_wins_over_all(monkeypatch):
    set_language("zh")
    monkeypatch.setenv(LANGUAGE_VARIABLE, "zh")
    assert reader_language("en") == "en"


def test_the_notebooks_language_wins_over_the_environment(monkeypatch):
    set_language("zh")
    monkeypatch.setenv(LANGUAGE_VARIABLE, "en")
    assert reader_language() == "zh"


def test_the_variable_wins_over_the_locale(monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "en")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert reader_language() == "en"


@pytest.mark.parametrize(
    ("name", "language"),
    [("zh_CN.UTF-8", "zh"), ("zh_TW", "zh"), ("de_DE.UTF-8", "en"), ("C", "en"), ("", "en")],
)
@pytest.mark.parametrize("variable", LOCALE)
def test_the_locale_decides_last(monkeypatch, variable, name, language):
    monkeypatch.setenv(variable, name)
    assert reader_language() == language


def test_windows_names_its_locale_in_words(monkeypatch):
    monkeypatch.setattr("locale.getlocale", lambda: ("Chinese (Simplified)_China", "936"))
    assert reader_language() == "zh"


def test_the_books_build_does_not_depend_on_the_locale(monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    assert reader_language() == "en"


@pytest.mark.parametrize("code", ["zh-CN", "ZH", "zho", "cmn-Hans", "zh_TW.UTF-8", " zh"])
def test_any_code_of_a_language_means_it(monkeypatch, code):
    """The kind: a code that is none of the two words was refused, or taken for English."""
    assert reader_language(code) == "zh"
    monkeypatch.setenv(LANGUAGE_VARIABLE, code)
    assert reader_language() == "zh"
    assert reader_language("en_GB") == reader_language("eng") == "en"


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_language_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="language: expected 'zh' or 'en', got 'de'"):
        reader_language("de")
    monkeypatch.setenv(LANGUAGE_VARIABLE, "fr")
    with pytest.raises(ValueError, match=f"{LANGUAGE_VARIABLE}: expected 'zh' or 'en', got 'fr'"):
        reader_language()
