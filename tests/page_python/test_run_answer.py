"""A value is written in a page as a notebook of the book writes it."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import PlainTextFormatter
from page_python.bundle import INSIDE

sys.path.append(str(INSIDE))
from run_answer import written

NUMBERS = st.floats(allow_nan=False) | st.integers(-(10**6), 10**6) | st.booleans()
WORDS = st.text("abc d", max_size=30)
VALUES = st.recursive(
    NUMBERS | WORDS,
    lambda each: st.lists(each, max_size=6) | st.tuples(each, each) | st.tuples(each),
)


def six_digits(number, printer, cycle):
    """As the set-up of the book's notebooks has it."""
    printer.text(repr(float(f"{number:.6g}")))


NOTEBOOK = PlainTextFormatter()
NOTEBOOK.for_type(float, six_digits)


@given(VALUES)
def test_words_and_numbers_in_lists(value):
    text = NOTEBOOK(value)
    assert written(value).split() == text.split()
    if len(text) < 79:
        assert written(value) == text


@pytest.mark.parametrize("count", [1, 9, 10, 60])
def test_a_long_list_has_an_item_a_line(count):
    value = [f"word {n}" for n in range(count)]
    assert written(value) == NOTEBOOK(value)
    assert written(tuple(value)) == NOTEBOOK(tuple(value))
