"""Argument checks of the whole package: one clear error instead of a late, cryptic one.

Shapes, types and devices are always checked: they are known without a look at the data. What
needs the data (is there a real token at all?) would make the program wait for the device, so
it is checked where data are made, and elsewhere under :func:`strict` alone.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import signature
from typing import Any

import torch
from torch import Tensor

#: Set to 1, it switches the checks of the data on from the start.
STRICT_VARIABLE = "ATTENTION_BOOK_STRICT"
_strict = ContextVar("strict", default=os.environ.get(STRICT_VARIABLE) == "1")


@contextmanager
def strict(enabled: bool = True) -> Iterator[None]:
    """Check the data too in this block, and not only shapes and types.

    Such a check reads from the device, and so waits until the device has computed all that
    was asked of it. It is off unless the environment variable ``ATTENTION_BOOK_STRICT`` is 1
    when the package is imported, as it is in the tests and while the book is built. The block
    speaks for its own thread and asyncio task alone.

    Args:
        enabled: False switches the checks off.

    >>> import torch
    >>> from attention_book.training import loss_per_token
    >>> logits, targets = torch.zeros(1, 2, 5), torch.tensor([[0, 0]])
    >>> with strict(False):
    ...     loss_per_token(logits, targets, targets > 0)
    tensor(0.)
    >>> with strict():
    ...     loss_per_token(logits, targets, targets > 0)
    Traceback (most recent call last):
    ValueError: mask: expected at least one real token, got none
    """
    token = _strict.set(enabled)
    try:
        yield
    finally:
        _strict.reset(token)


def is_strict() -> bool:
    """Whether to check the data here; never while torch compiles or exports a model.

    What is being compiled has no data yet, and a check would end up in the compiled program.

    >>> with strict():
    ...     is_strict()
    True
    >>> with strict(False):
    ...     is_strict()
    False
    """
    return not torch.compiler.is_compiling() and _strict.get()


def check_some_real(name: str, mask: Tensor) -> None:
    """Check, in strict mode, that a mask (True = a real token) is True somewhere.

    Raises:
        ValueError: in strict mode, if it is True nowhere.
    """
    if is_strict() and not mask.is_meta and not mask.any():
        raise ValueError(f"{name}: expected at least one real token, got none")


def check_floating(name: str, *tensors: Tensor) -> None:
    """Check that what is averaged, compared or weighed are tensors of real numbers.

    Raises:
        TypeError: if one is no tensor, or not of a floating point type.
    """
    for tensor in tensors:
        if not (isinstance(tensor, Tensor) and tensor.is_floating_point()):
            got = " and ".join(map(_kind, tensors))
            raise TypeError(f"{name}: expected floating point tensors, got {got}")


def check_queries_keys(queries: Tensor, keys: Tensor) -> None:
    """Check that queries and keys have the axes (\\*batch, position, feature) and one batch.

    Raises:
        TypeError: if one is not a floating point tensor.
        ValueError: if a tensor has fewer than two axes, if the leading axes
            differ, or if there is no key to attend to.
    """
    check_floating("queries and keys", queries, keys)
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
    """Check queries and keys, and that they can be compared feature by feature.

    Raises:
        TypeError: as in :func:`check_queries_keys`.
        ValueError: as there, or if the last axes differ in size.
    """
    check_queries_keys(queries, keys)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "queries and keys: expected equal feature sizes d_q = d_k, "
            f"got the shapes {tuple(queries.shape)} and {tuple(keys.shape)}"
        )


def check_feature_sizes(queries: Tensor, keys: Tensor, d_q: int, d_k: int) -> None:
    """Check queries and keys, and the feature sizes that a score was built for.

    Raises:
        TypeError: as in :func:`check_queries_keys`.
        ValueError: as there, or if a last axis has another size.
    """
    check_queries_keys(queries, keys)
    check_features("queries", queries, d_q)
    check_features("keys", keys, d_k)


def check_features(name: str, tensor: Tensor, size: int) -> None:
    """Check the feature size that a layer was built for.

    Raises:
        ValueError: if the last axis of ``tensor`` is not ``size`` long.
    """
    if tensor.shape[-1] != size:
        raise ValueError(
            f"{name}: expected the feature size {size}, got the shape {tuple(tensor.shape)}"
        )


def check_sequence(name: str, tensor: Tensor, size: int) -> None:
    """Check that ``tensor`` has the axes (batch, position, feature) and ``size`` features.

    Raises:
        TypeError: if it is no floating point tensor.
        ValueError: if its shape is another.
    """
    floating = isinstance(tensor, Tensor) and tensor.is_floating_point()
    if not (floating and tensor.ndim == 3 and tensor.shape[-1] == size):
        check_floating(name, tensor)
        raise ValueError(
            f"{name}: expected the axes (batch, position, feature) with {size} features, "
            f"got the shape {tuple(tensor.shape)}"
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


def check_weights(weights: Tensor, values: Tensor) -> None:
    """Check that there is one weight for each value: too few axes would be broadcast.

    Raises:
        ValueError: if ``weights`` does not have the axes (\\*batch, query, key) of ``values``.
    """
    *batch, num_keys, _ = values.shape
    if weights.ndim < 2 or [*weights.shape[:-2], weights.shape[-1]] != [*batch, num_keys]:
        raise ValueError(
            f"weights: expected one for each value, the shape {(*batch, 'query', num_keys)}, "
            f"got the shape {tuple(weights.shape)}"
        )


def check_boolean(name: str, mask: Tensor, true_means: str) -> None:
    """Check that a mask is boolean.

    Raises:
        TypeError: if ``mask`` is anything but a boolean tensor.
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(
            f"{name}: expected a boolean tensor (True = {true_means}), got {_kind(mask)}"
            f"{_way_to_boolean(name, mask, true_means)}"
        )


