"""A sample is drawn evenly and is the same each time; counting words stays bounded."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs.codec import learning
from attention_book.runs.codec.learning import count_words, draw_sample, word_vocabularies


def lines(size):
    return [(str(number), f"-{number}") for number in range(size)]


@given(st.integers(0, 60), st.integers(1, 60))
def test_a_sample_has_its_size_and_nothing_twice(length, size):
    found = draw_sample(lines(length), size)
    assert len(set(found)) == len(found) == min(length, size)
    assert set(found) <= set(lines(length))
    assert found == draw_sample(lines(length), size)


def test_each_part_of_a_corpus_has_its_share():
    found = [int(source) for source, _ in draw_sample(lines(50_000), 5000)]
    for part in range(10):
        share = sum(part * 5000 <= number < (part + 1) * 5000 for number in found)
        assert abs(share - 500) < 4 * (5000 * 0.1 * 0.9) ** 0.5


def test_of_an_endless_line_the_sample_keeps_the_beginning():
    [(source, target)] = draw_sample([("a" * 5000, "b")])
    assert (source, target) == ("a" * 1000, "b")


def test_words_are_counted_on_their_own_sides():
    found = count_words([("A dog.", "Ein Hund."), ("A cat", "Eine Katze")], ("en", "de"), "plain")
    assert found == (
        Counter({"a": 2, "dog": 1, ".": 1, "cat": 1}),
        Counter({"ein": 1, "hund": 1, ".": 1, "eine": 1, "katze": 1}),
    )


def test_frequent_words_outlast_any_number_of_rare_ones(monkeypatch):
    monkeypatch.setattr(learning, "_MOST_WORDS", 100)
    sizes = []

    def text():
        for number in range(5000):
            yield f"often rare{number}", f"x{number} usually"
            sizes.append(number)

    for count, word in zip(
        count_words(text(), ("en", "en"), "plain"), ("often", "usually"), strict=True
    ):
        assert count[word] == 5000
        assert len(count) <= 100


def test_the_rarest_are_forgotten_first():
    count = Counter({"a": 5, "b": 3, "c": 2, "d": 1, "e": 1})
    learning._forget_rarest(count)
    assert count == Counter({"a": 5, "b": 3})


def test_no_word_left_is_an_error():
    with pytest.raises(ValueError, match="lines: expected words seen 2 times or more, got none"):
        word_vocabularies([Counter({"a": 2}), Counter({"b": 1})], 2)
