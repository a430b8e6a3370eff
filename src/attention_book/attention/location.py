"""Location-based attention: the weights depend on the decoder alone, not on the keys."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.masks import without_hidden
from attention_book.attention.softmax import masked_softmax
from attention_book.foundations.checks import check_features, check_floating, check_sizes
from attention_book.foundations.shapes import Mask, Values

LocationQueries = Float[Tensor, "*batch query d_q"]
State = Float[Tensor, "*batch query d_k"]


class LocationAttention(nn.Module):
    """Attend to numbered places: the scores never see the keys.

    .. math::

        \\alpha = \\operatorname{softmax}(W [q; s] + b), \\qquad
        o = W_o \\Bigl[q; \\sum_j \\alpha_j v_j\\Bigr] + b_o

    One linear map turns the query q and the decoder's state s into ``num_keys``
    scores, one for each *place* of the input. The number of places is fixed once
    and for all, and shuffling the values does not move the weights. It is the
    attention of many translation tutorials (Luong et al. 2015, equation 8, is its
    relative).

    Args:
        d_q: Feature size of the queries.
        d_k: Feature size of the state.
        num_keys: Number of values, fixed.
        d_v: Feature size of the values.
        d_out: Feature size of the output.

    >>> attention = LocationAttention(d_q=2, d_k=3, num_keys=5, d_v=4, d_out=6)
    >>> attention(torch.rand(1, 2), torch.rand(1, 3), torch.rand(5, 4)).shape
    torch.Size([1, 6])
    """

    def __init__(self, *, d_q: int, d_k: int, num_keys: int, d_v: int, d_out: int) -> None:
        """Create the two linear maps."""
        super().__init__()
        check_sizes(d_q=d_q, d_k=d_k, num_keys=num_keys, d_v=d_v, d_out=d_out)
        self.d_q, self.d_k, self.num_keys, self.d_v = d_q, d_k, num_keys, d_v
        self.score = nn.Linear(d_q + d_k, num_keys)
        self.combine = nn.Linear(d_q + d_v, d_out)

    def weights(
        self, queries: LocationQueries, state: State, mask: Mask | None = None
    ) -> Float[Tensor, "*batch query key"]:
        """Return the weight of each place.

        Raises:
            ValueError: if there is not one state of size d_k for each query of size d_q.
        """
        check_floating("queries and state", queries, state)
        if queries.ndim < 2 or queries.shape[:-1] != state.shape[:-1]:
            raise ValueError(
                "queries and state: expected one state for each query, the axes "
                "(*batch, query, d_q) and (*batch, query, d_k), "
                f"got the shapes {tuple(queries.shape)} and {tuple(state.shape)}"
            )
        check_features("queries", queries, self.d_q)
        check_features("state", state, self.d_k)
        return masked_softmax(self.score(torch.cat((queries, state), dim=-1)), mask)

    def forward(
        self, queries: LocationQueries, state: State, values: Values, mask: Mask | None = None
    ) -> Float[Tensor, "*batch query d_out"]:
        """Return the query and the values at the attended places, combined.

        Raises:
            ValueError: if there are not exactly ``num_keys`` values.
        """
        weights = self.weights(queries, state, mask)
        expected = (*queries.shape[:-2], self.num_keys, self.d_v)
        if values.shape != expected:
            raise ValueError(
                f"values: expected num_keys={self.num_keys} values of size d_v={self.d_v}, "
                f"the shape {expected}, got the shape {tuple(values.shape)}"
            )
        (values,) = without_hidden(mask, values)
        pooled = weights @ values
        output: Tensor = self.combine(torch.cat((queries, pooled), dim=-1))
        return output
