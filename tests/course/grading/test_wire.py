"""What a parent reads of its child: plain values come back, and bytes cannot break a type."""

import pytest
import torch

from attention_book.course.grading.wire import DTYPES, Reader, Writer


def read(message):
    return Reader(message, lambda function: function).value()


def sent(value):
    return read(Writer().bytes(value))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_tensor_comes_back_with_its_bits(dtype):
    raw = torch.arange(24, dtype=torch.uint8)
    value = raw > 11 if dtype == torch.bool else raw.view(dtype)
    for each in (value, value[1:], value[:0], value[0], value.repeat(3, 1).T):
        got = sent(each)
        assert (got.dtype, got.shape) == (each.dtype, each.shape)
        assert got.contiguous().view(-1).tolist() == pytest.approx(
            each.contiguous().view(-1).tolist(), nan_ok=True, rel=0, abs=0
        )


def test_a_truth_value_is_one_of_two():
    """A byte that is neither 0 nor 1 is true for one operation and unequal to it for another."""
    message = Writer().bytes(torch.ones(4, dtype=torch.bool))
    got = read(message[:-4] + bytes([0, 1, 2, 255]))  # as an enemy may write it
    assert got.view(torch.uint8).tolist() == [0, 1, 1, 1]
    assert got.equal(torch.tensor([False, True, True, True]))
