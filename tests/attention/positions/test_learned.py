"""Learned positions: rows of a table, which ends."""

import pytest
import torch

from attention_book.attention import LearnedPositions


def test_each_position_gets_its_row():
    positions = LearnedPositions(d_model=5, max_positions=11)
    zeros = torch.zeros(2, 3, 5)
    for offset in (0, 4, 8):
        for row in positions(zeros, offset=offset):
            assert torch.equal(row, positions.table[offset : offset + 3])
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(positions(x), x + positions(zeros))


def test_only_the_rows_used_learn():
    positions = LearnedPositions(d_model=5, max_positions=11)
    positions(torch.randn(2, 3, 5), offset=4).sum().backward()
    used = torch.arange(11).ge(4) & torch.arange(11).lt(7)
    assert torch.equal(positions.table.grad.ne(0).all(-1), used)
    assert torch.equal(positions.table.grad.ne(0).any(-1), used)


@pytest.mark.parametrize(("length", "offset", "last"), [(12, 0, 11), (3, 9, 11), (1, 11, 11)])
def test_past_its_end_the_error_names_the_numbers(length, offset, last):
    positions = LearnedPositions(d_model=5, max_positions=11)
    message = f"expected at most max_positions=11, got the positions {offset} to {last}$"
    with pytest.raises(ValueError, match=message):
        positions(torch.randn(1, length, 5), offset=offset)


def test_starts_as_large_as_the_sinusoids():
    table = LearnedPositions(d_model=64, max_positions=512).table
    assert table.square().mean().item() == pytest.approx(0.5, rel=0.05)
    assert table.requires_grad


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="max_positions: expected at least 1, got 0"):
        LearnedPositions(d_model=5, max_positions=0)
    with pytest.raises(ValueError, match="d_model: expected at least 1, got 0"):
        LearnedPositions(d_model=0, max_positions=5)
