"""Linear attention (Katharopoulos et al. 2020): one sum over the keys serves every query."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.masks import check_mask, without_hidden
from attention_book.foundations.checks import (
    check_same_features,
    check_sizes,
    check_values,
    is_strict,
    reject_where,
)
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


_USUAL = 32.0  # powers of two on either side of 1 that leave room for a product and a sum
_TINY, _LARGE = -40.0, 80.0  # where a feature is better known by its logarithm; what exp can take
_ROOM = 64.0
_LEAST = -(2.0**16)  # below, single precision has too few digits to tell features apart
_LOG_2_HIGH = 0.693359375  # 9 digits after the point in base 2
_LOG_2_LOW = math.log(2) - _LOG_2_HIGH


@dataclass(frozen=True, eq=False)
class LinearState:
    """Everything linear attention remembers of the keys and values, however many there were.

    .. math:: S = \\sum_j \\phi(k_j) \\, v_j^\\top, \\qquad z = \\sum_j \\phi(k_j)

    A feature that was tiny or huge under all keys so far, as :math:`e^{-60}` is, is kept as a
    number of ordinary size and a power of two, for its square would be no number any more.

    Attributes:
        matrix: S, which holds the values under the features of their keys; row d times
            :math:`2^{p_d}`.
        total: z, the same for values of 1.
        power: p, whole numbers, 0 for ordinary features; None stands for zeros.

    >>> keys, values, query = torch.rand(5, 4), torch.rand(5, 3), torch.rand(1, 4)
    >>> state = LinearState.empty(keys, values)
    >>> for key, value in zip(keys.split(1), values.split(1)):
    ...     state = state.add(key, value)
    >>> torch.allclose(state.read(query), linear_attention(query, keys, values), atol=1e-6)
    True
    """

    matrix: Float[Tensor, "*batch d_k d_v"]
    total: Float[Tensor, "*batch d_k"]
    power: Float[Tensor, "*batch d_k"] | None = None

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
        return self._add(_told_apart("keys", keys), values, mask)

    def _add(self, keys: Tensor, values: Tensor, mask: Tensor | None) -> "LinearState":
        logs = _visible(_log2_features(keys), mask)
        before, total = self._power(), self.total.detach()
        known = total.masked_fill(total == 0, 1.0).log2() + before
        known = known.masked_fill(total == 0, -math.inf)
        power = _unusual(torch.maximum(known, _largest(logs, dim=-2)))
        mapped = _features(keys, _base(keys), -power.unsqueeze(-2))
        if mask is not None:
            mapped = mapped.masked_fill(~mask.mT, 0.0)
        kept = _two_to((before - power).masked_fill(total == 0, 0.0))
        return LinearState(
            kept.unsqueeze(-1) * self.matrix + mapped.mT @ values,
            kept * self.total + mapped.sum(dim=-2),
            power,
        )

    def read(self, queries: Queries) -> Output:
        """Answer queries by what was added so far; where that is nothing, with exactly 0.

        .. math:: \\frac{\\phi(q)^\\top S}{\\phi(q)^\\top z}
        """
        queries = _told_apart("queries", queries)
        mapped = self.asked(queries, _base(queries), _finite(self.shift(queries)))
        return _quotient(mapped @ self.matrix, mapped @ self.total.unsqueeze(-1))

    def shift(self, queries: Queries) -> Float[Tensor, "*batch query 1"]:
        """Return how large, as a power of two, the largest product of each query is here."""
        known = self._power().masked_fill(self.total == 0, -math.inf)
        logs = _log2_features(queries) + known.unsqueeze(-2)
        return _largest(logs, dim=-1).unsqueeze(-1).floor()

    def asked(
        self, queries: Queries, features: Queries, shift: Float[Tensor, "*batch query 1"]
    ) -> Float[Tensor, "*batch query d_k"]:
        """Return the queries' features as they meet what is kept, divided by 2 to the shift."""
        power = self._power().unsqueeze(-2) - shift
        return _features(queries, features, power.masked_fill((self.total == 0).unsqueeze(-2), 0.0))

    def _power(self) -> Tensor:
        return torch.zeros_like(self.total) if self.power is None else self.power


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
    by chunk; a :class:`LinearState` goes from one to the next. A number of a query or a key
    below -65536 counts as -65536; in strict mode it is an error.

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
    queries, keys = _told_apart("queries", queries), _told_apart("keys", keys)
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
    asked, wide = _told_apart("queries", _wide(queries)), _told_apart("keys", _wide(keys))
    products, exponents = _products(asked, _base(asked), wide, _log2_features(wide))
    if mask is not None:
        products = products.masked_fill(~mask, 0.0)
        exponents = exponents.masked_fill(~mask, -math.inf)
    largest = _finite(_largest(exponents, dim=-1)).unsqueeze(-1)
    products = products * _two_to((exponents - largest).clamp(max=1.0))
    return _quotient(products, products.sum(dim=-1, keepdim=True)).to(queries.dtype)


