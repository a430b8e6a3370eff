import numpy as np
import pytest
import torch

from attention_book.plotting.numbers import as_array, in_cell


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_tensors_of_every_precision_keep_their_values(dtype):
    given = torch.tensor([0.5, -0.25, 3.0], dtype=dtype, requires_grad=True)
    assert as_array(given, "x", axes="point").tolist() == [0.5, -0.25, 3.0]


def test_no_cell_shows_a_negative_zero():
    written = [in_cell(value) for value in (-0.0, -0.004, -0.006, 0.004, -1.0)]
    assert written == ["0.00", "0.00", "-0.01", "0.00", "-1.00"]


def test_booleans_become_zeros_and_ones():
    assert as_array(torch.tensor([True, False]), "x", axes="point").tolist() == [1.0, 0.0]


@pytest.mark.parametrize("given", [torch.ones(3, dtype=torch.float64), np.ones(3)])
def test_the_callers_numbers_are_copied(given):
    as_array(given, "x", axes="point")[0] = 7.0
    assert given[0] == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.zeros(2, 3, 5), r"matrix must have axes \(query key\), got shape \(2, 3, 5\)"),
        (torch.zeros(0, 3), r"matrix is empty: shape \(0, 3\)"),
        ([[1.0], [1.0, 2.0]], r"matrix must be numbers with axes \(query key\)"),
        ([["a"]], r"matrix must be numbers with axes \(query key\)"),
    ],
)
def test_wrong_numbers_get_one_clear_error(given, message):
    with pytest.raises(ValueError, match=message):
        as_array(given, "matrix", axes="query key")


def test_double_precision_is_kept():
    third = torch.tensor([1 / 3], dtype=torch.float64)
    assert as_array(third, "x", axes="point")[0] == 1 / 3
