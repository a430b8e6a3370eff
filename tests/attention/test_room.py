"""Room behind the last row: what is written stays, and only the last may go on."""

import pytest
import torch

from attention_book.attention.room import Room


def rows(num_rows, features=5):
    return torch.randn(2, 3, num_rows, features)


def test_rows_stand_in_the_order_in_which_they_were_written():
    room, first, second = Room(7, like=(rows(0),)), rows(3), rows(2)
    (one,) = room.write(first)
    (both,) = room.write(second)
    assert torch.equal(one, first)
    assert torch.equal(both, torch.cat((first, second), dim=2))
    assert one.data_ptr() == both.data_ptr()


def test_each_kind_of_rows_has_its_own_size_and_type():
    like = rows(0), rows(0, features=7).double()
    keys, values = Room(4, like=like).write(rows(3), rows(3, features=7).double())
    assert keys.shape == (2, 3, 3, 5)
    assert values.shape == (2, 3, 3, 7)
    assert (keys.dtype, values.dtype) == (torch.float32, torch.float64)


@pytest.mark.parametrize(
    ("num_rows", "after", "has_place"),
    [(4, 3, True), (5, 3, False), (1, 2, False), (1, 4, False), (0, 3, True)],
)
def test_there_is_place_behind_the_last_row_only(num_rows, after, has_place):
    room = Room(7, like=(rows(0),))
    room.write(rows(3))
    assert room.has_place(num_rows, after=after) is has_place


def test_a_full_room_takes_no_more():
    room = Room(3, like=(rows(0),))
    room.write(rows(3))
    with pytest.raises(ValueError, match="rows: expected at most 0, got 1"):
        room.write(rows(1))
