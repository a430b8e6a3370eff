"""Other people's masks: every convention is converted to ours here, and back.

Ours is boolean and True means "may attend", as in
:func:`torch.nn.functional.scaled_dot_product_attention`. The boolean masks of
:class:`torch.nn.MultiheadAttention` mean the opposite, and other code adds
``-inf`` or -1e9 to its scores.
"""

import math

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from attention_book.attention.checks import check_boolean, check_floating, reject_where
from attention_book.shapes import Mask


def mask_from_key_padding(
    key_padding_mask: Bool[Tensor, "*batch key"],
) -> Bool[Tensor, "*batch 1 key"]:
    """Convert the ``key_padding_mask`` of ``nn.MultiheadAttention``, where True means padding.

    Raises:
        TypeError: if ``key_padding_mask`` is not boolean.

    >>> mask_from_key_padding(torch.tensor([[False, False, True]]))
    tensor([[[ True,  True, False]]])
    """
    check_boolean("key_padding_mask", key_padding_mask, "padding")
    return ~key_padding_mask[..., None, :]


def mask_from_ignore(ignore: Shaped[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
    """Convert a mask that marks what to ignore.

    It may be boolean (True = ignore: the ``attn_mask`` of ``nn.MultiheadAttention``)
    or made of the numbers 0 and 1 (1 = ignore: common in Keras tutorials).

    Raises:
        ValueError: if there is a number other than 0 and 1.

    >>> mask_from_ignore(torch.tensor([[0, 0, 1]]))
    tensor([[ True,  True, False]])
    """
    if ignore.dtype == torch.bool:
        return ~ignore
    reject_where(
        (ignore != 0) & (ignore != 1),
        ignore,
        "ignore",
        "only the numbers 0 (see) and 1 (ignore); for 0 and -inf use mask_from_additive",
    )
    return ignore == 0


def mask_from_additive(
    bias: Float[Tensor, "*shape"], *, blocked: float = -math.inf
) -> Bool[Tensor, "*shape"]:
    """Convert a mask that is added to the scores: 0 lets through, ``-inf`` blocks.

    Args:
        bias: The tensor that some code adds to its scores.
        blocked: Everything from here down blocks; a tutorial that writes -1e9 needs
            ``blocked=-1e9``.

    Raises:
        TypeError: if ``bias`` is not floating point.
        ValueError: if there is a number between the two, for then the tensor is a bias,
            not a mask; or if ``blocked`` is not negative.

    >>> mask_from_additive(torch.tensor([[0.0, float("-inf")]]))
    tensor([[ True, False]])
    """
    check_floating("bias", bias)
    if not blocked < 0:
        raise ValueError(f"blocked: expected a negative number, got {blocked}")
    allowed = bias == 0
    reject_where(
        ~allowed & ~(bias <= blocked),
        bias,
        "bias",
        f"only 0 (see) and numbers <= {blocked} (blocked); anything else is a bias, not a mask",
    )
    return allowed


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
