"""Texts in two languages, and which of the two a reader wants."""

import pytest

from attention_book.foundations.bilingual import SEPARATOR, Bilingual, L, set_language
from attention_book.foundations.languages import (
    LanguageTag,
    language_tag,
    same_language,
    short_code,
    written_as,
)

# --- texts -------------------------------------------------------------------------------------


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


# --- codes of languages ------------------------------------------------------------------------


CODES = {
    "zh": "zh ZH zho chi cmn zh-CN zh_TW zh-Hans zh_Hant-HK zh_CN.UTF-8 zh-cmn-Hans cmn_Hani",
    "en": "en EN eng En-us en_GB.utf8 eng_Latn en_XX en-US-x-mine en-u-ca-iso8601",
    "fr": "fr fra fre fr-CA fr_FR@euro FRA_Latn",
    "de": "de deu ger de-AT de_DE.ISO-8859-1",
    "ja": "ja jpn ja_JP jpn_Jpan",
    "ko": "ko kor ko-KR kor_Hang",
    "pt": "pt por pt-BR pt_br.UTF-8 por_Latn",
    "nl": "nl nld dut",
    "el": "el ell gre",
    "cs": "cs ces cze",
    "fa": "fa fas per pes",
    "my": "my mya bur",
    "bo": "bo bod tib",
    "ro": "ro ron rum mo",
    "he": "he heb iw",
    "es": "es spa es-419",
}


@pytest.mark.parametrize("short", CODES)
def test_every_code_of_a_language_means_it(short: str) -> None:
    for code in CODES[short].split():
        for typed in (code, code.upper(), f"  {code}\t", code.replace("-", "_")):
            assert short_code(typed) == written_as(typed) == short, typed


def test_other_languages_stay_apart() -> None:
    everything = [code for codes in CODES.values() for code in codes.split()]
    assert {short_code(code) for code in everything} == set(CODES)
    for code in ("yue", "zh-yue", "lzh", "hak", "nan"):
        assert not same_language(code, "cmn"), code
    assert len({short_code(code) for code in ("nb", "nn", "no")}) == 3
    assert not same_language("haw", "ha")
    assert not same_language("engl", "en")


@pytest.mark.parametrize("code", ["yue", "zh-yue-HK", "YUE_Hant", "wuu", "lzh", "nan-Hant"])
def test_what_is_written_with_chinese_characters_is_cut_as_chinese(code: str) -> None:
    assert written_as(code) == "zh" != short_code(code)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("zh", "zh-Hant", True),
        ("zh-TW", "cmn-Hant", True),
        ("zh_CN.UTF-8", "zh-Hans", True),
        ("zh_TW", "zh_CN", False),
        ("zho_Hans", "zho_Hant", False),
        ("pt-BR", "pt-PT", True),
        ("sr-Cyrl", "sr-Latn", False),
        ("eng", "en_GB", True),
        ("en", "fr", False),
        ("tlh", "TLH", True),
    ],
)
def test_scripts_tell_apart_where_both_are_named(one: str, other: str, same: bool) -> None:
    assert same_language(one, other) is same_language(other, one) is same


@pytest.mark.parametrize("code", ["", " ", "C", "C.UTF-8", "POSIX", "-", "zh/en", "中文", "xyz"])
def test_what_is_no_code_means_no_language(code: str) -> None:
    assert short_code(code) not in CODES
    assert language_tag(code).script == ""


def test_the_parts_of_a_tag() -> None:
    assert language_tag("ZH_hant_tw.UTF-8@stroke") == LanguageTag("zh", "Hant", "TW")
    assert language_tag("es-419") == LanguageTag("es", "", "419")
    assert language_tag("zh-yue-Hant-HK") == LanguageTag("yue", "Hant", "HK")
