"""Text and tokens of the grammar: there and back again."""

import pytest

from attention_book.text.grammar.generate import generate
from attention_book.text.grammar.text import chinese_words, grammar_text, grammar_tokens

SENTENCES = generate(2000, seed=8)


@pytest.mark.parametrize("language", ["en", "fr", "zh"])
def test_text_cuts_back_into_the_tokens_it_came_from(language):
    for sentence in SENTENCES:
        assert grammar_tokens(sentence.text(language), language) == sentence.tokens(language)


def test_chinese_words_are_all_known():
    used = {word for sentence in SENTENCES for word in sentence.chinese}
    assert used - chinese_words() == {"，", "。", "？"}


@pytest.mark.parametrize(
    ("tokens", "language", "text"),
    [
        (("i", "see", "paul", "on", "sunday", "."), "en", "I see Paul on Sunday."),
        (("she", "and", "i", "sing", "."), "en", "She and I sing."),
        (("l'", "homme", "n'", "aime", "pas", "l'", "eau", "."), "fr", "L'homme n'aime pas l'eau."),
        (("est-ce", "qu'", "anna", "dort", "?"), "fr", "Est-ce qu'Anna dort\u202f?"),
        (("aujourd'hui", "il", "dort", "."), "fr", "Aujourd'hui il dort."),
        (("他", "睡觉", "吗", "？"), "zh", "他睡觉吗？"),
        ((), "en", ""),
    ],
)
def test_text_as_people_write_it(tokens, language, text):
    assert grammar_text(tokens, language) == text
    assert grammar_tokens(text, language) == tokens


def test_unknown_words_stay_words():
    assert grammar_tokens("L'éléphant", "fr") == ("l'", "éléphant")
    assert grammar_tokens("女孩喜欢大象", "zh") == ("女孩", "喜欢", "大", "象")
    assert grammar_tokens("女孩 喜欢 大象", "zh") == ("女孩", "喜欢", "大象")


def test_words_of_chinese_are_found_beside_letters_and_digits():
    """The kind: one token of Latin letters made characters of all words around it."""
    for text in ("女孩喜欢Tom的花园。", "女孩喜欢 Tom 的花园。", "女孩喜欢\u3000Tom\u3000的花园。"):
        assert grammar_tokens(text, "cmn") == ("女孩", "喜欢", "tom", "的", "花园", "。")
    assert grammar_tokens("女孩在3楼。 男孩呢？", "zh")[:3] == ("女孩", "在", "3")
    assert grammar_tokens("女孩 读 一 本 书 。", "zh") == ("女孩", "读", "一", "本", "书", "。")


def test_the_grammar_answers_to_every_code_of_its_languages():
    sentence = generate(1, seed=3)[0]
    for code, same in (("eng", "en"), ("FR-ca", "fr"), ("cmn", "zh"), ("zh_Hans", "zh")):
        assert sentence.tokens(code) == sentence.tokens(same)
        assert sentence.text(code) == sentence.text(same)
        assert grammar_tokens(sentence.text(code), code) == sentence.tokens(same)
    assert sentence.pair("eng", "zho") == sentence.pair("en", "zh")
    with pytest.raises(ValueError, match="language: expected one of en, fr, zh, got 'yue'"):
        sentence.tokens("yue")


def test_unknown_languages():
    for function in (grammar_text, grammar_tokens):
        with pytest.raises(ValueError, match="language: expected one of en, fr, zh, got 'de'"):
            function("", "de")
