"""The recurrent form: a state of fixed size, written one position after another."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.masks import check_mask
from attention_book.foundations.checks import check_floating, check_queries_keys, check_values
from attention_book.foundations.shapes import Keys, Mask, Output, Queries, Values

#: One number for each position: a decay's logarithm, or a strength.
PerPosition = Float[Tensor, "*batch key"]


@dataclass(frozen=True, eq=False)
class FixedState:
    """A matrix that remembers keys and values, however many there were.

    Position j forgets a little of what is there and writes :math:`u_j` under its key:

    .. math:: S_j = a_j \\, S_{j-1} + k_j \\, u_j^\\top, \\qquad o_i = S_i^\\top q_i

    What is written decides everything else. Without a strength it is the value itself,
    :math:`u_j = v_j`: the state is a sum (linear attention, Katharopoulos et al. 2020), or,
    with :math:`a_j < 1`, a sum that decays (RetNet, Sun et al. 2023; Mamba-2, Dao and Gu 2024).
    With a strength :math:`\\beta_j` it is what the value adds to the answer that the state
    already gives for this key, the delta rule (Schlag et al. 2021), gated by
    :math:`a_j` (Yang et al. 2025, "Gated Delta Networks"):

    .. math:: u_j = \\beta_j \\, (v_j - a_j \\, S_{j-1}^\\top k_j)

    Attributes:
        matrix: S; single precision at least.

    >>> keys, values = torch.eye(2)[[0, 1, 0]], torch.tensor([[5.0], [7.0], [9.0]])
    >>> FixedState.empty(keys, values).write(keys, values).read(torch.eye(2))
    tensor([[14.],
            [ 7.]])
    >>> state = FixedState.empty(keys, values).write(keys, values, strength=torch.ones(3))
    >>> state.read(torch.eye(2))
    tensor([[9.],
            [7.]])
    """

    matrix: Float[Tensor, "*batch d_k d_v"]

    @classmethod
    def empty(cls, keys: Keys, values: Values) -> "FixedState":
        """Return the state before the first key, for keys and values like these."""
        check_floating("keys and values", keys, values)
        check_values(keys, values)
        *batch, _, d_k = keys.shape
        return cls(widened(values).new_zeros(*batch, d_k, values.shape[-1]))

    def write(
        self,
        keys: Keys,
        values: Values,
        mask: Mask | None = None,
        *,
        log_decay: PerPosition | None = None,
        strength: PerPosition | None = None,
    ) -> "FixedState":
        """Return the state after these positions, one after another.

        Args:
            keys: (\\*batch, key, d_k). With a strength, of length at most 1, or the state may
                grow without bound.
            values: (\\*batch, key, d_v).
            mask: True where a key may be seen, (\\*batch, 1, key). A hidden position neither
                writes nor forgets.
            log_decay: log a, finite and at most 0, (\\*batch, key); None: nothing is forgotten.
            strength: :math:`\\beta`, from 0 (nothing is written) through 1 (the key's old value
                is replaced) to 2, (\\*batch, key); None: values are added up. A write multiplies
                what a key of length 1 reads by :math:`1 - \\beta` before it adds. Above 1 this is
                negative, and a sign that flips can keep parity (Grazzi et al. 2025).

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or a mask has a row for each query.
        """
        keys, values, log_decay, strength = prepared(keys, values, mask, log_decay, strength)
        matrix = self.matrix
        for position in range(keys.shape[-2]):
            here = slice(position, position + 1)
            key, written = keys[..., here, :], values[..., here, :]
            if log_decay is not None:
                matrix = log_decay[..., here, :].exp() * matrix
            if strength is not None:
                written = strength[..., here, :] * (written - key @ matrix)
            matrix = matrix + key.mT @ written
        return FixedState(matrix)

    def read(self, queries: Queries) -> Output:
        """Answer queries by what was written so far: :math:`S^\\top q`."""
        return (widened(queries) @ self.matrix).to(queries.dtype)


def prepared(
    keys: Keys,
    values: Values,
    mask: Mask | None,
    log_decay: PerPosition | None,
    strength: PerPosition | None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Check what is written; return it in single precision at least, hidden positions as zeros.

    Decay and strength come back with an axis of size 1 for the features.
    """
    check_queries_keys(keys, keys)
    check_values(keys, values)
    for name, numbers in (("log_decay", log_decay), ("strength", strength)):
        if numbers is not None and numbers.shape != keys.shape[:-1]:
            raise ValueError(
                f"{name}: expected one number for each key, the shape {tuple(keys.shape[:-1])}, "
                f"got the shape {tuple(numbers.shape)}"
            )
    columns = [None if each is None else each.unsqueeze(-1) for each in (log_decay, strength)]
    parts = [None if each is None else widened(each) for each in (keys, values, *columns)]
    if mask is not None:
        check_mask(mask, 1, keys.shape[-2], batch=keys.shape[:-2], device=keys.device)
        parts = [None if each is None else each.masked_fill(~mask.mT, 0.0) for each in parts]
    return parts[0], parts[1], parts[2], parts[3]  # type: ignore[return-value]


def widened(x: Tensor) -> Tensor:
    """Return at least single precision: in half precision, long sums stop growing."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


__all__ = ["FixedState"]
