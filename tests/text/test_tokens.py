"""Splitting by the declared rule: nothing but blanks is lost, and readable text splits alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.text import detokenize, tokenize, tokens
from attention_book.text.tokens import marks_words

EUROPEAN = st.sampled_from(["en", "fr", "de"])
LANGUAGES = st.sampled_from(["en", "fr", "de", "zh"])
TEXTS = st.text(
    st.one_of(
        st.sampled_from("abÉç'’-19.,!?;:…«»\"“„() \u00a0\u202f\u2009\t欢迎。！？，々🎉"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


def d2l(text):
    """The splitting of the D2L chapter, as its text describes it: marks get a blank before."""
    spaced = "".join(f" {c}" if c in ",.!?" else c for c in text.lower())
    return tuple(spaced.replace("\u202f", " ").replace("\u00a0", " ").split())


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ("Go.", "en", ["go", "."]),
        ("I lost.", "en", ["i", "lost", "."]),
        ("He's calm.", "en", ["he's", "calm", "."]),
        ("Wait, what?!", "en", ["wait", ",", "what", "?", "!"]),
        ('He said: "Go on..."', "en", ["he", "said", ":", '"', "go", "on", ".", ".", ".", '"']),
        (
            "It cost 1,250.50 (at 10:30).",
            "en",
            ["it", "cost", "1,250.50", "(", "at", "10:30", ")", "."],
        ),
        ("In 1999.", "en", ["in", "1999", "."]),
        ("J’ai\u00a0froid\u202f!", "fr", ["j'ai", "froid", "!"]),
        ("Recule\u2009!", "fr", ["recule", "!"]),
        ("«\u00a0Où est-il\u202f?\u00a0»", "fr", ["«", "où", "est-il", "?", "»"]),
        ("C'e\u0301tait l'e\u0301te\u0301.", "fr", ["c'était", "l'été", "."]),
        ("„Große Männer“; weiß…", "de", ["„", "große", "männer", "“", ";", "weiß", "…"]),
        ("欢迎来北京。", "zh", list("欢迎来北京。")),
        ("欢迎 来 北京 。", "zh", ["欢迎", "来", "北京", "。"]),
        ("欢迎 来 北京。", "zh", ["欢迎", "来", "北京", "。"]),
        ("你好，Tom 1号！", "zh", ["你", "好", "，", "tom", "1", "号", "！"]),
        ("我叫Tom Smith。", "zh", ["我", "叫", "tom", "smith", "。"]),
        ("汤姆 追逐 杰瑞", "zh", ["汤姆", "追逐", "杰瑞"]),
        ("3.5元、人人，时时々", "zh", ["3.5", *"元、人人，时时々"]),
        ("  \u202f ", "fr", []),
        ("", "zh", []),
        ("a\u200bb\u00adc\ufeff", "en", ["abc"]),
    ],
)
def test_the_declared_rule(text, language, tokens):
    assert tokenize(text, language) == tuple(tokens)


WORDS = st.text(st.sampled_from("abcéÀ'-7"), min_size=1, max_size=5)
ENDS = st.sampled_from([" ", "\u00a0", ". ", ", ", " ! ", "\u202f? ", "... ", "?! "])


@given(st.lists(st.builds(str.__add__, WORDS, ENDS), max_size=8).map("".join), EUROPEAN)
def test_plain_sentences_are_split_as_d2l_splits_them(text, language):
    assert tokenize(text, language) == d2l(text)


@given(TEXTS, LANGUAGES)
def test_nothing_but_blanks_and_case_is_lost(text, language):
    plain = unicodedata.normalize("NFC", text.lower()).replace("’", "'")
    kept = [c for c in plain if not c.isspace() and c not in "\u00ad\u200b\ufeff"]
    joined = "".join(tokenize(text, language)).replace("’", "'")
    assert unicodedata.normalize("NFC", joined) == unicodedata.normalize("NFC", "".join(kept))


@given(TEXTS, LANGUAGES)
def test_no_token_is_empty_or_holds_a_blank(text, language):
    for token in tokenize(text, language):
        assert token
        assert not any(c.isspace() for c in token)


@given(TEXTS, EUROPEAN)
def test_tokens_written_as_text_split_into_the_same_tokens(text, language):
    tokens = tokenize(text, language)
    assert tokenize(detokenize(tokens, language), language) == tokens
    assert tokenize(" ".join(tokens), language) == tokens


@given(st.lists(st.sampled_from([*"欢迎来北京。！？，、", "tom", "jerry", "3.5"])))
def test_chinese_characters_written_as_text_split_into_the_same_tokens(tokens):
    assert tokenize(detokenize(tokens, "zh"), "zh") == tuple(tokens)


@given(st.lists(st.sampled_from(["欢迎", "来", "北京", "tom", "。", "t恤"]), min_size=2))
def test_chinese_words_are_where_the_blanks_say(tokens):
    text = " ".join([*tokens, "。"])
    assert tokenize(text, "zh") == (*tokens, "。")


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("我用 Python 写代码。", "我用Python写代码。"),
        ("你好。 再见。", "你好。再见。"),
        ("他今年 18 岁， 住在 3 楼。", "他今年18岁，住在3楼。"),
        ("iPhone 15 Pro 发布了！ 你买吗？", "iPhone 15 Pro发布了！你买吗？"),
        ("《红楼梦》 是曹雪芹写的。", "《红楼梦》是曹雪芹写的。"),
        ("（见第 3 章） 以及 Table 2。", "（见第3章）以及Table 2。"),
        ("我用\u3000Python\u3000写代码。", "我用Python写代码。"),
        ("\u3000\u3000春眠不觉晓\u3000处处闻啼鸟。", "春眠不觉晓处处闻啼鸟。"),
        ("重\u00a0100\u202f公斤\u2009左右。", "重100公斤左右。"),
        ("他说：“好的。” 然后走了。", "他说：“好的。”然后走了。"),
        ('他说 "OK" 就走了。', '他说"OK"就走了。'),
        ("C++ 很难 (真的) 。", "C++很难(真的)。"),
        ("東京は 2020 年に。 とても Good です。", "東京は2020年に。とてもGoodです。"),
        ("我爱 K-POP 和 한국 음악", "我爱K-POP和한국 음악"),
    ],
)
def test_blanks_of_typography_make_no_words_of_chinese(typed, plain):
    """The kind: any blank beside a Chinese character made "words" of whole clauses.

    Beside Latin letters and digits, behind marks, full-width and no-break blanks: none of them
    says where words end, and half of what people write has them.
    """
    assert tokenize(typed, "zh") == tokenize(plain, "zh")
    longest = max(len(token) for token in tokenize(typed, "zh") if not token[0].isascii())
    assert longest <= 2  # 한국, which has blanks of its own


@given(TEXTS)
def test_chinese_as_people_type_it_written_as_text_splits_into_the_same_tokens(text):
    tokens = tokenize(text, "zh")
    if not marks_words(text):
        assert tokenize(detokenize(tokens, "zh"), "zh") == tokens


@given(
    st.lists(
        st.sampled_from(
            [*"欢迎来北京。！？，、；：（）《》“”…こカ々", "tom", "k-pop", "3.5", "한국", ",", "("]
        ),
        max_size=12,
    ),
    st.sampled_from(["zh", "cmn", "yue-Hant", "zh_CN.UTF-8", "ZHO"]),
)
def test_any_tokens_of_chinese_written_as_text_split_into_the_same_tokens(tokens, code):
    assert tokenize(detokenize(tokens, code), code) == tuple(tokens)


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("en eng ENG en-GB en_US.UTF-8", "He’s calm (3.5)!"),
        ("fr fra fre fr-CA FR_fr@euro", "Ça va ? « Oui ! »"),
        ("de deu ger de-AT", "„Geh“, sagte er."),
        ("zh zho chi cmn yue zh-Hans zh-Hant-TW zh_TW ZH zh_CN.UTF-8 lzh wuu", "我用 Go 写。"),
    ],
)
def test_every_code_of_a_language_has_its_rules(codes, text):
    first, *others = codes.split()
    tokens = tokenize(text, first)
    for code in (*others, f" {first} "):
        assert tokenize(text, code) == tokens, code
        assert detokenize(tokens, code) == detokenize(tokens, first), code


@pytest.mark.parametrize("code", ["it", "jpn", "enx", "", "english", "z h", "C.UTF-8"])
def test_a_language_without_rules_is_one_clear_error(code):
    for call in (tokenize, lambda text, code: detokenize(text.split(), code)):
        with pytest.raises(ValueError, match=rf"language: expected one of .*, got '{code}'"):
            call("a b", code)


@pytest.mark.parametrize(
    ("tokens", "language", "text"),
    [
        (["he's", "calm", "."], "en", "He's calm."),
        (["(", "no", ")", "she", "said", ",", '"', "go", '"', "!"], "en", '(No) she said, "go"!'),
        (["où", "est", "-", "il", "?"], "fr", "Où est - il\u202f?"),
        (["oui", ":", "«", "va", "!", "»"], "fr", "Oui\u00a0: «\u00a0va\u202f!\u00a0»"),
        (["fin", ",", "enfin", "."], "fr", "Fin, enfin."),
        (["er", ":", "„", "geh", "“", "!"], "de", "Er: „geh“!"),
        (["“", "go", "”", "."], "en", "“Go”."),
        (["欢迎", "来", "北京", "。"], "zh", "欢迎来北京。"),
        (["tom", "smith", "追逐", "jerry", "！"], "zh", "tom smith追逐jerry！"),
        ([], "en", ""),
    ],
)
def test_text_reads_as_its_language_is_written(tokens, language, text):
    assert detokenize(tokens, language) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("欢迎 来 北京 。", "欢迎来北京。"),
        ("我 用  Python 和 C++ 。", "我用Python和C++。"),
        ("Tom and Mary", "Tom and Mary"),
        ("《 Tom and Mary 》", "《Tom and Mary》"),
        ("", ""),
    ],
)
def test_chinese_needs_no_blanks(text, expected):
    assert tokens.without_blanks(text) == expected
