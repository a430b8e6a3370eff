"""The splits hold out what they say, and leak nothing."""

from itertools import combinations

import pytest

from attention_book.text.grammar.corpus import (
    HELD_OUT,
    MAX_TRAIN_TOKENS,
    _draw,
    generate,
    grammar_corpus,
)

SIZES = {"num_train": 2500, "num_test": 60}
CORPUS = grammar_corpus("en", "fr", **SIZES)
SPLITS = ("train", "validation", "random", "compositional", "length")
HELD_OUT_SPLITS = SPLITS[1:]
# How the words of a combination may look in English.
FORMS = {
    "cat": {"cat", "cats"}, "dog": {"dog", "dogs"}, "woman": {"woman", "women"},
    "man": {"man", "men"}, "child": {"child", "children"}, "dress": {"dress", "dresses"},
}  # fmt: skip


def forms(word):
    return FORMS.get(word, {word, f"{word}s"})


@pytest.mark.parametrize("name", SPLITS)
def test_the_sizes_are_those_asked_for(name):
    assert len(getattr(CORPUS, name)) == SIZES["num_train" if name == "train" else "num_test"]


@pytest.mark.parametrize(("one", "other"), [*combinations(SPLITS, 2)])
def test_no_sentence_stands_in_two_splits_in_either_language(one, other):
    for side in ("source", "target"):
        first = {getattr(pair, side) for pair in getattr(CORPUS, one)}
        assert first.isdisjoint(getattr(pair, side) for pair in getattr(CORPUS, other))


@pytest.mark.parametrize("name", HELD_OUT_SPLITS)
def test_every_held_out_word_was_trained_on(name):
    for side in ("source", "target"):
        trained = {word for pair in CORPUS.train for word in getattr(pair, side)}
        assert {word for pair in getattr(CORPUS, name) for word in getattr(pair, side)} <= trained


def test_training_never_shows_a_held_out_combination():
    held_out_adjectives = [pair for pair in HELD_OUT if pair[0] in ADJECTIVE_WORDS]
    assert len(held_out_adjectives) >= 10
    for name in ("train", "validation", "random", "length"):
        for pair in getattr(CORPUS, name):
            for adjective, noun in held_out_adjectives:
                for first, second in zip(pair.source, pair.source[1:], strict=False):
                    assert not (first == adjective and second in forms(noun)), pair.source


ADJECTIVE_WORDS = {"red", "black", "small", "old", "beautiful", "new", "white", "blue", "green",
                   "young", "clever", "big"}  # fmt: skip


def test_every_compositional_sentence_has_both_words_of_a_combination():
    for pair in CORPUS.compositional:
        words = set(pair.source)
        assert any(
            words & forms(one) and words & (forms(two) | {f"{two}s"}) for one, two in HELD_OUT
        ), pair.source


def test_both_words_of_every_combination_are_trained_on_often():
    trained = [word for pair in CORPUS.train for word in pair.source]
    for combination in HELD_OUT:
        for word in combination:
            assert sum(trained.count(form) for form in forms(word)) >= 10, word


def test_the_long_sentences_are_longer_than_every_training_sentence():
    for side in ("source", "target"):
        longest = max(len(getattr(pair, side)) for pair in CORPUS.train)
        assert longest == MAX_TRAIN_TOKENS
        lengths = [len(getattr(pair, side)) for pair in CORPUS.length]
        assert min(lengths) > longest
        assert max(lengths) <= 24


@pytest.mark.parametrize(("source", "target"), [("fr", "en"), ("en", "zh"), ("zh", "fr")])
def test_a_seed_draws_the_same_sentences_for_every_pair_of_languages(source, target):
    small = {"num_train": 60, "num_test": 10}
    english_french = grammar_corpus("en", "fr", **small)
    sentences = {sentence.english: sentence for sentence in generate(1500)}
    other = grammar_corpus(source, target, **small)
    for name in SPLITS:
        expected = [
            sentences[pair.source].pair(source, target) for pair in getattr(english_french, name)
        ]
        assert list(getattr(other, name)) == expected


def test_a_seed_is_all_that_matters():
    small = {"num_train": 60, "num_test": 10}
    first = grammar_corpus(**small)
    _draw.cache_clear()
    assert grammar_corpus(**small) == first
    assert grammar_corpus(**small).train != grammar_corpus(**small, seed=43).train


def test_random_and_training_sentences_are_alike():
    """Their mean lengths differ by less than the spread of a mean of 60 allows."""
    lengths = [
        sum(len(pair.source) for pair in split) / len(split)
        for split in (CORPUS.train, CORPUS.random, CORPUS.validation)
    ]
    assert max(lengths) - min(lengths) < 1.2


def test_the_first_sentences_of_the_stream_are_dealt_to_all_splits():
    """The stream says its short sentences first; they must not all be held out, nor trained on."""
    first = {sentence.english for sentence in generate(400)}
    shares = {
        name: sum(pair.source in first for pair in split) / len(split)
        for name, split in (
            ("train", CORPUS.train),
            ("validation", CORPUS.validation),
            ("random", CORPUS.random),
        )
    }
    assert 0 < shares["train"] < 0.25
    assert 0 < shares["validation"] < 0.3
    assert 0 < shares["random"] < 0.3


def test_splits_may_be_empty():
    corpus = grammar_corpus(num_train=0, num_test=0)
    assert all(getattr(corpus, name) == () for name in SPLITS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "de"}, "source: expected one of en, fr, zh, got 'de'"),
        ({"target": "de"}, "target: expected one of en, fr, zh, got 'de'"),
        ({"target": "en"}, "target: expected another language than the source, got 'en'"),
        ({"num_train": -1}, "num_train: expected 0 or more, got -1"),
        ({"num_test": -1}, "num_test: expected 0 or more, got -1"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        grammar_corpus(**options)
