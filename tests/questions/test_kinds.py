"""What a reader types is understood, and a drawing is judged, in a JavaScript engine."""

import json

import pytest
from live.bundler import bundler
from py_mini_racer import MiniRacer
from questions.grammar import apart
from questions.scripts import MODULES


@pytest.fixture(scope="module")
def call():
    """A function that calls one of a module's own."""
    engine = MiniRacer()
    engine.eval(bundler(MODULES).script(["questions/kinds/number", "questions/kinds/paint"]))

    def called(module, name, *arguments):
        written = ", ".join(json.dumps(each) for each in arguments)
        function = f'attentionBookLive.modules["questions/kinds/{module}"].{name}'
        return json.loads(engine.eval(f"JSON.stringify({function}({written}))"))

    yield called
    engine.close()


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [
        ("19", [19]), (" 0.75 ", [0.75]), ("−0,75", [-0.75]), ("-3/4", [-0.75]),
        ("3/7", [3 / 7]), ("１／３", [1 / 3]), ("½", [0.5]), (".5", [0.5]), ("+2", [2]),
        ("10 %", [10, 0.1]), ("１０％", [10, 0.1]), ("1.875", [1.875]), ("3,14", [3.14]),
        ("3,1416", [3.1416]), ("1,024", [1024, 1.024]), ("12,345,678", [12345678]),
        ("12 800", [12800]), ("1 234 567", [1234567]),
        ("1 23", []), ("1e6", [1e6]), ("1,5/3", [0.5]),
        ("abc", []), ("", []), ("1/0", []), ("2^17", []), ("1/2/3", []), ("--3", []),
    ],
)  # fmt: skip
def test_numbers(call, typed, numbers):
    assert call("number", "readings", typed) == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("numbers", "item"),
    [
        ([10], 0), ([12.9], 0), ([13.1], 2), ([60], 1), ([58], 1), ([1024, 1.024], 2),
        ([1000, 10], 0), ([60, 10], 0),
    ],
)  # fmt: skip
def test_the_answer_that_a_number_stands_for(call, numbers, item):
    assert call("number", "itemOf", numbers, [10, 60, None], 0, 3) == item


ROW = {"paint": "row", "right": 0, "tolerance": 0.1, "values": [[0.1, 0.2, 0.7], [0.3] * 3, None]}
PROFILE = {**ROW, "paint": "profile", "values": [[0.1, 0.9], [0.9, 0.1], None]}
MASK = {"paint": "mask", "right": 0, "tolerance": 0, "values": [[1, 0, 1, 1], [1, 1, 0, 0], None]}


@pytest.mark.parametrize(
    ("data", "drawing", "item"),
    [
        (ROW, [0.12, 0.2, 0.68], 0), (ROW, [0.33, 0.33, 0.34], 1), (ROW, [0.9, 0.1, 0], 2),
        (PROFILE, [0.2, 0.85], 0), (PROFILE, [0.8, 0.15], 1), (PROFILE, [0.5, 0.5], 2),
        (MASK, [1, 0, 1, 1], 0), (MASK, [1, 1, 0, 0], 1), (MASK, [1, 1, 0, 1], 1),
        (MASK, [0, 0, 0, 0], 2), (MASK, [1, 0, 1, 0], 2),
    ],
)  # fmt: skip
def test_a_drawing_is_the_answer_a_mistake_that_it_resembles_or_another(call, data, drawing, item):
    judged = call("paint", "judged", data, drawing)
    assert (judged["item"], judged["right"]) == (item, item == 0)


def test_a_drawing_without_a_known_mistake_is_another(call):
    data = {**MASK, "values": [[1, 0, 1, 1], None]}
    assert call("paint", "judged", data, [0, 0, 0, 0]) == {"item": 1, "right": False}


@pytest.mark.parametrize("data", [ROW, PROFILE, MASK])
def test_the_build_and_the_page_measure_alike(call, data):
    one, other, _ = data["values"]
    found = call("paint", "apart", data["paint"], one, other)
    assert found == pytest.approx(apart(data["paint"], one, other)) != 0
