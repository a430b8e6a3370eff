"""Scores that measure how close a key is: by distance, and by direction."""

import torch
from torch import Tensor, nn

from attention_book.attention.checks import check_positive, check_same_features
from attention_book.shapes import Keys, Queries, Scores


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
