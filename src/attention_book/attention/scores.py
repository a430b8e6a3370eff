"""Scoring functions (additive, dot product, bilinear): how well a key matches a query.

Every score is a module that takes queries (\\*batch, query, d_q) and keys
(\\*batch, key, d_k) and returns scores (\\*batch, query, key): :class:`Score`.
Those that can project the keys beforehand, once for many queries to come, are
:class:`~attention_book.attention.KeyProjectingScore` too.
"""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.foundations.checks import (
    check_feature_sizes,
    check_positive,
    check_same_features,
    check_sizes,
)
from attention_book.foundations.fitting import Fitting
from attention_book.foundations.shapes import Keys, Queries, Scores


@runtime_checkable
class Score(Protocol, metaclass=Fitting):
    """Anything that scores every key for every query."""

    def __call__(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores (\\*batch, query, key)."""
        ...


class DotScore(nn.Module):
    """Score by the dot product: :math:`a(q, k) = q^\\top k` (Luong et al. 2015, "dot").

    >>> DotScore()(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[11.,  2.]])
    """

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return :math:`Q K^\\top`."""
        check_same_features(queries, keys)
        return queries @ keys.mT

    def project_keys(self, keys: Keys) -> Keys:
        """Return the keys as they are."""
        return keys

    def compare(self, queries: Queries, projected: Keys) -> Scores:
        """Return the scores against keys from :meth:`project_keys`."""
        return self.forward(queries, projected)


class ScaledDotScore(nn.Module):
    """Score by the scaled dot product: :math:`a(q, k) = q^\\top k / \\sqrt{d_k}`.

    Vaswani et al. (2017), equation 1. The scale keeps the variance of the scores
    at 1 when the features of queries and keys are independent with variance 1.

    >>> ScaledDotScore()(torch.ones(1, 4), torch.ones(2, 4))
    tensor([[2., 2.]])
    """

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return :math:`Q K^\\top / \\sqrt{d_k}`."""
        check_same_features(queries, keys)
        # Scaled before the product: half precision could overflow in between.
        return (queries / math.sqrt(keys.shape[-1])) @ keys.mT

    def project_keys(self, keys: Keys) -> Keys:
        """Return the keys as they are."""
        return keys

    def compare(self, queries: Queries, projected: Keys) -> Scores:
        """Return the scores against keys from :meth:`project_keys`."""
        return self.forward(queries, projected)


class BilinearScore(nn.Module):
    """Score through a learned matrix: :math:`a(q, k) = q^\\top W k` (Luong et al. 2015, "general").

    Args:
        d_q: Feature size of the queries.
        d_k: Feature size of the keys.

    >>> BilinearScore(d_q=2, d_k=3)(torch.rand(4, 2), torch.rand(5, 3)).shape
    torch.Size([4, 5])
    """

    def __init__(self, *, d_q: int, d_k: int) -> None:
        """Draw W as Glorot and Bengio (2010) do."""
        super().__init__()
        check_sizes(d_q=d_q, d_k=d_k)
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(d_q, d_k)))

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return :math:`Q W K^\\top`."""
        check_feature_sizes(queries, keys, *self.W.shape)
        return queries @ self.W @ keys.mT

    def project_keys(self, keys: Keys) -> Float[Tensor, "*batch key d_q"]:
        """Return :math:`K W^\\top`, so that a plain dot product is left to do."""
        return keys @ self.W.T

    def compare(self, queries: Queries, projected: Keys) -> Scores:
        """Return the scores against keys from :meth:`project_keys`."""
        check_same_features(queries, projected)
        return queries @ projected.mT


