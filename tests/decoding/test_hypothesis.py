"""A sentence, its length, and the number it is ranked by."""

import pytest

from attention_book.decoding import Hypothesis, length_factor
from attention_book.text import BOS, EOS, PAD, UNK


@pytest.mark.parametrize(
    ("predictions", "ids", "finished"),
    [
        ([7, 5, EOS], (7, 5), True),
        ([7, 5, EOS, PAD, PAD], (7, 5), True),
        ([7, EOS, 5, EOS], (7,), True),
        ([EOS], (), True),
        ([7, UNK, 5], (7, UNK, 5), False),
        ([BOS, 7], (BOS, 7), False),
    ],
)
def test_a_sentence_ends_at_its_first_eos(predictions, ids, finished) -> None:
    hypothesis = Hypothesis.from_predictions(predictions, -2.0)
    assert hypothesis == Hypothesis(ids, -2.0, finished, -2.0)
    assert hypothesis.num_tokens == len(ids) + finished


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.5])
def test_the_score_is_the_formula_and_counts_eos(length_penalty) -> None:
    finished = Hypothesis.from_predictions([7, 5, EOS], -2.0, length_penalty=length_penalty)
    assert finished.score == pytest.approx(-2.0 / ((5 + 3) / 6) ** length_penalty)
    cut_off = Hypothesis.from_predictions([7, 5], -2.0, length_penalty=length_penalty)
    assert cut_off.score == pytest.approx(-2.0 / ((5 + 2) / 6) ** length_penalty)


def test_a_longer_sentence_is_divided_by_more() -> None:
    factors = [length_factor(n, 0.7) for n in range(1, 20)]
    assert factors[0] == 1
    assert factors == sorted(factors)
