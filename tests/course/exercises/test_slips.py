"""Slips that can happen in any exercise: each is named, and only where it explains everything."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch

from attention_book.course.exercises import EXERCISES, check
from attention_book.course.exercises.slips import slip_hint

WIDE = torch.arange(6.0).view(2, 3) ** 2
SQUARE = torch.arange(9.0).view(3, 3) ** 2
LINE = torch.tensor([0.5, 2.0, 3.0, 7.0])
MASK = torch.ones(3, 4, dtype=torch.bool).tril()


def hint(*results):
    found = slip_hint(results)
    return None if found is None else found.en


@pytest.mark.parametrize(
    ("expected", "got", "word"),
    [
        (LINE, LINE.tolist(), "A tensor is expected, not a list"),
        (LINE, tuple(LINE), "A tensor is expected, not a tuple"),
        (LINE, LINE.numpy(), "A tensor is expected, not a NumPy array"),
        ([1, 2], torch.tensor([1, 2]), "A list is expected, not a tensor"),
        ({"a"}, ["a"], "A set is expected, not a list"),
        (0.5, [0.5], "A number is expected, not a list"),
        (LINE, 0.5, "A tensor is expected, not a number"),
        ([1, 2], np.array([1, 2]), "A list is expected, not a NumPy array"),
        ((1, 2), (each for each in (1, 2)), "not a generator. It has not computed"),
        ([1, 2], map(int, "12"), "not a `map`. It has not computed"),
        ([1, 2], range(1, 3), "A list is expected, not a `range`"),
        (LINE, lambda: LINE, "A tensor is expected, not a function"),
        (LINE, WIDE.max(dim=0), "take `.values`"),
        (LINE, Counter("ab"), "not a dictionary"),
        ({"a": 1}, Fraction(1, 2), "A dictionary is expected, not a `Fraction`"),
        ((LINE, [1]), (LINE, torch.ones(1)), "A list is expected, not a tensor"),
        (MASK, MASK.float(), "boolean"),
        (LINE, LINE.round().long(), "Floating-point"),
        (LINE.long(), LINE.long().float(), "Integers"),
        (WIDE, WIDE.mT, "transposed"),
        (SQUARE, SQUARE.mT, "transposed"),
        (WIDE[None], WIDE.mT[None], "transposed"),
        (LINE, LINE[:, None], "axis of size 1"),
        (WIDE[:, None], WIDE, "axis of size 1"),
        (LINE, torch.cat((torch.zeros(1), LINE)), "one too many at the start"),
        (LINE, torch.cat((LINE, torch.zeros(1))), "one too many at the end"),
        (LINE, LINE[1:], "The first one is missing"),
        (LINE, LINE[:-1], "The last one is missing"),
        (LINE, LINE.roll(1), "one place too late"),
        (LINE, LINE.roll(-1), "one place too early"),
        (SQUARE, SQUARE.roll(1, dims=1), "one place too late"),
        (MASK, torch.ones(3, 4, dtype=torch.bool).tril(-1), "one place too late"),
    ],
)
def test_a_slip_is_named(expected, got, word):
    assert word in hint((expected, got))


def test_where_there_are_several_wrong_results_the_slip_explains_all():
    assert "transposed" in hint((SQUARE, SQUARE.mT), (WIDE, WIDE.mT))
    assert hint((SQUARE, SQUARE.mT), (WIDE, WIDE + 1)) is None
    assert hint((LINE, LINE.tolist()), (LINE, LINE + 1)) is None


def test_a_single_place_neither_speaks_for_a_shift_nor_against_it():
    one = (torch.ones(1), torch.zeros(1))
    assert "too late" in hint((LINE, LINE.roll(1)), one)
    assert hint(one) is None


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (LINE, LINE + 1),
        (LINE, 2 * LINE),
        (WIDE, WIDE.flip(0)),
        (torch.ones(3), torch.tensor([0.0, 1.0, 1.0])),  # constant: it can't have moved
        (LINE, torch.ones(7)),
        (LINE, None),
        (3, 4),
        ([1, 2], [1, 3]),
        (None, 3),
    ],
)
def test_what_is_no_slip_gets_no_hint(expected, got):
    assert hint((expected, got)) is None


def test_the_numbers_of_a_numpy_scalar_are_numbers():
    assert hint((0.5, np.float64(0.25))) is None


ASKING_FOR_A_TENSOR = [
    "broadcast", "recurrent-steps", "masked-softmax", "causal-with-cache", "split-heads",
    "bahdanau-look", "top-p", "prefix-mask", "final-states",
]  # fmt: skip


@pytest.mark.parametrize("name", ASKING_FOR_A_TENSOR)
@pytest.mark.parametrize(
    ("slip", "law", "word"),
    [
        (torch.Tensor.tolist, "type", "A tensor is expected, not a list"),
        (lambda result: None, "type", "return"),
        (lambda result: result[None], "shape", "axis of size 1"),
        (lambda result: result.float() if result.dtype == torch.bool else result.long(),
         "dtype", "expected"),
    ],
)  # fmt: skip
def test_a_learner_is_told(name, slip, law, word):
    verdict = check(name, lambda *given: slip(EXERCISES[name].solution(*given)))
    assert verdict.law == law
    assert word in verdict.hint.en


def test_a_known_mistake_has_the_first_word():
    verdict = check(
        "additive-score", lambda *given: EXERCISES["additive-score"].solution(*given).mT
    )
    assert verdict.mistake == "transposed"
    assert verdict.hint.en.startswith("Rows are queries")


def test_who_returns_nothing_is_not_told_of_a_mistake_that_sometimes_returns_none():
    verdict = check("layers-needed", lambda mask: None)
    assert (verdict.law, verdict.mistake) == ("type", None)
    assert "return" in verdict.hint.en
