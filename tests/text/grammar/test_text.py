"""Text and tokens of the grammar, there and back; what it says is grammatical."""

from random import Random

import pytest

from attention_book.text import is_grammatical
from attention_book.text.grammar.corpus import generate
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


DRAWN = [sentence.english for sentence in generate(2000, seed=11)]


def test_every_sentence_of_the_grammar_is_grammatical() -> None:
    assert [" ".join(s) for s in DRAWN if not is_grammatical(s)] == []


def broken(how: str) -> list[tuple[str, ...]]:
    """Every sentence with one accident that is all but sure to break it."""
    dice, found = Random(5), []
    for sentence in DRAWN:
        tokens = list(sentence)
        place = dice.randrange(len(tokens) - 1)
        match how:
            case "swapped":
                tokens[place : place + 2] = reversed(tokens[place : place + 2])
            case "reversed":
                tokens.reverse()
            case "doubled":
                tokens.insert(place, tokens[place])
            case "cut":
                tokens = tokens[: place + 1]
        if tuple(tokens) != sentence:
            found.append(tuple(tokens))
    return found


@pytest.mark.parametrize("how", ["swapped", "reversed", "doubled", "cut"])
def test_accidents_are_noticed(how: str) -> None:
    accidents = broken(how)
    passed = [tokens for tokens in accidents if is_grammatical(tokens)]
    assert len(accidents) > 1500
    assert len(passed) < 0.01 * len(accidents)  # "today i dance" is as good as "i dance today"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("this girl reads a book .", "these girl reads a book ."),
        ("this girl reads a book .", "this girl read a book ."),
        ("these girls read a book .", "these girls reads a book ."),
        ("the boy eats an apple .", "the boy eats a apple ."),
        ("the boy eats an old apple .", "the boy eats a old apple ."),
        ("the boy eats a green apple .", "the boy eats an green apple ."),
        ("i am tired .", "i is tired ."),
        ("the girl does not sleep .", "the girl does not sleeps ."),
        ("the girl wants to sleep .", "the girl want to sleep ."),
        ("the girl reads the book .", "the girl reads ."),
        ("the girl sleeps .", "the girl sleeps the book ."),
        ("marie gives a book to paul .", "marie gives a book ."),
        ("does the girl sleep ?", "does the girl sleep ."),
        ("is the girl in the garden ?", "is the girl the garden ?"),
        ("there are two cats under the tree .", "there is two cats under the tree ."),
        ("she sleeps at home .", "she sleeps at the home ."),
        ("the girl sleeps , but i work .", "the girl sleeps but i work ."),
        ("i must work .", "i must to work ."),
    ],
)
def test_rules_of_the_grammar(right: str, wrong: str) -> None:
    assert is_grammatical(right.split())
    assert not is_grammatical(wrong.split())


def test_sense_is_not_asked_for_and_nothing_is_no_sentence() -> None:
    assert is_grammatical(["the", "moon", "drinks", "this", "door", "."])
    assert not is_grammatical(())
    assert not is_grammatical(["the", "zebra", "sleeps", "."])
