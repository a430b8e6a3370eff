"""Laws of packed rows: every text once and whole, no row too long, little left empty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.text import first_fit


@given(lengths=st.lists(st.integers(1, 17), max_size=60), num_open=st.integers(1, 9))
def test_every_text_is_in_one_row_and_no_row_overflows(lengths: list[int], num_open: int) -> None:
    rows = first_fit(lengths, 17, num_open=num_open)
    assert sorted(number for row in rows for number in row) == list(range(len(lengths)))
    assert all(sum(lengths[number] for number in row) <= 17 for row in rows)


def test_a_text_goes_into_the_first_row_that_has_room() -> None:
    assert first_fit([5, 4, 3, 3, 2], 8) == [[0, 2], [1, 3], [4]]
    assert first_fit([5, 4, 3], 8, num_open=1) == [[0], [1, 2]]


def test_what_cannot_be_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to width=4, got 5"):
        first_fit([5], 4)
    with pytest.raises(ValueError, match="got 0"):
        first_fit([0], 4)
