"""Projected keys and values, ready to be attended to: the key-value cache of one layer."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class KeysValues:
    """The keys and values of each head, projected once and asked often.

    A decoder that writes one token at a time appends one key and one value per step;
    an encoder's output is projected once for all steps. Nothing is changed in place:
    :meth:`append` and :meth:`select` return a new one.

    Attributes:
        keys: (batch, head, key, d_k).
        values: (batch, head, key, d_v).

    Raises:
        ValueError: if there is not exactly one value for each key.

    >>> past = KeysValues(torch.rand(2, 4, 5, 8), torch.rand(2, 4, 5, 8))
    >>> new = KeysValues(torch.rand(2, 4, 1, 8), torch.rand(2, 4, 1, 8))
    >>> past.append(new).num_keys
    6
    """

    keys: Float[Tensor, "batch head key d_k"]
    values: Float[Tensor, "batch head key d_v"]

    def __post_init__(self) -> None:
        """Check the axes."""
        if self.keys.ndim != 4 or self.values.shape[:-1] != self.keys.shape[:-1]:
            raise ValueError(
                "keys and values: expected the axes (batch, head, key, d_k) and "
                "(batch, head, key, d_v), "
                f"got the shapes {tuple(self.keys.shape)} and {tuple(self.values.shape)}"
            )

    @property
    def batch_size(self) -> int:
        """How many examples there are."""
        return self.keys.shape[0]

    @property
    def num_heads(self) -> int:
        """How many heads there are."""
        return self.keys.shape[1]

    @property
    def num_keys(self) -> int:
        """How many keys each example and each head has."""
        return self.keys.shape[2]

    def append(self, other: "KeysValues") -> "KeysValues":
        """Return these keys and values, and the other's after them.

        Raises:
            ValueError: if the other's batch, heads or features are different.
        """
        for name in ("keys", "values"):
            mine, others = getattr(self, name), getattr(other, name)
            expected = (*mine.shape[:2], others.shape[2], mine.shape[3])
            if tuple(others.shape) != expected:
                raise ValueError(
                    f"other.{name}: expected the batch, heads and features of the first, "
                    f"{expected}, got the shape {tuple(others.shape)}"
                )
        return KeysValues(
            torch.cat([self.keys, other.keys], dim=2),
            torch.cat([self.values, other.values], dim=2),
        )

    def select(self, rows: Int[Tensor, " row"]) -> "KeysValues":
        """Return the examples with these numbers, in this order; one may come twice.

        >>> both = KeysValues(torch.rand(2, 4, 5, 8), torch.rand(2, 4, 5, 8))
        >>> both.select(torch.tensor([1, 1, 0])).batch_size
        3
        """
        return KeysValues(self.keys[rows], self.values[rows])
