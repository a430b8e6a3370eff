"""Nadaraya–Watson kernel regression: attention whose queries, keys and values are numbers.

A kernel K says how alike two numbers are, by their distance alone. Nadaraya and Watson (1964)
averaged the values, weighted by the kernel of the distance to each key: attention, early.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.masks import check_mask, leave_one_out_mask, without_hidden
from attention_book.attention.softmax import masked_softmax
from attention_book.foundations.checks import check_floating, is_strict
from attention_book.foundations.shapes import (
    Mask,
    NumberKeys,
    NumberQueries,
    NumberValues,
    Predictions,
    Scores,
    Weights,
)


@dataclass(frozen=True)
class Kernel:
    """A density of the scaled distance u = (q - k) / h, symmetric around 0.

    Attributes:
        name: What ``KERNELS`` lists it under.
        density: K(u), which integrates to 1.
        log_density: log K(u), and -inf where K(u) = 0: the score behind the weights.

    >>> KERNELS["triangular"].density(torch.tensor([0.0, 0.5, 2.0]))
    tensor([1.0000, 0.5000, 0.0000])
    """

    name: str
    density: Callable[[Tensor], Tensor]
    log_density: Callable[[Tensor], Tensor]


def _gaussian(u: Tensor) -> Tensor:
    return _log_gaussian(u).exp()


def _log_gaussian(u: Tensor) -> Tensor:
    return -(u**2) / 2 - math.log(2 * math.pi) / 2


def _boxcar(u: Tensor) -> Tensor:
    return 0.5 * (u.abs() <= 1).to(u.dtype)


def _epanechnikov(u: Tensor) -> Tensor:
    return 0.75 * (1 - u**2).clamp(min=0)


def _triangular(u: Tensor) -> Tensor:
    return (1 - u.abs()).clamp(min=0)


def _log_of(density: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def log_density(u: Tensor) -> Tensor:
        likeness = density(u)
        inside = likeness > 0
        # No log of 0 is ever taken: its gradient would be infinite.
        return likeness.where(inside, 1.0).log().where(inside, -torch.inf)

    return log_density


#: The kernels by name. All but the Gaussian are exactly 0 beyond one bandwidth.
KERNELS: dict[str, Kernel] = {
    "gaussian": Kernel("gaussian", _gaussian, _log_gaussian),
    "boxcar": Kernel("boxcar", _boxcar, _log_of(_boxcar)),
    "epanechnikov": Kernel("epanechnikov", _epanechnikov, _log_of(_epanechnikov)),
    "triangular": Kernel("triangular", _triangular, _log_of(_triangular)),
}


def kernel_weights(
    queries: NumberQueries,
    keys: NumberKeys,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | Tensor = 1.0,
    mask: Mask | None = None,
) -> Weights:
    """Weigh every key by the kernel of its distance to the query.

    .. math:: \\alpha_{ij} = \\frac{K((q_i - k_j) / h)}{\\sum_l K((q_i - k_l) / h)}

    The quotient is computed as the softmax of log K: far from every key, Gaussian
    densities underflow and 0/0 would be NaN, but their logarithms stay finite. A
    query with no key within reach of its kernel gets weight 0 everywhere.

    Args:
        queries: Where to predict.
        keys: Where a value is known.
        kernel: A name in ``KERNELS``, or a ``Kernel`` of your own.
        bandwidth: The width h: a positive number, or a tensor that holds one.
        mask: True where the query may see the key; None hides nothing.

    Raises:
        TypeError: if queries or keys are not floating point, or ``mask`` is not boolean.
        ValueError: if the kernel is unknown, the bandwidth not positive, there
            are no keys, the batch axes differ, or ``mask`` does not fit.

    Nadaraya (1964); Watson (1964).

    >>> kernel_weights(torch.tensor([0.0]), torch.tensor([0.0, 0.5, 3.0]), kernel="triangular")
    tensor([[0.6667, 0.3333, 0.0000]])
    """
    distances = distances_between(queries, keys)
    if mask is not None:
        check_mask(mask, *distances.shape[-2:], batch=distances.shape[:-2], device=distances.device)
    found, h = find_kernel(kernel), positive_bandwidth(bandwidth, distances)
    if found == KERNELS["gaussian"]:
        scores = gaussian_scores(distances, h, mask)
    else:
        u = distances / h
        # A kernel of bounded support would take NaN for a number far away.
        scores = found.log_density(u).where(~u.isnan(), torch.nan)
    return masked_softmax(scores, mask).to(distances.dtype)


def gaussian_scores(distances: Scores, bandwidth: Tensor, mask: Mask | None) -> Scores:
    """Return log K of a Gaussian, also where its square is larger than any number.

    .. math:: -\\tfrac12 u^2 \\quad \\text{or} \\quad
        -\\tfrac12 (u - u_0)(u + u_0), \\qquad u = |q - k| / h

    Softmax cancels what all scores have in common. So where even the nearest visible key, at
    :math:`u_0`, is too far for a finite score, all are counted from it: it still gets the weight
    that it has, and no query is taken for one that may see nothing. Half precision is computed
    in single, where a square has room.
    """
    wide = torch.promote_types(distances.dtype, torch.float32)
    distances, bandwidth = distances.to(wide), bandwidth.to(wide)
    scores = _log_gaussian(distances / bandwidth)
    far = distances.abs()
    visible = far if mask is None else far.masked_fill(~mask, torch.inf)
    nearest = visible.amin(dim=-1, keepdim=True)
    lost = (_log_gaussian(nearest / bandwidth) == -torch.inf) & nearest.isfinite()
    # The largest finite number stands for those beyond it: 0 times infinity would be NaN.
    limit = torch.finfo(wide).max
    beyond, both = far - nearest.where(lost, 0.0), far + nearest.where(lost, 0.0)
    beyond = (beyond.where(lost, 0.0) / bandwidth).clamp(max=limit)
    both = (both.where(lost, 0.0) / bandwidth).clamp(max=limit)
    return torch.where(lost, -beyond * both / 2, scores)


def nadaraya_watson(
    queries: NumberQueries,
    keys: NumberKeys,
    values: NumberValues,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | Tensor = 1.0,
    mask: Mask | None = None,
) -> Predictions:
    """Average the values, weighted by :func:`kernel_weights`.

    .. math:: f(q_i) = \\sum_j \\alpha_{ij} v_j

    A query with no key within reach gets 0. The arguments are those of
    :func:`kernel_weights`, and ``values`` has one number for each key.

    Raises:
        ValueError: as in ``kernel_weights``, or if values and keys differ in shape.

    Nadaraya (1964); Watson (1964).

    >>> keys, values = torch.tensor([0.0, 1.0]), torch.tensor([10.0, 20.0])
    >>> nadaraya_watson(torch.tensor([0.0, 0.5]), keys, values)
    tensor([13.7754, 15.0000])
    """
    check_one_value_per_key(keys, values)
    weights = kernel_weights(queries, keys, kernel=kernel, bandwidth=bandwidth, mask=mask)
    return average(values, weights, mask)


def average_pooling(queries: NumberQueries, keys: NumberKeys, values: NumberValues) -> Predictions:
    """Return the plain average of the values for every query: attention with uniform weights.

    .. math:: f(q_i) = \\frac{1}{n} \\sum_j v_j

    Raises:
        ValueError: if there are no keys, or values and keys differ in shape.

    >>> keys, values = torch.tensor([0.0, 1.0]), torch.tensor([10.0, 20.0])
    >>> average_pooling(torch.tensor([0.0, 0.5, 9.0]), keys, values)
    tensor([15., 15., 15.])
    """
    _check_numbers(queries, keys)
    check_one_value_per_key(keys, values)
    return values.mean(dim=-1, keepdim=True).expand_as(queries)


def leave_one_out_error(
    keys: NumberKeys,
    values: NumberValues,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | Tensor = 1.0,
) -> Float[Tensor, ""]:
    """Predict every value from all the others and return the mean squared error.

    .. math:: \\frac{1}{n} \\sum_i (v_i - f_{-i}(k_i))^2

    If a point could see itself, a bandwidth near 0 would copy its value and make
    the error 0: nothing could be learned about the bandwidth.

    Raises:
        ValueError: as in ``nadaraya_watson``, or if there are fewer than 2 keys.

    >>> leave_one_out_error(torch.tensor([0.0, 1.0]), torch.tensor([10.0, 20.0]))
    tensor(100.)
    """
    num_keys = keys.shape[-1] if keys.ndim else 0
    if num_keys < 2:
        raise ValueError(f"keys: expected at least 2 to leave one out, got {num_keys}")
    others = leave_one_out_mask(num_keys, device=keys.device)
    predictions = nadaraya_watson(
        keys, keys, values, kernel=kernel, bandwidth=bandwidth, mask=others
    )
    return ((predictions - values) ** 2).mean()


def average(values: NumberValues, weights: Weights, mask: Mask | None = None) -> Predictions:
    """Return the average of the values by these weights, one for each query."""
    (column,) = without_hidden(mask, values.unsqueeze(-1))
    return (weights @ column).squeeze(-1)


def distances_between(queries: NumberQueries, keys: NumberKeys) -> Scores:
    """Return the signed distances q - k of all pairs, after checking the shapes."""
    _check_numbers(queries, keys)
    return queries[..., :, None] - keys[..., None, :]


def find_kernel(kernel: str | Kernel) -> Kernel:
    """Return the kernel of that name; a ``Kernel`` is returned as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if kernel not in KERNELS:
        raise ValueError(f"kernel: expected one of {sorted(KERNELS)}, got {kernel!r}")
    return KERNELS[kernel]