class AdditiveScore(nn.Module):
    """Score with a small network: :math:`a(q, k) = w_v^\\top \\tanh(W_q q + W_k k)`.

    Bahdanau et al. (2015), appendix A.1.2. Query and key may differ in size.

    Args:
        d_q: Feature size of the queries.
        d_k: Feature size of the keys.
        d_hidden: Width of the hidden layer.
        bias: Add a learned bias inside the tanh. Without it the score is odd,
            :math:`a(-q, -k) = -a(q, k)`, whatever its weights.

    >>> AdditiveScore(d_q=2, d_k=3, d_hidden=8)(torch.rand(4, 2), torch.rand(5, 3)).shape
    torch.Size([4, 5])
    """

    def __init__(self, *, d_q: int, d_k: int, d_hidden: int, bias: bool = False) -> None:
        """Create the three linear maps; one bias is enough for the hidden layer."""
        super().__init__()
        check_sizes(d_q=d_q, d_k=d_k, d_hidden=d_hidden)
        self.W_q = nn.Linear(d_q, d_hidden, bias=False)
        self.W_k = nn.Linear(d_k, d_hidden, bias=bias)
        self.w_v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores of all pairs."""
        check_feature_sizes(queries, keys, self.W_q.in_features, self.W_k.in_features)
        return self.compare(queries, self.project_keys(keys))

    def project_keys(self, keys: Keys) -> Float[Tensor, "*batch key d_hidden"]:
        """Return :math:`W_k K`: the keys' share of the hidden layer, the same for every query."""
        projected: Tensor = self.W_k(keys)
        return projected

    def compare(self, queries: Queries, projected: Float[Tensor, "*batch key d_hidden"]) -> Scores:
        """Return the scores against keys from :meth:`project_keys`.

        The hidden layer has the axes (query, key, d_hidden).
        """
        if queries.shape[-2] == 1:  # a decoder's single query: no fourth axis, less work
            one: Tensor = self.w_v(torch.tanh(self.W_q(queries) + projected))
            return one.mT
        hidden = torch.tanh(self.W_q(queries)[..., :, None, :] + projected[..., None, :, :])
        scores: Tensor = self.w_v(hidden)
        return scores.squeeze(-1)


class ConcatLinearScore(nn.Module):
    """Score the pair with one linear map: :math:`a(q, k) = w^\\top [q; k] + b`.

    Without a nonlinearity the query adds the same number to the scores of all
    keys, and softmax takes no notice of it: the weights do not depend on the query.

    Args:
        d_q: Feature size of the queries.
        d_k: Feature size of the keys.

    >>> score = ConcatLinearScore(d_q=2, d_k=3)
    >>> row, other_row = score(torch.rand(2, 2), torch.rand(5, 3)).softmax(-1)
    >>> torch.allclose(row, other_row)
    True
    """

    def __init__(self, *, d_q: int, d_k: int) -> None:
        """Create the linear map."""
        super().__init__()
        check_sizes(d_q=d_q, d_k=d_k)
        self.d_q, self.d_k = d_q, d_k
        self.w = nn.Linear(d_q + d_k, 1)

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores of all pairs."""
        check_feature_sizes(queries, keys, self.d_q, self.d_k)
        scores: Tensor = self.w(_pairs(queries, keys))
        return scores.squeeze(-1)


class ConcatTanhSumScore(nn.Module):
    """Score the pair with one layer, summed: :math:`a(q, k) = \\sum_h \\tanh(W [q; k] + b)_h`.

    Args:
        d_q: Feature size of the queries.
        d_k: Feature size of the keys.
        d_hidden: Width of the layer.

    >>> ConcatTanhSumScore(d_q=2, d_k=3, d_hidden=8)(torch.rand(4, 2), torch.rand(5, 3)).shape
    torch.Size([4, 5])
    """

    def __init__(self, *, d_q: int, d_k: int, d_hidden: int) -> None:
        """Create the layer."""
        super().__init__()
        check_sizes(d_q=d_q, d_k=d_k, d_hidden=d_hidden)
        self.d_q, self.d_k = d_q, d_k
        self.W = nn.Linear(d_q + d_k, d_hidden)

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores of all pairs."""
        check_feature_sizes(queries, keys, self.d_q, self.d_k)
        return torch.tanh(self.W(_pairs(queries, keys))).sum(dim=-1)


def _pairs(queries: Queries, keys: Keys) -> Float[Tensor, "*batch query key d_q+d_k"]:
    """Concatenate every query with every key."""
    shape = (*queries.shape[:-1], keys.shape[-2])
    return torch.cat(
        (
            queries[..., :, None, :].expand(*shape, queries.shape[-1]),
            keys[..., None, :, :].expand(*shape, keys.shape[-1]),
        ),
        dim=-1,
    )


