"""The growing table: right rows, seldom computed."""

import pytest
import torch

from attention_book.attention.positions.scheme import GrowingTable


class Squares:
    """Row i is (i, i²); counts how often it was computed."""

    def __init__(self):
        self.lengths = []

    def __call__(self, length):
        self.lengths.append(length)
        i = torch.arange(length).double()
        return torch.stack((i, i**2), dim=-1)


def expected(start, stop):
    return [[i, i * i] for i in range(start, stop)]


def test_gives_the_rows_asked_for():
    table, like = GrowingTable(Squares()), torch.zeros(1)
    for start, number in ((0, 3), (2, 0), (5, 1), (1, 2), (40, 7)):
        rows = table.rows(number, offset=start, like=like)
        assert rows.tolist() == expected(start, start + number)


def test_step_by_step_it_is_computed_a_few_times_only():
    squares, like = Squares(), torch.zeros(1)
    table = GrowingTable(squares)
    for i in range(1000):
        assert table.rows(1, offset=i, like=like).tolist() == expected(i, i + 1)
    assert len(squares.lengths) <= 11
    before = len(squares.lengths)
    table.rows(1000, offset=0, like=like)
    assert len(squares.lengths) == before


def test_type_and_device_follow(dtype):
    table = GrowingTable(Squares())
    table.rows(5, offset=0, like=torch.zeros(1, dtype=torch.float16))
    rows = table.rows(3, offset=100, like=torch.zeros(1, dtype=dtype))
    assert rows.dtype == dtype
    exact = torch.tensor(expected(100, 103), dtype=torch.float64)
    assert torch.equal(rows, exact.to(dtype))  # from the exact numbers, not from the half ones
    assert table.rows(3, offset=0, like=torch.zeros(1, device="meta")).device.type == "meta"


def test_a_negative_offset_is_refused():
    with pytest.raises(ValueError, match="offset: expected 0 or more, got -2"):
        GrowingTable(Squares()).rows(1, offset=-2, like=torch.zeros(1))


class TakenAway(GrowingTable):
    """Another thread puts its own table in the place of each that is kept."""

    @property
    def tables(self):
        return {}

    @tables.setter
    def tables(self, kept):
        pass


def test_another_thread_in_between_does_not_matter():
    rows = TakenAway(Squares()).rows(3, offset=2, like=torch.zeros(1))
    assert rows.tolist() == expected(2, 5)