def positive_bandwidth(bandwidth: float | Tensor, like: Tensor) -> Tensor:
    """Return the bandwidth as a tensor like ``like``; ValueError unless it is one number > 0.

    A number is checked always, and one in a tensor in strict mode: it would have to be read back.
    """
    h = torch.as_tensor(bandwidth, dtype=like.dtype, device=like.device)
    if h.numel() != 1:
        raise ValueError(f"bandwidth: expected one number, got the shape {tuple(h.shape)}")
    number = bandwidth.item() if isinstance(bandwidth, Tensor) and is_strict() else bandwidth
    if not isinstance(number, Tensor) and not number > 0:  # written so that NaN is refused too
        raise ValueError(f"bandwidth: expected a positive number, got {number:g}")
    return h.reshape(())


def check_one_value_per_key(keys: Tensor, values: Tensor) -> None:
    """Raise ValueError unless values and keys have the same shape."""
    if values.shape != keys.shape:
        raise ValueError(
            f"values: expected one number for each key, the shape {tuple(keys.shape)}, "
            f"got the shape {tuple(values.shape)}"
        )


def _check_numbers(queries: Tensor, keys: Tensor) -> None:
    check_floating("queries and keys", queries, keys)
    if queries.ndim == 0 or keys.ndim == 0 or queries.shape[:-1] != keys.shape[:-1]:
        raise ValueError(
            "queries and keys: expected single numbers, (*batch, query) and (*batch, key), "
            f"got the shapes {tuple(queries.shape)} and {tuple(keys.shape)}"
        )
    if keys.shape[-1] == 0:
        raise ValueError(f"keys: expected at least one key, got the shape {tuple(keys.shape)}")
