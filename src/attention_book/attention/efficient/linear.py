"""Linear attention (Katharopoulos et al. 2020): one sum over the keys serves every query."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.masks import check_mask, without_hidden
from attention_book.foundations.checks import check_same_features, check_sizes, check_values
from attention_book.foundations.shapes import Keys, Mask, Output, Queries, Values, Weights


def elu_features(x: Float[Tensor, "*batch position d_k"]) -> Float[Tensor, "*batch position d_k"]:
    """Map queries or keys to positive features.

    .. math:: \\phi(x) = \\operatorname{elu}(x) + 1 =
        \\begin{cases} x + 1 & x > 0 \\\\ e^x & x \\le 0 \\end{cases}

    Katharopoulos et al. (2020), equation 7. Positive features make positive weights.

    >>> elu_features(torch.tensor([[-1.0, 0.0, 2.0]]))
    tensor([[0.3679, 1.0000, 3.0000]])
    """
    # Not as elu(x) + 1: that rounds to 0, where e^x is small but positive.
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


@dataclass(frozen=True)
class LinearState:
    """Everything linear attention remembers of the keys and values, however many there were.

    .. math:: S = \\sum_j \\phi(k_j) \\, v_j^\\top, \\qquad z = \\sum_j \\phi(k_j)

    Attributes:
        matrix: S, which holds the values under the features of their keys.
        total: z, the same for values of 1.

    >>> keys, values, query = torch.rand(5, 4), torch.rand(5, 3), torch.rand(1, 4)
    >>> state = LinearState.empty(keys, values)
    >>> for key, value in zip(keys.split(1), values.split(1)):
    ...     state = state.add(key, value)
    >>> torch.allclose(state.read(query), linear_attention(query, keys, values), atol=1e-6)
    True
    """

    matrix: Float[Tensor, "*batch d_k d_v"]
    total: Float[Tensor, "*batch d_k"]

    @classmethod
    def empty(cls, keys: Keys, values: Values) -> "LinearState":
        """Return the state before the first key, for keys and values like these."""
        check_values(keys, values)
        d_k = keys.shape[-1]
        return cls(
            values.new_zeros(*values.shape[:-2], d_k, values.shape[-1]),
            keys.new_zeros(*keys.shape[:-2], d_k),
        )

    def add(self, keys: Keys, values: Values, mask: Mask | None = None) -> "LinearState":
        """Return the state after these keys too; a key that is hidden adds nothing.

        Args:
            keys: (\\*batch, key, d_k).
            values: (\\*batch, key, d_v).
            mask: True where a key may be seen, (\\*batch, 1, key).

        Raises:
            TypeError: if ``mask`` is not boolean.
            ValueError: if the shapes do not fit, or a mask has a row for each query.
        """
        check_values(keys, values)
        _check_mask(keys, mask)
        keys, values = without_hidden(mask, keys, values)
        return self._add(keys, values, mask)

    def _add(self, keys: Tensor, values: Tensor, mask: Tensor | None) -> "LinearState":
        mapped = _mapped_keys(keys, mask)
        return LinearState(self.matrix + mapped.mT @ values, self.total + mapped.sum(dim=-2))

    def read(self, queries: Queries) -> Output:
        """Answer queries by what was added so far; where that is nothing, with exactly 0.

        .. math:: \\frac{\\phi(q)^\\top S}{\\phi(q)^\\top z}
        """
        mapped = elu_features(queries)
        return _quotient(mapped @ self.matrix, mapped @ self.total.unsqueeze(-1))


def linear_attention(
    queries: Queries,
    keys: Keys,
    values: Values,
    mask: Mask | None = None,
    *,
    is_causal: bool = False,
    chunk: int = 64,
) -> Output:
    """Attend with :math:`\\phi(q)^\\top\\phi(k)` instead of an exponential: linear in the length.

    .. math:: o_i = \\frac{\\phi(q_i)^\\top \\sum_j \\phi(k_j) \\, v_j^\\top}
        {\\phi(q_i)^\\top \\sum_j \\phi(k_j)}

    Katharopoulos et al. (2020), equations 5 and 6. It is no approximation of softmax
    attention but another function. Causal: the sums run to j = i (equations 8 to 12), chunk
    by chunk; a :class:`LinearState` goes from one to the next.

    Args:
        queries: What is asked, (\\*batch, query, d_k).
        keys: What is compared with the queries, (\\*batch, key, d_k).
        values: What is averaged, (\\*batch, key, d_v).
        mask: True where a key may be seen, (\\*batch, 1, key): the same for all queries,
            for they share one sum.
        is_causal: Let query i see keys 0 to i only.
        chunk: Positions that are computed side by side where ``is_causal``.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if the shapes do not fit, a mask has a row for each query, or there are
            not as many keys as queries where ``is_causal``.

    >>> x = torch.rand(100, 8)
    >>> causal = linear_attention(x, x, x, is_causal=True)
    >>> torch.allclose(causal[-1:], linear_attention(x[-1:], x, x), atol=1e-6)
    True
    """
    check_same_features(queries, keys)
    check_values(keys, values)
    _check_mask(keys, mask)
    keys, values = without_hidden(mask, keys, values)
    narrow = values.dtype
    queries, keys, values = (_wide(each) for each in (queries, keys, values))
    state = LinearState.empty(keys, values)
    if not is_causal:
        return state._add(keys, values, mask).read(queries).to(narrow)
    check_sizes(chunk=chunk)
    if queries.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "is_causal: expected as many keys as queries, "
            f"got {keys.shape[-2]} keys and {queries.shape[-2]} queries"
        )
    outputs = []
    for start in range(0, keys.shape[-2], chunk):
        here = slice(start, start + chunk)
        seen = mask[..., here] if mask is not None and mask.shape[-1] > 1 else mask
        part = queries[..., here, :], keys[..., here, :], values[..., here, :]
        outputs.append(_causal_chunk(state, *part, seen))
        state = state._add(*part[1:], seen)
    return torch.cat(outputs, dim=-2).to(narrow)


def linear_attention_weights(queries: Queries, keys: Keys, mask: Mask | None = None) -> Weights:
    """Compute the weights that ``linear_attention`` itself never forms, for inspection.

    .. math:: \\alpha_{ij} =
        \\frac{\\phi(q_i)^\\top \\phi(k_j)}{\\sum_l \\phi(q_i)^\\top \\phi(k_l)}

    As a matrix they have at most the rank d_k.

    Args:
        queries: What is asked, (\\*batch, query, d_k).
        keys: What is compared with the queries, (\\*batch, key, d_k).
        mask: True where the query may see the key; any mask will do here.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if the shapes do not fit.

    >>> linear_attention_weights(torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]]))
    tensor([[0.2500, 0.7500]])
    """
    check_same_features(queries, keys)
    if mask is not None:
        shape = (queries.shape[-2], keys.shape[-2])
        check_mask(mask, *shape, batch=keys.shape[:-2], device=keys.device)
    (keys,) = without_hidden(mask, keys)
    products = elu_features(_wide(queries)) @ elu_features(_wide(keys)).mT
    if mask is not None:
        products = products.masked_fill(~mask, 0.0)
    return _quotient(products, products.sum(dim=-1, keepdim=True)).to(queries.dtype)


def _causal_chunk(
    state: LinearState, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor:
    """Answer by the state for all earlier keys, and one by one for those of the chunk."""
    asked, mapped = elu_features(queries), _mapped_keys(keys, mask)
    products = (asked @ mapped.mT).tril()
    return _quotient(
        asked @ state.matrix + products @ values,
        asked @ state.total.unsqueeze(-1) + products.sum(dim=-1, keepdim=True),
    )


def _mapped_keys(keys: Tensor, mask: Tensor | None) -> Tensor:
    mapped = elu_features(keys)
    return mapped if mask is None else mapped.masked_fill(~mask.mT, 0.0)


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Divide; where nothing was seen both are 0, and so is the result."""
    return numerator / denominator.masked_fill(denominator == 0, 1.0)


def _wide(x: Tensor) -> Tensor:
    """Return at least single precision: in half precision, long sums overflow or stop growing."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _check_mask(keys: Tensor, mask: Tensor | None) -> None:
    if mask is not None:  # one row for all queries
        check_mask(mask, 1, keys.shape[-2], batch=keys.shape[:-2], device=keys.device)


__all__ = ["LinearState", "elu_features", "linear_attention", "linear_attention_weights"]
