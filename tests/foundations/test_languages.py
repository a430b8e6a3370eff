"""Codes of languages: whichever a person writes, the same language is meant, and no other.

The kind: one language under many names (ISO 639-1, 639-2/B and /T, 639-3, BCP 47, POSIX), compared
as strings. What means another language or another script stays apart.
"""

import pytest

from attention_book.foundations.languages import (
    LanguageTag,
    language_tag,
    same_language,
    short_code,
    written_as,
)

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
