"""Kernel regression as layers, with a fixed or a learned bandwidth."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.kernels.kernels import (
    Kernel,
    average,
    check_one_value_per_key,
    distances_between,
    find_kernel,
    kernel_weights,
    positive_bandwidth,
)
from attention_book.attention.softmax import masked_softmax
from attention_book.foundations.shapes import (
    Mask,
    NumberKeys,
    NumberQueries,
    NumberValues,
    Predictions,
    Weights,
)

PARAMETERS = ("inverse_width", "log_bandwidth")


class KernelRegression(nn.Module):
    """Nadaraya-Watson regression with a fixed kernel and a fixed bandwidth.

    Args:
        bandwidth: The width h of the kernel, a positive number.
        kernel: A name in ``KERNELS``, or a ``Kernel`` of your own.

    Raises:
        ValueError: if the kernel is unknown or the bandwidth not positive.

    >>> regression = KernelRegression(kernel="boxcar", bandwidth=0.6)
    >>> keys, values = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([10.0, 20.0, 60.0])
    >>> regression(torch.tensor([0.5, 1.5, 9.0]), keys, values)
    tensor([15., 40.,  0.])
    """

    def __init__(self, *, bandwidth: float = 1.0, kernel: str | Kernel = "gaussian") -> None:
        """Keep the kernel and its bandwidth, after checking them."""
        super().__init__()
        positive_bandwidth(bandwidth, like=torch.zeros(()))
        self.bandwidth = bandwidth
        self.kernel = find_kernel(kernel)

    def weights(
        self, queries: NumberQueries, keys: NumberKeys, mask: Mask | None = None
    ) -> Weights:
        """Return the weight of each key for each query."""
        return kernel_weights(
            queries, keys, kernel=self.kernel, bandwidth=self.bandwidth, mask=mask
        )

    def forward(
        self,
        queries: NumberQueries,
        keys: NumberKeys,
        values: NumberValues,
        mask: Mask | None = None,
    ) -> Predictions:
        """Return one weighted average of the values for each query."""
        check_one_value_per_key(keys, values)
        return average(values, self.weights(queries, keys, mask), mask)


class LearnableKernelRegression(nn.Module):
    """Gaussian kernel regression whose bandwidth h is learned.

    .. math:: \\alpha_{ij} = \\operatorname{softmax}_j
        \\left( -\\tfrac12 \\left( \\frac{q_i - k_j}{h} \\right)^2 + b \\right)

    One model, two parametrizations. ``"inverse_width"`` learns w = 1/h: simple,
    but a step of one size in w is a huge step in h here and a tiny one there, and
    the sign of w means nothing. ``"log_bandwidth"`` learns log h: h stays
    positive, and equal steps change it by equal factors.

    Args:
        parameter: ``"inverse_width"`` or ``"log_bandwidth"``.
        initial: The first value of that parameter. By default w is one draw of
            ``torch.rand(1)``, and log h is 0.
        bias: Add a learned number b to every score. Softmax cancels it: it is
            here to show that it changes nothing.

    Raises:
        ValueError: if ``parameter`` is neither of the two.

    >>> regression = LearnableKernelRegression(parameter="log_bandwidth")
    >>> keys, values = torch.tensor([0.0, 1.0]), torch.tensor([10.0, 20.0])
    >>> regression(torch.tensor([0.0, 0.5]), keys, values).detach()
    tensor([13.7754, 15.0000])
    >>> regression.bandwidth.item()
    1.0
    """

    def __init__(
        self,
        *,
        parameter: str = "inverse_width",
        initial: float | None = None,
        bias: bool = False,
    ) -> None:
        """Create the one parameter, and the bias if there is one."""
        super().__init__()
        if parameter not in PARAMETERS:
            raise ValueError(f"parameter: expected one of {PARAMETERS}, got {parameter!r}")
        self.parameter = parameter
        if parameter == "inverse_width":
            self.w = nn.Parameter(torch.rand(1) if initial is None else _number(initial))
        else:
            self.log_bandwidth = nn.Parameter(_number(0.0 if initial is None else initial))
        self.bias = nn.Parameter(torch.zeros(1)) if bias else None

    @property
    def bandwidth(self) -> Float[Tensor, "1"]:
        """The width h of the Gaussian, whichever way it is parametrized."""
        if self.parameter == "inverse_width":
            return 1 / self.w.abs()
        return self.log_bandwidth.exp()

    def weights(
        self, queries: NumberQueries, keys: NumberKeys, mask: Mask | None = None
    ) -> Weights:
        """Return the weight of each key for each query."""
        distances = distances_between(queries, keys)
        if self.parameter == "inverse_width":
            scores = -((distances * self.w) ** 2) / 2
        else:
            scores = -((distances / self.bandwidth) ** 2) / 2
        if self.bias is not None:
            scores = scores + self.bias
        return masked_softmax(scores, mask)

    def forward(
        self,
        queries: NumberQueries,
        keys: NumberKeys,
        values: NumberValues,
        mask: Mask | None = None,
    ) -> Predictions:
        """Return one weighted average of the values for each query."""
        check_one_value_per_key(keys, values)
        return average(values, self.weights(queries, keys, mask), mask)


def _number(value: float) -> Float[Tensor, "1"]:
    """Hold one number, and not an integer even where 1 was written for 1.0."""
    return torch.tensor([float(value)])