class GaussianScore(nn.Module):
    """Score by closeness: :math:`a(q, k) = -\\lVert q - k \\rVert^2 / (2 h^2)`.

    After softmax this is Nadaraya-Watson regression with a Gaussian kernel of
    bandwidth h.

    Args:
        bandwidth: The width h of the kernel.

    Raises:
        ValueError: if the bandwidth is not positive.

    >>> GaussianScore(bandwidth=2.0)(torch.zeros(1, 1), torch.tensor([[0.0], [4.0]]))
    tensor([[-0., -2.]])
    """

    def __init__(self, *, bandwidth: float = 1.0) -> None:
        """Keep the bandwidth."""
        super().__init__()
        check_positive("bandwidth", bandwidth)
        self.bandwidth = bandwidth

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores of all pairs.

        The differences are taken before they are squared: the cheaper
        :math:`q^\\top k - q^\\top q / 2 - k^\\top k / 2` cancels badly far from the origin.
        """
        check_same_features(queries, keys)
        steps = (queries[..., :, None, :] - keys[..., None, :, :]) / self.bandwidth
        return -steps.square().sum(dim=-1) / 2


class CosineScore(nn.Module):
    """Score by direction alone: :math:`a(q, k) = \\cos(q, k) / \\tau`.

    A vector of zeros has no direction; its cosine with every other is taken to be 0.

    Args:
        temperature: The divisor :math:`\\tau`; small values sharpen the weights.

    Raises:
        ValueError: if the temperature is not positive.

    >>> CosineScore()(torch.tensor([[3.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.0, 2.0]]))
    tensor([[1., 0.]])
    """

    def __init__(self, *, temperature: float = 1.0) -> None:
        """Keep the temperature."""
        super().__init__()
        check_positive("temperature", temperature)
        self.temperature = temperature

    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores of all pairs."""
        check_same_features(queries, keys)
        return _directions(queries) @ _directions(keys).mT / self.temperature


def _directions(vectors: Tensor) -> Tensor:
    """Divide each vector by its norm, and leave zeros as they are."""
    norms: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / norms.masked_fill(norms == 0, 1.0)


@runtime_checkable
class KeyProjectingScore(Protocol):
    """A score whose work on the keys can be done before any query is known.

    The law: ``score(queries, keys) == score.compare(queries, score.project_keys(keys))``.
    """

    def __call__(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores (\\*batch, query, key)."""
        ...

    def project_keys(self, keys: Keys) -> Float[Tensor, "*batch key d_projected"]:
        """Do the part of the work that depends on the keys alone."""
        ...

    def compare(
        self, queries: Queries, projected: Float[Tensor, "*batch key d_projected"]
    ) -> Scores:
        """Return the scores against projected keys."""
        ...


class OverProjectedKeys(nn.Module):
    """The same score, for keys that are already projected.

    A decoder asks the same source at every step. Its keys are projected when the
    source is read; ``Attention(OverProjectedKeys(score))`` then takes them in the
    place of the keys.

    Args:
        score: The score to use; its parameters are shared, not copied.

    >>> import torch
    >>> from attention_book.attention import AdditiveScore
    >>> score = AdditiveScore(d_q=2, d_k=3, d_hidden=8)
    >>> queries, keys = torch.rand(4, 2), torch.rand(5, 3)
    >>> projected = score.project_keys(keys)
    >>> torch.equal(OverProjectedKeys(score)(queries, projected), score(queries, keys))
    True
    """

    def __init__(self, score: KeyProjectingScore) -> None:
        """Keep the score."""
        super().__init__()
        if not isinstance(score, KeyProjectingScore):
            raise TypeError(
                "score: expected a score with project_keys and compare, such as AdditiveScore, "
                f"got {type(score).__name__}"
            )
        self.score = score

    def project_keys(self, keys: Keys) -> Float[Tensor, "*batch key d_projected"]:
        """Do the keys' share of the score's work."""
        return self.score.project_keys(keys)

    def forward(
        self, queries: Queries, projected: Float[Tensor, "*batch key d_projected"]
    ) -> Scores:
        """Return the scores (\\*batch, query, key)."""
        return self.score.compare(queries, projected)
