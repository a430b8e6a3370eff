"""Results are compared as a reader would; a slip is named only where it explains everything."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from attention_book.course.exercises import EXERCISES, check
from attention_book.course.exercises.comparing import difference, slip_hint
from attention_book.course.exercises.running import accepts, outcome_of
from attention_book.foundations.bilingual import Bilingual

ROW = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("expected", "got", "found"),
    [
        (ROW, ROW + 1e-6, None),
        (ROW, ROW + 1e-2, "value"),
        (ROW, ROW.double(), None),
        (ROW, ROW.half(), None),
        (ROW.half() / 3, (ROW / 3).half() * 1.01, None),  # half precision rounds more coarsely
        (ROW, ROW[None], "shape"),
        (ROW, ROW.int(), "dtype"),
        (ROW > 1, ROW > 1, None),
        (ROW > 1, (ROW > 1).int(), "dtype"),
        (ROW, ROW.to("meta"), "device"),
        ([ROW], [ROW.to("meta")], "device"),
        (ROW, ROW[None].to("meta"), "shape"),
        (0.25, torch.tensor(0.25, device="meta"), "type"),
        (torch.tensor(0.25), torch.tensor(0.25, device="meta"), "device"),
        (torch.zeros(2, device="meta"), torch.zeros(2, device="meta"), None),
        (torch.zeros(2, device="meta"), torch.zeros(3, device="meta"), "shape"),
        (ROW, [1.0, 2.0, 3.0], "type"),
        (ROW, None, "type"),
        (torch.tensor([math.nan]), torch.tensor([math.nan]), None),
        (torch.tensor([0.0]), torch.tensor([math.nan]), "value"),
        (torch.tensor([math.inf]), torch.tensor([math.inf]), None),
        (0.25, torch.tensor(0.25), None),
        (torch.tensor(0.25), 0.25, None),
        (2, 2.0, None),
        (2, 3, "value"),
        (2, "2", "type"),
        (True, True, None),
        (True, 1, "type"),
        (1, True, "type"),
        (math.nan, math.nan, None),
        (math.nan, 0.0, "value"),
        (math.inf, math.inf, None),
        ("le", "le", None),
        ("le", "la", "value"),
        ([1, 2], (1, 2), None),
        ([1, 2], [1, 2, 3], "value"),
        ([1, [2, ROW]], [1, [2, ROW[:2]]], "shape"),
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1}, {"b": 1}, "value"),
        ({"a": 1}, {"a": 2}, "value"),
        (None, None, None),
        (None, 0, "type"),
        (ROW, ROW.to_sparse(), "type"),
        (ROW, torch.nested.nested_tensor([ROW], layout=torch.jagged), "type"),
        (ROW, ROW.cfloat(), "dtype"),
        (ROW.long(), ROW.cfloat(), "dtype"),
        (ROW, nn.Parameter(ROW), None),
        (0.5, 10**400, "value"),
        (10**400, 10**400, None),
        (1.0, 1 + 0j, "type"),
        ([ROW], np.array([1.0, 2.0, 3.0]), "type"),
    ],
)
def test_results_differ_by_type_shape_or_value_but_not_by_rounding(expected, got, found):
    assert difference(expected, got) == found


def test_a_call_gets_copies_and_tells_what_it_changed():
    def careless(kept, changed):
        changed += 1
        return kept

    kept, changed = torch.zeros(2), torch.zeros(2)
    outcome = outcome_of(careless, (kept, changed))
    assert outcome.changed == 1
    assert changed.eq(0).all()
    assert outcome_of(lambda rows: rows.append(1), ([],)).changed == 0
    assert outcome_of(lambda rows: rows[0].append(1), ([[]],)).changed == 0
    assert outcome_of(lambda table: table.update(a=2), ({"a": 1},)).changed == 0
    to_meta = lambda rows: rows.__setitem__(0, rows[0].to("meta"))  # noqa: E731
    assert outcome_of(to_meta, ([ROW],)).changed == 0


def test_a_module_may_be_an_argument():
    layer = nn.Linear(2, 2)

    def spoil(layer):
        layer.weight.data.zero_()

    assert outcome_of(lambda layer: layer(torch.ones(2)), (layer,)).changed is None
    assert outcome_of(spoil, (layer,)).changed == 0
    assert layer.weight.ne(0).all()


def test_an_error_is_told_with_its_line():
    def fails(x):
        y = x + 1
        return y[7]

    outcome = outcome_of(fails, (ROW,))
    assert isinstance(outcome.error, IndexError)
    told = outcome.happened()
    assert isinstance(told, Bilingual)
    for text in (told.zh, told.en):
        assert "IndexError" in text
        assert "return y[7]" in text


def test_the_line_is_the_answers_own_not_a_librarys():
    def fails(x):
        return torch.stack([x, x[:2]]).softmax(-1).reshape(-1)

    assert outcome_of(fails, (ROW,)).line[1].startswith("return torch.stack")
    assert outcome_of(nn.Linear(2, 2), (ROW,)).line is None


def test_a_function_takes_the_arguments_or_does_not():
    assert accepts(lambda a, b: a, (1, 2))
    assert accepts(lambda a, b=1: a, (1,))
    assert not accepts(lambda a: a, (1, 2))
    assert accepts(max, (1, 2))  # built in: it does not tell


# --- slips --------------------------------------------------------------------------------------

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
        (LINE, ..., "Not written yet: put your answer in the place of `...`"),
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
        (0.5, np.float64(0.25)),
    ],
)
def test_what_is_no_slip_gets_no_hint(expected, got):
    assert hint((expected, got)) is None


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


def test_a_known_mistake_has_the_first_word_but_not_where_nothing_came():
    solution = EXERCISES["additive-score"].solution
    verdict = check("additive-score", lambda *given: solution(*given).mT)
    assert verdict.mistake == "transposed"
    assert verdict.hint.en.startswith("Rows are queries")
    verdict = check("layers-needed", lambda mask: None)  # one mistake sometimes returns None
    assert (verdict.law, verdict.mistake) == ("type", None)
