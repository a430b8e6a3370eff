"""Attention masks: which query may attend to which key.

In this package a mask is a boolean tensor, True means "may attend", and its
shape broadcasts to (\\*batch, query, key). Two axes are always (query, key), never (batch, key):
a mask of the keys alone has an axis of length 1 for the queries. Masks combine with ``&``. Masks
of other conventions are converted once, at the edge, by the functions of
:mod:`attention_book.attention.masks`. A model says once for all its layers who sees whom, where it
can without a tensor: as a :class:`~attention_book.attention.Visibility`.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from attention_book.attention.positions.scheme import distances
from attention_book.foundations.checks import (
    check_boolean,
    check_floating,
    check_leading_axes,
    check_radius,
    is_strict,
    reject_where,
)
from attention_book.foundations.shapes import Lengths, Mask, QueryLengths


def check_mask(
    mask: Tensor,
    queries_count: int,
    keys_count: int,
    *,
    batch: Sequence[int] | None = None,
    device: torch.device | None = None,
) -> None:
    """Check that ``mask`` is a mask for ``queries_count`` queries and ``keys_count`` keys.

    Two axes are (query, key). Where there are several leading axes, a mask has all of them (each
    may be of length 1) or none: three axes for scores (batch, head, query, key) could count
    examples or heads, and which would depend on two sizes that may happen to agree.

    Args:
        mask: The tensor to check.
        queries_count: Number of queries of each example.
        keys_count: Number of keys of each example.
        batch: The leading axes; None accepts any.
        device: Where the scores are; None accepts any.

    Raises:
        TypeError: if ``mask`` is not a boolean tensor.
        ValueError: if its shape does not broadcast to (\\*batch, query, key), if it has some of
            the leading axes and not all, or if it is on another device.

    >>> check_mask(causal_mask(3), 3, 3)
    >>> check_mask(torch.zeros(3, 3), 3, 3)
    Traceback (most recent call last):
        ...
    TypeError: mask: expected a boolean tensor (True = may attend), got torch.float32; a float is \
a bias, never a mask: 0 and -inf become one with mask_from_additive, 1 and 0 with mask.bool()
    """
    check_boolean("mask", mask, "may attend")
    shape = tuple(mask.shape)
    expected = (*(shape[:-2] if batch is None else batch), queries_count, keys_count)
    check_leading_axes("mask", mask, expected)
    sizes = zip(reversed(shape), reversed(expected), strict=False)
    fits = all(have in (1, want) for have, want in sizes)
    if not (fits and 2 <= len(shape) <= len(expected)):
        wanted = ("*batch", queries_count, keys_count) if batch is None else expected
        way = ""
        if len(shape) == 2:
            rest = ", None" * max(1, len(expected) - 2)
            way = (
                f"; a mask (batch, key) needs axes for the rest: mask[:{rest}, :] where True is a "
                "real key, mask_from_key_padding where True is padding"
            )
        elif len(shape) == 1:
            way = "; mask[None] for the keys alone, and lengths with mask_from_lengths"
        raise ValueError(
            f"mask: expected a shape that broadcasts to (*batch, query, key) = {wanted}, "
            f"got {shape}{way}"
        )
    if device is not None and mask.device != device:
        raise ValueError(f"mask: expected a mask on the device {device}, got one on {mask.device}")


def without_hidden(mask: Mask | None, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Return keys or values with zeros where no query may look.

    What is hidden has the weight 0, and 0 times infinity or NaN is NaN; a hidden score that
    overflows is infinity, and minus infinity added to it NaN again. Zeros do no harm.

    Args:
        mask: True where the query may see the key, (\\*#batch, #query, #key); None hides nothing.
        tensors: Each (\\*batch, key, feature).

    >>> keys = torch.tensor([[1.0], [float("nan")], [3.0]])
    >>> without_hidden(torch.tensor([[True, False, False], [True, False, True]]), keys)
    (tensor([[1.],
            [0.],
            [3.]]),)
    """
    if mask is None:
        return tensors
    seen = (mask if mask.shape[-2] == 1 else mask.any(dim=-2, keepdim=True)).mT
    # Not masked_fill: torch.where leaves the axes in memory as they lie, so that the products
    # that follow round as they would without it.
    return tuple(torch.where(seen, tensor, 0.0) for tensor in tensors)


def mask_from_lengths(lengths: Lengths, num_keys: int) -> Bool[Tensor, "*batch 1 key"]:
    """Let all queries of an example see only its first ``length`` keys.

    Args:
        lengths: How many keys are real, one number per example: the shape (\\*batch).
        num_keys: Number of keys of every example, padding included.

    Raises:
        TypeError: if the lengths are not integers.
        ValueError: if a length is negative or greater than ``num_keys``.

    >>> mask_from_lengths(torch.tensor([1, 3]), 3)
    tensor([[[ True, False, False]],
    <BLANKLINE>
            [[ True,  True,  True]]])
    """
    _check_lengths(lengths, num_keys)
    return torch.arange(num_keys, device=lengths.device) < lengths[..., None, None]


