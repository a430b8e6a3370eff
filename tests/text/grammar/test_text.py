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


def test_unknown_languages():
    for function in (grammar_text, grammar_tokens):
        with pytest.raises(ValueError, match="language: expected one of en, fr, zh, got 'de'"):
            function("", "de")
