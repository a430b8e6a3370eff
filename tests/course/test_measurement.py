import json
import math

import pytest
import torch

from attention_book.course import notebook
from attention_book.course.measurement import Measurement, measured
from attention_book.foundations.environment import BUILD_VARIABLE


@pytest.mark.parametrize(
    ("bounds", "margin", "came_out"),
    [
        ({"above": 0.5}, 0.25, True),
        ({"above": 0.75}, 0.0, False),
        ({"at_least": 0.75}, 0.0, True),
        ({"at_least": 1}, -0.25, False),
        ({"below": 1}, 0.25, True),
        ({"below": 0.75}, 0.0, False),
        ({"at_most": 0.75}, 0.0, True),
        ({"at_most": 0.5}, -0.25, False),
    ],
)
def test_each_relation_and_its_edge(bounds, margin, came_out):
    (found,) = measured("demo", 0.75, **bounds)
    assert (found.margin, found.came_out) == (margin, came_out)
    assert found.to_dict()["came_out"] == came_out


def test_of_several_numbers_the_worst_counts():
    values = torch.tensor([[0.9, 0.6], [0.8, 0.7]])
    low, high = measured("demo", values, above=torch.tensor([0.5, 0.55]), below=1, draws=4)
    assert (low.value, low.bound) == pytest.approx((0.6, 0.55))
    assert high.value == pytest.approx(0.9)
    assert low.draws == high.draws == 4


def test_a_list_of_tensors_and_a_bound_for_each():
    (found,) = measured("demo", [torch.tensor(3.0), 5.0], below=[4, 5.5])
    assert (found.value, found.bound) == (5.0, 5.5)


@pytest.mark.parametrize("value", [math.nan, torch.tensor([1.0, math.nan])])
def test_nan_keeps_no_bound(value):
    for relation in ("above", "at_least", "below", "at_most"):
        (found,) = measured("demo", value, **{relation: 0.5})
        assert math.isnan(found.value)
        assert not found.came_out


@pytest.mark.parametrize(("value", "came_out"), [(True, True), ([True, False], False)])
def test_a_truth_value_is_to_be_true(value, came_out):
    (found,) = measured("demo", value)
    assert found.came_out == came_out
    assert (found.relation, found.bound) == ("at_least", 1)
    assert measured("demo", torch.tensor(value)) == (found,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Demo_1", 1.0), "name: expected small letters"),
        (("demo", 1.0), "expected a bound such as above=0.5 beside a number, got none"),
        (("demo", []), "expected at least one number, got none"),
    ],
)
def test_what_says_nothing_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        measured(*arguments)
    with pytest.raises(ValueError, match="got over"):
        measured("demo", 1.0, over=2)
    with pytest.raises(ValueError, match="draws: expected 1 or more, got 0"):
        measured("demo", 1.0, above=0, draws=0)


def test_a_measurement_never_raises_and_tells_a_reader(capsys, monkeypatch):
    monkeypatch.delenv(BUILD_VARIABLE, raising=False)
    notebook.measure("demo", 0.4, below=0.1)
    assert capsys.readouterr().out == "demo: 0.4 < 0.1 did not come out here\n"
    notebook.setup(language="zh")
    notebook.measure("demo", 0.4, below=0.1)
    notebook.setup()
    assert "在这里没有得到" in capsys.readouterr().out


def test_in_the_book_the_numbers_are_stored_and_not_shown(monkeypatch):
    shown = []
    monkeypatch.setenv(BUILD_VARIABLE, "1")
    monkeypatch.setattr(notebook, "display", lambda data, raw: shown.append(data))
    notebook.measure("demo", [0.25, 0.5], above=0.75, below=2, draws=2)
    stored = [json.loads(data[notebook.MEASUREMENT_TYPE]) for data in shown]
    assert [each["relation"] for each in stored] == ["above", "below"]
    assert [each["came_out"] for each in stored] == [False, True]
    fields = Measurement.__dataclass_fields__
    again = Measurement(**{name: stored[0][name] for name in fields})
    assert (again.value, again.draws) == (0.25, 2)