def _way_to_boolean(name: str, mask: object, true_means: str) -> str:
    """Say how what was given becomes a boolean mask, in calls that work."""
    if not isinstance(mask, Tensor):
        arrays = isinstance(mask, list | tuple) or hasattr(mask, "__array__")
        return f"; torch.as_tensor({name}, dtype=torch.bool) makes one of 1 and 0" if arrays else ""
    if mask.is_floating_point():
        return (
            "; a float is a bias, never a mask: 0 and -inf become one with mask_from_additive, "
            f"1 and 0 with {name}.bool()"
        )
    keys_alone = f", and of (batch, key) with {name}.bool()[:, None, :]"
    return (
        f"; 1 (= {true_means}) and 0 become one with {name}.bool()"
        + (keys_alone if true_means == "may attend" else "")
        + f", and where 1 means the opposite, with {name} == 0"
    )


def check_bias(bias: Tensor, queries: Tensor, keys: Tensor) -> None:
    """Check an additive bias of the scores of ``queries`` and ``keys``.

    Raises:
        TypeError: if it is not of the type of the queries; a mask is no bias.
        ValueError: if its shape does not broadcast to (\\*batch, query, key), or it has some of
            the leading axes and not all: three for four could count examples or heads.
    """
    if not isinstance(bias, Tensor) or bias.dtype != queries.dtype:
        raise TypeError(f"bias: expected a tensor of {queries.dtype}, got {_kind(bias)}")
    expected = (*queries.shape[:-1], keys.shape[-2])
    check_leading_axes("bias", bias, expected)
    sizes = zip(reversed(bias.shape), reversed(expected), strict=False)
    if not 2 <= bias.ndim <= len(expected) or any(have not in (1, want) for have, want in sizes):
        raise ValueError(
            f"bias: expected a shape that broadcasts to (*batch, query, key) = {expected}, "
            f"got {tuple(bias.shape)}"
        )


def check_leading_axes(name: str, tensor: Tensor, expected: tuple[int, ...]) -> None:
    """Check that a mask or a bias has all leading axes of ``expected``, or none.

    Raises:
        ValueError: if it has some of them, and one is longer than 1.
    """
    shape, missing = tuple(tensor.shape), len(expected) - tensor.ndim
    if len(expected) > tensor.ndim > 2 and any(size != 1 for size in shape[:-2]):
        raise ValueError(
            f"{name}: expected 2 axes (query, key) or all {len(expected)} of {expected}, got "
            f"{shape}, whose leading axes could be any of these; {name}[:{', None' * missing}] "
            f"where they are the first (examples), {name}[{', '.join(['None'] * missing)}] where "
            "they are the last (heads)"
        )


