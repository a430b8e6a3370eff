"""What every attention asks of its inputs: one clear error instead of a late, cryptic one."""

import torch
from torch import Tensor


def check_queries_keys(queries: Tensor, keys: Tensor) -> None:
    """Check that queries and keys have the axes (\\*batch, position, feature) and one batch.

    Raises:
        ValueError: if a tensor has fewer than two axes, if the leading axes
            differ, or if there is no key to attend to.
    """
    if queries.ndim < 2 or keys.ndim < 2:
        raise ValueError(
            "queries and keys: expected the axes (*batch, query, d_q) and (*batch, key, d_k), "
            f"got the shapes {tuple(queries.shape)} and {tuple(keys.shape)}"
        )
    if queries.shape[:-2] != keys.shape[:-2]:
        raise ValueError(
            "queries and keys: expected the same leading (batch) axes, "
            f"got the shapes {tuple(queries.shape)} and {tuple(keys.shape)}"
        )
    if keys.shape[-2] == 0:
        raise ValueError(f"keys: expected at least one key, got the shape {tuple(keys.shape)}")


def check_same_features(queries: Tensor, keys: Tensor) -> None:
    """Check that a query can be compared with a key feature by feature.

    Raises:
        ValueError: if the last axes differ in size.
    """
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "queries and keys: expected equal feature sizes d_q = d_k, "
            f"got the shapes {tuple(queries.shape)} and {tuple(keys.shape)}"
        )


def check_features(name: str, tensor: Tensor, size: int) -> None:
    """Check the feature size that a layer was built for.

    Raises:
        ValueError: if the last axis of ``tensor`` is not ``size`` long.
    """
    if tensor.shape[-1] != size:
        raise ValueError(
            f"{name}: expected the feature size {size}, got the shape {tuple(tensor.shape)}"
        )


def check_values(keys: Tensor, values: Tensor) -> None:
    """Check that there is exactly one value for each key.

    Raises:
        ValueError: if ``values`` does not have the axes (\\*batch, key, d_v) of ``keys``.
    """
    if values.ndim < 2 or values.shape[:-1] != keys.shape[:-1]:
        raise ValueError(
            f"values: expected one value for each key, the shape {(*keys.shape[:-1], 'd_v')}, "
            f"got the shape {tuple(values.shape)}"
        )


def check_boolean(name: str, mask: Tensor, true_means: str) -> None:
    """Check that a mask is boolean.

    Raises:
        TypeError: if ``mask`` is anything but a boolean tensor.
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"{name}: expected a boolean tensor (True = {true_means}), got {got}; "
            "a float is a bias, never a mask: convert it with mask_from_additive"
        )


def check_positive(name: str, value: float) -> None:
    """Check a width, a temperature, a scale.

    Raises:
        ValueError: if ``value`` is zero, negative or not a number.
    """
    if not value > 0:
        raise ValueError(f"{name}: expected a positive number, got {value}")


def check_probability(name: str, value: float) -> None:
    """Check a probability.

    Raises:
        ValueError: if ``value`` is outside [0, 1] or not a number.
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a probability between 0 and 1, got {value}")


def reject_where(bad: Tensor, tensor: Tensor, name: str, expected: str) -> None:
    """Reject the first element of ``tensor`` that is bad, and say where it is.

    Raises:
        ValueError: if ``bad`` is True anywhere.
    """
    if bad.any():
        index = bad.nonzero()[0].tolist()
        raise ValueError(f"{name}: expected {expected}, got {name}{index} = {tensor[*index]}")
