"""Relative positions (Shaw et al. 2018): a learned vector for each distance."""

import math

import torch
from torch import Tensor, nn

from attention_book.attention.positions.scheme import Positions
from attention_book.attention.visibility import Places
from attention_book.foundations.checks import check_features, check_floating, check_sizes
from attention_book.foundations.shapes import HeadBias, HeadOutput, HeadQueries, HeadWeights


class RelativePositions(Positions):
    """Let keys and values depend on their distance from the query.

    .. math::

        e_{ij} = \\frac{q_i^\\top (k_j + a^K_{ij})}{\\sqrt{d_k}}, \\qquad
        z_i = \\sum_j \\alpha_{ij} (v_j + a^V_{ij}), \\qquad
        a_{ij} = w_{\\operatorname{clip}(j - i,\\, -m,\\, m)}

    Shaw, Uszkoreit and Vaswani (2018), equations 3 and 4. Distances beyond
    :math:`m` share the vector of :math:`m`; all heads share all vectors.

    Args:
        d_k: Feature size of the queries, keys and values in each head.
        max_distance: :math:`m`.
        values: Also add vectors to the values. The paper found those of the keys enough.

    >>> positions = RelativePositions(d_k=4, max_distance=2)
    >>> bias = positions.bias(torch.ones(1, 1, 5, 4), Places(5, 5))[0, 0]
    >>> torch.equal(bias[0, :3], bias[1, 1:4])  # distances 0, 1, 2 from either query
    True
    """

    def __init__(self, *, d_k: int, max_distance: int, values: bool = True) -> None:
        """Draw 2 max_distance + 1 vectors for the keys and, if asked for, for the values."""
        super().__init__()
        check_sizes(d_k=d_k, max_distance=max_distance)
        self.max_distance = max_distance
        self.keys = nn.Parameter(torch.empty(2 * max_distance + 1, d_k))
        self.values = nn.Parameter(torch.empty(2 * max_distance + 1, d_k)) if values else None
        self.biases_values = values
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors."""
        for vectors in self.parameters(recurse=False):
            nn.init.xavier_uniform_(vectors)

    def bias(self, queries: HeadQueries, at: Places, *, scale: float | None = None) -> HeadBias:
        """Return :math:`q_i^\\top a^K_{ij} / \\sqrt{d_k}`, or times ``scale``.

        Raises:
            ValueError: if the last axis of the queries is not d_k long.
        """
        d_k = self.keys.shape[-1]
        check_floating("queries", queries)
        check_features("queries", queries, d_k)
        rows = self._rows(at, queries.device)
        # One product for each distance; every pair then picks the one it needs.
        scale = 1 / math.sqrt(d_k) if scale is None else scale
        by_distance = queries * scale @ self.keys.to(queries.dtype).T
        return by_distance.gather(-1, rows.expand(*queries.shape[:-2], *rows.shape))

    def value_bias(self, weights: HeadWeights, at: Places) -> HeadOutput | None:
        """Return :math:`\\sum_j \\alpha_{ij} a^V_{ij}`."""
        if self.values is None:
            return None
        check_floating("weights", weights)
        rows = self._rows(at, weights.device)
        # Weights of the same distance are added up; one product then does for all.
        zeros = weights.new_zeros(*weights.shape[:-1], len(self.values))
        by_distance = zeros.scatter_add(-1, rows.expand_as(weights), weights)
        return by_distance @ self.values.to(weights.dtype)

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return (
            f"d_k={self.keys.shape[-1]}, max_distance={self.max_distance}, "
            f"values={self.biases_values}"
        )

    def _rows(self, at: Places, device: torch.device) -> Tensor:
        """Return the row of every pair's vector: distances -m … m are the rows 0 … 2m."""
        m = self.max_distance
        return at.distances(device).clamp(-m, m) + m
