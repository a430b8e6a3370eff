"""Random seeds: one call that makes a run reproducible."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

#: Added to every seed, to test whether a result holds for other draws (`make robustness`).
OFFSET_VARIABLE = "ATTENTION_BOOK_SEED_OFFSET"


def shifted(seed: int) -> int:
    """Return the seed plus the offset that the environment asks for, by default 0."""
    return seed + int(os.environ.get(OFFSET_VARIABLE) or 0)


def set_seed(seed: int = 42) -> None:
    """Seed Python, torch (CPU and every GPU) and, where it is installed, NumPy.

    Where the environment variable ``ATTENTION_BOOK_SEED_OFFSET`` holds a number, it is added
    to the seed: the same chapters with other draws.

    The numbers drawn afterwards depend on the seed *and* on the order of the
    draws: an extra ``torch.rand`` in between changes everything after it.

    Raises:
        ValueError: if ``seed`` is not in [0, 2**32), the range NumPy accepts.

    >>> set_seed(42)
    >>> torch.rand(2)
    tensor([0.8823, 0.9150])
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed={seed} is outside [0, 2**32)")
    seed = shifted(seed)
    random.seed(seed)
    arrays = _numpy_random()
    if arrays is not None:
        arrays.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


@contextmanager
def own_random_numbers(seed: int = 0) -> Iterator[None]:
    """Give the block its own random numbers; those outside continue unchanged afterwards."""
    python, arrays = random.getstate(), _numpy_random()
    numbers = None if arrays is None else arrays.get_state()
    with torch.random.fork_rng():
        set_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            if arrays is not None:
                arrays.set_state(numbers)


def _numpy_random() -> Any:
    """Return NumPy's global random numbers: what it will draw later; None without NumPy."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy.random


__all__ = ["set_seed"]  # own_random_numbers is for the package itself