def mask_from_query_lengths(
    lengths: QueryLengths, num_keys: int
) -> Bool[Tensor, "*batch query key"]:
    """Let each query see its own number of first keys.

    Args:
        lengths: One number per query: the shape (\\*batch, query).
        num_keys: Number of keys of every example, padding included.

    Raises:
        TypeError: if the lengths are not integers.
        ValueError: if a length is negative or greater than ``num_keys``.

    >>> mask_from_query_lengths(torch.tensor([[1, 3]]), 3)
    tensor([[[ True, False, False],
             [ True,  True,  True]]])
    """
    _check_lengths(lengths, num_keys)
    return torch.arange(num_keys, device=lengths.device) < lengths[..., None]


def causal_mask(
    num_queries: int,
    num_keys: int | None = None,
    *,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "query key"]:
    """Let query i see the keys up to its own position: :math:`j \\le i + \\text{offset}`.

    Args:
        num_queries: Number of queries.
        num_keys: Number of keys; as many as queries when None.
        offset: Position of the first query among the keys: 3 when three earlier
            keys are kept from previous steps. With 0 the first query stands at the first key,
            however many keys there are; with ``num_keys - num_queries`` the last query stands
            at the last key.
        device: Where to create the mask.

    Raises:
        ValueError: if a count is negative.

    >>> causal_mask(3)
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    return _distance(num_queries, num_keys, device) <= offset


def window_mask(
    num_queries: int,
    num_keys: int | None = None,
    *,
    radius: int,
    causal: bool = False,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "query key"]:
    """Let query i see the keys near its own position: :math:`|i - j| \\le \\text{radius}`.

    Args:
        num_queries: Number of queries.
        num_keys: Number of keys; as many as queries when None.
        radius: The furthest distance that can be seen.
        causal: Also hide the keys that come after the query.
        device: Where to create the mask.

    Raises:
        ValueError: if a count or the radius is negative.

    >>> window_mask(4, radius=1).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    check_radius(radius, smallest=0)
    distance = _distance(num_queries, num_keys, device)
    near = distance.abs() <= radius
    return near & (distance <= 0) if causal else near


def check_causal(num_queries: int, num_keys: int) -> None:
    """Check, where a call is causal, that it is plain where its queries stand among the keys.

    Raises:
        ValueError: if there are not as many keys as queries.

    >>> check_causal(2, 10)
    Traceback (most recent call last):
        ...
    ValueError: is_causal: expected as many keys as queries, got 2 queries and 10 keys; leave it \
out and give a mask: causal_mask(2, 10, offset=0) where the first query stands at the first key, \
causal_mask(2, 10, offset=8) where the last query stands at the last key
    """
    if num_queries != num_keys:
        counts = f"{num_queries}, {num_keys}"
        raise ValueError(
            f"is_causal: expected as many keys as queries, got {num_queries} queries and "
            f"{num_keys} keys; leave it out and give a mask: causal_mask({counts}, offset=0) where "
            f"the first query stands at the first key, causal_mask({counts}, "
            f"offset={num_keys - num_queries}) where the last query stands at the last key"
        )


def leave_one_out_mask(
    num_keys: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "key key"]:
    """Let every position see all positions but itself.

    Raises:
        ValueError: if the count is negative.

    >>> leave_one_out_mask(3)
    tensor([[False,  True,  True],
            [ True, False,  True],
            [ True,  True, False]])
    """
    return _distance(num_keys, None, device) != 0


def _check_lengths(lengths: Tensor, num_keys: int) -> None:
    if not isinstance(lengths, Tensor):
        raise TypeError(f"lengths: expected a tensor of integers, got {type(lengths).__name__}")
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise TypeError(f"lengths: expected integers, got {lengths.dtype}")
    if lengths.device.type == "cpu" or is_strict():  # elsewhere a look would be waited for
        reject_where(
            (lengths < 0) | (lengths > num_keys),
            lengths,
            "lengths",
            f"numbers from 0 to num_keys={num_keys}",
        )


def _distance(num_queries: int, num_keys: int | None, device: torch.device | str | None) -> Tensor:
    """Return how far key j lies after query i: j - i."""
    num_keys = num_queries if num_keys is None else num_keys
    if num_queries < 0 or num_keys < 0:
        raise ValueError(
            "num_queries and num_keys: expected 0 or more, "
            f"got num_queries={num_queries}, num_keys={num_keys}"
        )
    return distances(num_queries, num_keys, device=device)


def mask_from_key_padding(
    key_padding_mask: Bool[Tensor, "*batch key"],
) -> Bool[Tensor, "*batch 1 key"]:
    """Convert the ``key_padding_mask`` of ``nn.MultiheadAttention``, where True means padding.

    A tokenizer's attention mask says the opposite: :func:`mask_from_attention_mask`.

    Raises:
        TypeError: if ``key_padding_mask`` is not boolean.

    >>> mask_from_key_padding(torch.tensor([[False, False, True]]))
    tensor([[[ True,  True, False]]])
    """
    check_boolean("key_padding_mask", key_padding_mask, "padding")
    return ~key_padding_mask[..., None, :]


