"""The numbers that a plot accepts: tensors of any kind, arrays, nested lists."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Numbers = Tensor | NDArray[Any] | Sequence[Any]
Array = NDArray[np.float64]


def as_array(values: Numbers, name: str, *, axes: str) -> Array:
    """Copy numbers into a NumPy array, from any device, precision or graph.

    Args:
        values: a tensor (also with gradients, in half precision or boolean),
            an array or a nested list.
        name: the argument's name, for the error message.
        axes: the names of the axes expected, such as ``"query key"``.

    Returns:
        The numbers in double precision.

    Raises:
        ValueError: if the number of axes is not the one expected, or there is
            nothing to draw, or the values are not numbers.

    >>> as_array([[True, False]], "mask", axes="query key")
    array([[1., 0.]])
    """
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers with axes ({axes}): {error}") from None
    if array.ndim != len(axes.split()):
        raise ValueError(f"{name} must have axes ({axes}), got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}")
    return array


def in_cell(value: float) -> str:
    """Return a number as it is written into a cell, with two decimals; zero has no sign.

    >>> in_cell(-0.004), in_cell(-0.006)
    ('0.00', '-0.01')
    """
    return f"{value:z.2f}"


__all__ = ["Array", "Numbers", "as_array", "in_cell"]