def _causal_chunk(
    state: LinearState, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor:
    """Answer by the state for all earlier keys, and one by one for those of the chunk."""
    logs = _visible(_log2_features(keys), mask)
    features = _base(queries)
    products, exponents = _products(queries, features, keys, logs)
    count = keys.shape[-2]
    ahead = torch.ones(count, count, dtype=torch.bool, device=keys.device).triu(diagonal=1)
    exponents = exponents.masked_fill(ahead, -math.inf)
    shift = torch.maximum(state.shift(queries), _largest(exponents, dim=-1).unsqueeze(-1))
    shift = _finite(shift)
    products = products * _two_to((exponents - shift).clamp(max=1.0))
    asked = state.asked(queries, features, shift)
    return _quotient(
        asked @ state.matrix + products @ values,
        asked @ state.total.unsqueeze(-1) + products.sum(dim=-1, keepdim=True),
    )


# Features are compared by their logarithms, which have room where the features have none. What
# is multiplied is a power of two each time: it changes no digit, and cancels in the quotient.


def _products(
    queries: Tensor, features: Tensor, keys: Tensor, logs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the products of all features, of ordinary size, and to which power of two they are.

    Args:
        queries: (\\*batch, query, d_k).
        features: The queries' features, from :func:`_base`.
        keys: (\\*batch, key, d_k).
        logs: Logarithms of the keys' features; ``-inf`` where a key is hidden, whose power is
            ``-inf`` too.
    """
    power = _finite(_largest(logs, dim=-2).floor()).unsqueeze(-2)
    of_keys = _largest(logs - power, dim=-1).floor().unsqueeze(-1)
    of_queries = _largest(_log2_features(queries) + power, dim=-1).floor().unsqueeze(-1)
    asked = _features(queries, features, power - of_queries)
    mapped = _features(keys, _base(keys), -power - _finite(of_keys))
    return asked @ mapped.mT, of_queries + of_keys.mT


def _log2_features(x: Tensor) -> Tensor:
    """Return the logarithm of each feature, to tell how large it is: not exactly, nor trained."""
    x = x.detach().nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    return torch.where(x > 0, (x.clamp(min=0) + 1).log2(), x / math.log(2))


def _base(x: Tensor) -> Tensor:
    """Return the features, those of tiny ones a little larger: others take their place."""
    return elu_features(x.clamp(min=_TINY))


def _features(x: Tensor, base: Tensor, power: Tensor) -> Tensor:
    """Return each feature times a power of two, where the feature itself may be no number."""
    within = power.clamp(max=_ROOM)  # more than this only what is tiny is multiplied by
    half = (within / 2).floor()
    ordinary = base * _two_to(half) * _two_to(within - half)
    # The logarithm of 2 in two parts: the first has so few digits that its product is exact.
    tiny = (x.clamp(max=_TINY) + power * _LOG_2_HIGH) + power * _LOG_2_LOW
    return torch.where(x < _TINY, tiny.clamp(max=_LARGE).exp(), ordinary)


def _visible(logs: Tensor, mask: Tensor | None) -> Tensor:
    return logs if mask is None else logs.masked_fill(~mask.mT, -math.inf)


def _largest(logs: Tensor, *, dim: int) -> Tensor:
    """Return the largest along an axis, ``-inf`` where there is none."""
    if logs.shape[dim] == 0:
        return logs.sum(dim=dim) - math.inf
    return logs.amax(dim=dim)


def _finite(power: Tensor) -> Tensor:
    """Put 0 where nothing was seen."""
    return power.masked_fill(power == -math.inf, 0.0)


def _unusual(log: Tensor) -> Tensor:
    """Return the power of two by which features are kept: 0 unless they are tiny or huge."""
    return _finite(log.floor()).where(log.abs() > _USUAL, 0.0)


def _two_to(power: Tensor) -> Tensor:
    """Return a power of two; what is too small is 0."""
    return torch.exp2(power)


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Divide; where nothing was seen both are 0, and so is the result."""
    return numerator / denominator.masked_fill(denominator == 0, 1.0)


def _wide(x: Tensor) -> Tensor:
    """Return at least single precision: in half precision, long sums overflow or stop growing."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _told_apart(name: str, x: Tensor) -> Tensor:
    """Return the numbers, none finite below the least; in strict mode there must be none.

    Raises:
        ValueError: in strict mode, if there is one.
    """
    low = (x < _LEAST) & (x > -math.inf)
    if is_strict():
        reject_where(low, x, name, f"no finite number below {_LEAST:.0f}, whose feature is lost")
    return x.masked_fill(low, _LEAST)


def _check_mask(keys: Tensor, mask: Tensor | None) -> None:
    if mask is not None:  # one row for all queries
        check_mask(mask, 1, keys.shape[-2], batch=keys.shape[:-2], device=keys.device)


__all__ = ["LinearState", "elu_features", "linear_attention", "linear_attention_weights"]