def mask_from_attention_mask(
    attention_mask: Shaped[Tensor, "*batch key"],
) -> Bool[Tensor, "*batch 1 key"]:
    """Convert a tokenizer's ``attention_mask``: 1 (or True) is a real token, 0 is padding.

    Raises:
        ValueError: if there is a number other than 0 and 1.

    >>> mask_from_attention_mask(torch.tensor([[1, 1, 0]]))
    tensor([[[ True,  True, False]]])
    """
    _check_zeros_and_ones(
        attention_mask,
        "attention_mask",
        "only the numbers 0 (padding) and 1 (real); for 0 and -inf use mask_from_additive",
    )
    return (attention_mask != 0)[..., None, :]


def mask_from_ignore(ignore: Shaped[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
    """Convert a mask that marks what to ignore.

    It may be boolean (True = ignore: the ``attn_mask`` of ``nn.MultiheadAttention``)
    or made of the numbers 0 and 1 (1 = ignore: common in Keras tutorials). A tokenizer's
    attention mask says the opposite and looks the same; no function can tell them apart, but for
    numbers that would ignore everything: :func:`mask_from_attention_mask`.

    Raises:
        ValueError: if there is a number other than 0 and 1, or none but 1.

    >>> mask_from_ignore(torch.tensor([[0, 0, 1]]))
    tensor([[ True,  True, False]])
    """
    if ignore.dtype == torch.bool:
        return ~ignore
    _check_zeros_and_ones(
        ignore,
        "ignore",
        "only the numbers 0 (see) and 1 (ignore); for 0 and -inf use mask_from_additive",
    )
    if ignore.numel() and (ignore == 1).all():
        raise ValueError(
            "ignore: expected a 0 (see) somewhere, got 1 (ignore) everywhere; a tokenizer's "
            "attention mask (1 = real) becomes a mask with mask_from_attention_mask"
        )
    return ignore == 0


def _check_zeros_and_ones(numbers: Tensor, name: str, expected: str) -> None:
    if numbers.dtype != torch.bool:
        reject_where((numbers != 0) & (numbers != 1), numbers, name, expected)


def mask_from_additive(
    bias: Float[Tensor, "*shape"], *, blocked: float | None = None
) -> Bool[Tensor, "*shape"]:
    """Convert a mask that is added to the scores: 0 keeps a key, ``-inf`` hides it.

    Args:
        bias: The tensor that some code adds to its scores.
        blocked: Everything from here down blocks; a tutorial that writes -1e9 needs
            ``blocked=-1e9``. None: -inf, and the lowest number of the tensor's type, with which
            Hugging Face fills its masks.

    Raises:
        TypeError: if ``bias`` is not floating point.
        ValueError: if there is a number between the two, for then the tensor is a bias,
            not a mask; or if ``blocked`` is not negative.

    >>> mask_from_additive(torch.tensor([[0.0, float("-inf"), torch.finfo(torch.float32).min]]))
    tensor([[ True, False, False]])
    >>> mask_from_additive(torch.tensor([[0.0, -1e9]]), blocked=-1e9)
    tensor([[ True, False]])
    """
    check_floating("bias", bias)
    lowest = torch.finfo(bias.dtype).min if blocked is None else blocked
    if not lowest < 0:
        raise ValueError(f"blocked: expected a negative number, got {blocked}")
    allowed = bias == 0
    bad = ~allowed & ~(bias <= lowest)
    reject_where(
        bad,
        bias,
        "bias",
        f"only 0 (see) and numbers <= {lowest} (blocked); anything else is a bias, not a mask"
        + _blocking_number(bias, bad),
    )
    return allowed


def _blocking_number(bias: Tensor, bad: Tensor) -> str:
    """Say which ``blocked`` would do, where the numbers that are not 0 all look like one."""
    others = bias[bad]
    if (others == 1).all():
        return "; 1 (see) and 0 become one with bias.bool()"
    large = -1e3  # no score that a model is trained to give is as low
    if others.numel() and (others <= large).all():  # not NaN either
        blocked = others.max().item()
        return f", unless it blocks with that number: mask_from_additive(bias, blocked={blocked})"
    return ", and goes to a call as bias="


def ignore_from_mask(mask: Mask) -> Mask:
    """Turn our mask into one where True means "ignore", for ``nn.MultiheadAttention``.

    Raises:
        TypeError: if ``mask`` is not boolean.

    >>> ignore_from_mask(torch.tensor([[True, False], [True, True]]))
    tensor([[False,  True],
            [False, False]])
    """
    check_boolean("mask", mask, "may attend")
    return ~mask


def additive_from_mask(
    mask: Mask, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*#batch #query #key"]:
    """Turn our mask into 0 and ``-inf``, to be added to scores.

    Beware of a query that may see nothing: its scores become all ``-inf``, and
    a plain softmax makes NaN of them. :func:`~attention_book.attention.masked_softmax` does not.

    Raises:
        TypeError: if ``mask`` is not boolean.

    >>> additive_from_mask(torch.tensor([[True, False], [True, True]]))
    tensor([[0., -inf],
            [0., 0.]])
    """
    check_boolean("mask", mask, "may attend")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)