def whole_numbers(name: str, numbers: Tensor) -> Tensor:
    """Return token numbers, classes or labels of any integer type as torch's lookups take them.

    >>> import torch
    >>> whole_numbers("source", torch.tensor([2, 3], dtype=torch.uint8)).dtype
    torch.int64

    Raises:
        TypeError: if they are not integers.
    """
    if not isinstance(numbers, Tensor) or numbers.is_floating_point() or numbers.dtype.is_complex:
        raise TypeError(f"{name}: expected a tensor of integers, got {_kind(numbers)}")
    if numbers.dtype == torch.bool:
        raise TypeError(f"{name}: expected a tensor of integers, got torch.bool; a mask is no text")
    return numbers.long()


def check_numbers(name: str, numbers: Tensor, size: int) -> None:
    """Check that tokens are of a vocabulary of this size. It reads them: wait for them once.

    Raises:
        ValueError: if one is not.

    >>> check_numbers("source", torch.tensor([2, 9]), 9)
    Traceback (most recent call last):
    ValueError: source: expected token numbers from 0 to 8, got 2 to 9; do model and vocabulary \
belong together?
    """
    least, most = (
        torch.stack((numbers.amin(), numbers.amax())).tolist() if numbers.numel() else (0, 0)
    )
    if least < 0 or most >= size:
        raise ValueError(
            f"{name}: expected token numbers from 0 to {size - 1}, got {least} to {most}; "
            "do model and vocabulary belong together?"
        )


def check_score(score: object) -> None:
    """Check that ``score`` can be called with queries and keys.

    Raises:
        TypeError: if it can't, or if it is a class: ``DotScore`` instead of ``DotScore()``.
    """
    if isinstance(score, type) or not callable(score) or not _takes_two(score):
        raise TypeError(f"score: expected a scoring function such as DotScore(), got {score!r}")


def _takes_two(function: Callable[..., object]) -> bool:
    """Whether a function can be called with two arguments, as far as it says."""
    try:
        taken = signature(getattr(function, "forward", function))
    except ValueError:  # it does not say
        return True
    try:
        taken.bind(None, None)
    except TypeError:
        return False
    return True


def check_whole(**numbers: object) -> None:
    """Check that numbers are whole ones, each under its own name.

    What Python takes for an index is one: an integer, NumPy's too, or the symbol of one. A float
    is none, 32.0 neither: it comes from a division or a file that says something else.

    Raises:
        ValueError: if one is no whole number.

    >>> check_whole(d_model=32.0)
    Traceback (most recent call last):
    ValueError: d_model: expected a whole number, got 32.0
    """
    for name, number in numbers.items():
        if isinstance(number, bool) or not hasattr(type(number), "__index__"):
            raise ValueError(f"{name}: expected a whole number, got {number!r}")


def check_sizes(**sizes: Any) -> None:
    """Check the sizes that a layer is built with, each under its own name.

    Raises:
        ValueError: if one is no whole number, or below 1.
    """
    check_whole(**sizes)
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}: expected at least 1, got {size}")


def check_radius(radius: int, *, smallest: int) -> None:
    """Check the radius of a window.

    Raises:
        ValueError: if it is below ``smallest`` or not a number.
    """
    if not radius >= smallest:
        raise ValueError(f"radius: expected {smallest} or more, got {radius}")


def check_positive(name: str, value: float) -> None:
    """Check a width, a temperature, a scale.

    Raises:
        ValueError: if ``value`` is zero, negative or not a number.
    """
    if isinstance(value, str) or not value > 0:
        raise ValueError(f"{name}: expected a positive number, got {value!r}")


def check_probability(name: str, value: float) -> None:
    """Check a probability.

    Raises:
        ValueError: if ``value`` is outside [0, 1] or not a number.
    """
    if isinstance(value, str) or not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a probability between 0 and 1, got {value!r}")


def reject_where(bad: Tensor, tensor: Tensor, name: str, expected: str) -> None:
    """Reject the first element of ``tensor`` that is bad, and say where it is.

    Raises:
        ValueError: if ``bad`` is True anywhere.
    """
    if bad.any():
        index = bad.nonzero()[0].tolist()
        place = f"{name}{index}" if index else name
        raise ValueError(f"{name}: expected {expected}, got {place} = {tensor[*index]}")


def _kind(thing: object) -> str:
    return str(thing.dtype) if isinstance(thing, Tensor) else type(thing).__name__
