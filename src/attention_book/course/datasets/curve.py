"""Noisy samples of a known curve, for regression."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.foundations.checks import check_sizes


@dataclass(frozen=True)
class RegressionData:
    """Noisy points of a curve, and the curve itself where we will predict.

    Attributes:
        x_train: Where the points lie, sorted, (n_train,).
        y_train: Their noisy values, (n_train,).
        x_test: Where to predict, (n_test,).
        y_true: The curve without noise at ``x_test``.

    >>> sine_data(n_train=7).n_test
    50
    """

    x_train: Float[Tensor, " n_train"]
    y_train: Float[Tensor, " n_train"]
    x_test: Float[Tensor, " n_test"]
    y_true: Float[Tensor, " n_test"]

    @property
    def n_test(self) -> int:
        """How many places to predict at."""
        return len(self.x_test)


def sine_data(*, n_train: int = 50, noise: float = 0.5) -> RegressionData:
    """Draw points around a curve on [0, 5).

    .. math:: y = 2 \\sin x + x^{0.8} + \\varepsilon,
        \\qquad \\varepsilon \\sim N(0, \\text{noise}^2)

    Draws ``torch.rand(n_train)`` and then ``torch.normal(0, noise, (n_train,))``
    from the global generator, in this order.

    Raises:
        ValueError: if ``n_train`` is below 1, or ``noise`` is negative.

    >>> from attention_book import set_seed
    >>> set_seed(42)
    >>> data = sine_data()
    >>> data.x_train[:3]
    tensor([0.0308, 0.3763, 0.5266])
    >>> data.x_test[:3]
    tensor([0.0000, 0.1000, 0.2000])
    """
    check_sizes(n_train=n_train)
    if noise < 0:
        raise ValueError(f"noise: expected a standard deviation, 0 or more, got {noise}")
    x_train = (5 * torch.rand(n_train)).sort().values
    y_train = _curve(x_train) + torch.normal(0.0, noise, (n_train,))
    x_test = torch.arange(0, 5, 0.1)
    return RegressionData(x_train, y_train, x_test, _curve(x_test))


def _curve(x: Tensor) -> Tensor:
    return 2 * torch.sin(x) + x**0.8
