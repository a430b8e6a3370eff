"""Random numbers of a run's own: what its caller draws in between changes nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from attention_book.foundations.seed import mixed


class RandomNumbers:
    """Torch's random numbers as one process of a run draws them, for dropout and first weights.

    Args:
        seed: Where they begin.
        device: A GPU has numbers of its own.

    >>> numbers = RandomNumbers(42, torch.device("cpu"))
    >>> with numbers:
    ...     first = torch.rand(())
    >>> _ = torch.rand(5)  # the caller's
    >>> with numbers:
    ...     second = torch.rand(())
    >>> _ = torch.manual_seed(42)
    >>> torch.rand(2).tolist() == [float(first), float(second)]
    True
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        """Begin at the seed."""
        self._device = device
        self._outside: dict[str, Tensor] = {}
        self.states: dict[str, Tensor] = {}
        with self:
            torch.manual_seed(seed)

    def __enter__(self) -> "RandomNumbers":
        """Go on with the run's numbers."""
        self._outside = self._current()
        self._set(self.states)
        return self

    def __exit__(self, *exception: object) -> None:
        """Keep where they stand, and put back those of the caller."""
        self.states = self._current()
        self._set(self._outside)

    def _current(self) -> dict[str, Tensor]:
        states = {"cpu": torch.get_rng_state()}
        if self._device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self._device)
        if self._device.type == "mps":
            states["mps"] = torch.mps.get_rng_state()
        return states

    def _set(self, states: Mapping[str, Tensor]) -> None:
        if "cpu" in states:
            torch.set_rng_state(states["cpu"])
        if "cuda" in states and self._device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self._device)
        if "mps" in states and self._device.type == "mps":
            torch.mps.set_rng_state(states["mps"])


def seed_of(seed: int, rank: int, step: int = 0) -> int:
    """Return another seed for every process; the first one has that of the settings.

    >>> seed_of(42, 0), seed_of(42, 1) != seed_of(42, 2)
    (42, True)
    """
    if not rank and not step:
        return seed
    return mixed(seed, rank, step)


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Draw from the seed within, and go on outside as if nothing had been drawn.

    >>> with drawn_from(42):
    ...     torch.rand(2)
    tensor([0.8823, 0.9150])
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
