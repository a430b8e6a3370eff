"""Project the keys once, and compare them with many queries that come one after the other."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.shapes import Keys, Queries, Scores


@runtime_checkable
class KeyProjectingScore(Protocol):
    """A score whose work on the keys can be done before any query is known.

    The law: ``score(queries, keys) == score.compare(queries, score.project_keys(keys))``.
    """

    def __call__(self, queries: Queries, keys: Keys) -> Scores:
        """Return the scores (\\*batch, query, key)."""
        ...

    def project_keys(self, keys: Keys) -> Float[Tensor, "*batch key d_projected"]:
        """Do the keys' share of the work."""
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
