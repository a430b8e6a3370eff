"""Random seeds: one call that makes a run reproducible."""

import hashlib
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from attention_book.foundations.checks import check_whole

#: Added to every seed, to test whether a result holds for other draws (`make robustness`).
OFFSET_VARIABLE = "ATTENTION_BOOK_SEED_OFFSET"


def shifted(seed: int) -> int:
    """Return the seed plus the offset that the environment asks for, by default 0."""
    return seed + int(os.environ.get(OFFSET_VARIABLE) or 0)


def check_seed(seed: int) -> None:
    """Refuse a seed of which torch's generator would read a part only, and so take two for one.

    Raises:
        ValueError: if it is no whole number from 0 to 2**32 - 1.

    >>> check_seed(2**32 + 1)
    Traceback (most recent call last):
    ValueError: seed: expected a number from 0 to 2**32 - 1, got 4294967297
    """
    check_whole(seed=seed)
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: expected a number from 0 to 2**32 - 1, got {seed}")


def mixed(*numbers: int) -> int:
    """Return a seed made of several numbers: of other numbers, or in another order, another one.

    A sum would be the same for (1, 2) and (2, 1). A digest is not, but for chance: two of many
    billions fall together.

    >>> mixed(1, 2) == mixed(2, 1), mixed(1, 2) == mixed(12)
    (False, False)
    """
    digest = hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


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
