"""A vocabulary is a numbering: the same for the same words, and back again."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.text import BOS, EOS, PAD, SPECIALS, UNK, SpecialIds, Vocabulary

SENTENCES = st.lists(st.lists(st.text("abé来!", min_size=1, max_size=2)).map(tuple))


@pytest.fixture
def vocabulary():
    return Vocabulary.build([("b", "a", "c"), ("c", "b", "c", "d")])


def test_the_specials_come_first_and_have_their_constants(vocabulary):
    assert vocabulary.tokens[:4] == SPECIALS
    assert vocabulary.encode(SPECIALS) == [PAD, UNK, BOS, EOS] == [0, 1, 2, 3]


def test_words_follow_by_falling_frequency_then_by_alphabet(vocabulary):
    assert vocabulary.tokens[4:] == ("c", "b", "a", "d")
    assert [vocabulary.frequency(token) for token in "cbadz"] == [3, 2, 1, 1, 0]
    assert vocabulary.frequency("<pad>") == 0


@given(SENTENCES, st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_does_not_matter(sentences, random):
    shuffled = random.sample(sentences, len(sentences))
    assert Vocabulary.build(shuffled) == Vocabulary.build(sentences)
    assert hash(Vocabulary.build(shuffled)) == hash(Vocabulary.build(sentences))


@given(SENTENCES)
def test_what_is_known_comes_back(sentences):
    vocabulary = Vocabulary.build(sentences)
    for sentence in sentences:
        assert vocabulary.decode(vocabulary.encode(sentence)) == list(sentence)
    assert vocabulary.encode(vocabulary.tokens) == list(range(len(vocabulary)))


@given(SENTENCES, SENTENCES, st.integers(1, 3))
def test_known_and_unknown_words_are_all_the_words(train, test, min_frequency):
    vocabulary = Vocabulary.build(train, min_frequency=min_frequency)
    counts = Counter(word for sentence in train for word in sentence)
    assert set(vocabulary.tokens[4:]) == {w for w, n in counts.items() if n >= min_frequency}
    unknown = vocabulary.unknown(test)
    words = Counter(word for sentence in test for word in sentence)
    assert unknown == Counter({w: n for w, n in words.items() if w not in vocabulary})
    ids = [number for sentence in test for number in vocabulary.encode(sentence)]
    assert ids.count(UNK) == unknown.total()


@pytest.mark.parametrize("number", [-1, 8])
def test_a_number_of_no_token_is_an_error(vocabulary, number):
    with pytest.raises(IndexError, match=f"ids: expected numbers from 0 to 7, got {number}"):
        vocabulary.decode([4, number])


@given(SENTENCES)
def test_json_brings_it_back(sentences):
    vocabulary = Vocabulary.build(sentences)
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.frequencies == vocabulary.frequencies
    readable = json.loads(Vocabulary.build([("欢迎", "<unk>", "<eos>")]).to_json())
    assert readable["words"] == [["欢迎", 1]]  # a special in the text gets no second number


def test_another_vocabulary_is_not_equal(vocabulary):
    assert vocabulary != Vocabulary.build([("a", "b", "c", "d")])
    assert "c" in vocabulary
    assert "z" not in vocabulary
    assert repr(vocabulary) == "Vocabulary(8 tokens)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"words": []}',
        '{"format": "of another program", "words": []}',
        '{"format": "attention_book vocabulary 1", "words": ["a"]}',
        '{"format": "attention_book vocabulary 1", "words": [["a", 1], ["a", 2]]}',
        "[" * 100_000,
        '{"format": "attention_book vocabulary 1", "words": [["a", 1e999]]}',
    ],
)
def test_another_json_is_an_error(text):
    with pytest.raises(ValueError, match="expected"):
        Vocabulary.from_json(text)


def test_a_string_is_no_sentence(vocabulary):
    for call in (Vocabulary.build, vocabulary.unknown):
        with pytest.raises(TypeError, match="expected a sequence of tokens, got the string 'go'"):
            call(["go"])
    with pytest.raises(TypeError, match="got the string 'go'"):
        vocabulary.encode("go")


def test_the_specials_may_stand_anywhere(vocabulary):
    order = (5, 3, 0, 7, 1, 6, 2, 4)
    moved = Vocabulary(
        tuple(vocabulary.tokens[i] for i in order), tuple(vocabulary.frequencies[i] for i in order)
    )
    assert moved.special_ids == SpecialIds(pad=2, bos=6, eos=1)
    assert moved.unk == 4
    assert vocabulary.special_ids == SpecialIds()
    words = ("a", "zebra", "c")
    assert [order[number] for number in moved.encode(words)] == vocabulary.encode(words)
    assert {moved.tokens[number] for number in moved.words()} == set("abcd")
    assert Vocabulary.from_json(moved.to_json()) == moved


def test_words_that_were_counted_before_have_the_same_numbers():
    sentences = [("a", "b", "<unk>"), ("b", "c", "a"), ("b", "<pad>")]
    counts = Counter(word for sentence in sentences for word in sentence)
    for frequency in (1, 2, 3):
        built = Vocabulary.build(sentences, min_frequency=frequency)
        assert Vocabulary.from_counts(counts, min_frequency=frequency) == built
    assert counts["<unk>"] == 1  # the counts are left alone


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Vocabulary.build([], min_frequency=0), "min_frequency: expected 1 or more, got 0"),
        (lambda: Vocabulary(("a",), (1,)), "tokens: expected"),
        (lambda: Vocabulary(SPECIALS, (0,)), "frequencies: expected one for each of 4"),
        (
            lambda: Vocabulary(("<pad>", "<unk>", "<eos>", "a"), (0, 0, 0, 1)),
            r"tokens: expected .* among them, got no <bos>",
        ),
        *[
            (lambda ids=ids: SpecialIds(**ids), "special tokens: expected different numbers from 0")
            for ids in ({"bos": 3}, {"pad": 2}, {"eos": -1})
        ],
    ],
)
def test_what_makes_no_vocabulary_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
