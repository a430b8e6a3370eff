import math

import numpy as np
import pytest
import torch
from torch import nn

from attention_book.course.exercises.outcome import accepts, difference, outcome_of
from attention_book.foundations.bilingual import Bilingual

ROW = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("expected", "got", "found"),
    [
        (ROW, ROW + 1e-6, None),
        (ROW, ROW + 1e-2, "value"),
        (ROW, ROW.double(), None),
        (ROW, ROW.half(), None),
        (ROW, ROW[None], "shape"),
        (ROW, ROW.int(), "dtype"),
        (ROW > 1, ROW > 1, None),
        (ROW > 1, (ROW > 1).int(), "dtype"),
        (ROW, ROW.to("meta"), "device"),
        ([ROW], [ROW.to("meta")], "device"),
        (ROW, ROW[None].to("meta"), "shape"),
        (0.25, torch.tensor(0.25, device="meta"), "type"),
        (torch.tensor(0.25), torch.tensor(0.25, device="meta"), "device"),
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


def test_half_precision_may_round_more_coarsely():
    assert difference(ROW.half() / 3, (ROW / 3).half() * 1.01) is None


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


def test_an_argument_moved_to_another_device_was_changed():
    def moves(rows):
        rows[0] = rows[0].to("meta")

    assert outcome_of(moves, ([ROW],)).changed == 0


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
