"""Sparse patterns: masks that keep few of the pairs, and what is seen through layers of them.

A pattern is a mask like any other: True means "may attend", ``|`` joins two patterns and
``&`` keeps what both allow. The window around the own position is
:func:`~attention_book.attention.window_mask`; here are the others of which Child et al.
(2019), Beltagy et al. (2020) and Zaheer et al. (2020) build theirs.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_book.attention.positions.scheme import distances
from attention_book.foundations.checks import check_boolean, check_radius, check_sizes

Pattern = Bool[Tensor, "position position"]


def strided_mask(
    num_positions: int, *, stride: int, device: torch.device | str | None = None
) -> Pattern:
    """Let a position see those a whole number of strides away, and itself.

    .. math:: (i - j) \\bmod \\text{stride} = 0

    Child et al. (2019), section 4.3, without the causal part: join it with a window, and
    cut the future off with ``& causal_mask(num_positions)``.

    Raises:
        ValueError: if the stride or the number of positions is below 1.

    >>> strided_mask(5, stride=2).int()
    tensor([[1, 0, 1, 0, 1],
            [0, 1, 0, 1, 0],
            [1, 0, 1, 0, 1],
            [0, 1, 0, 1, 0],
            [1, 0, 1, 0, 1]], dtype=torch.int32)
    """
    check_sizes(num_positions=num_positions, stride=stride)
    return distances(num_positions, num_positions, device=device) % stride == 0


def dilated_mask(
    num_positions: int, *, radius: int, dilation: int, device: torch.device | str | None = None
) -> Pattern:
    """Let a position see ``radius`` others on each side, ``dilation`` apart, and itself.

    A window with gaps: the strided pattern within a window that is ``dilation`` times as
    wide. Beltagy et al. (2020), section 3.1.

    Raises:
        ValueError: if the radius is negative, or another number below 1.

    >>> dilated_mask(6, radius=1, dilation=2).int()
    tensor([[1, 0, 1, 0, 0, 0],
            [0, 1, 0, 1, 0, 0],
            [1, 0, 1, 0, 1, 0],
            [0, 1, 0, 1, 0, 1],
            [0, 0, 1, 0, 1, 0],
            [0, 0, 0, 1, 0, 1]], dtype=torch.int32)
    """
    check_radius(radius, smallest=0)
    check_sizes(num_positions=num_positions, dilation=dilation)
    window = distances(num_positions, num_positions, device=device).abs() <= radius * dilation
    return window & strided_mask(num_positions, stride=dilation, device=device)


def block_mask(
    num_positions: int, *, block_size: int, device: torch.device | str | None = None
) -> Pattern:
    """Let a position see only its own block of ``block_size`` positions.

    .. math:: \\lfloor i / b \\rfloor = \\lfloor j / b \\rfloor

    Child et al. (2019), section 4.3, the first half of their "fixed" pattern. The last
    block may be shorter.

    Raises:
        ValueError: if a number is below 1.

    >>> block_mask(5, block_size=2).int()
    tensor([[1, 1, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [0, 0, 1, 1, 0],
            [0, 0, 1, 1, 0],
            [0, 0, 0, 0, 1]], dtype=torch.int32)
    """
    check_sizes(num_positions=num_positions, block_size=block_size)
    block = torch.arange(num_positions, device=device) // block_size
    return block[:, None] == block


def global_mask(
    num_positions: int,
    *,
    positions: Sequence[int],
    device: torch.device | str | None = None,
) -> Pattern:
    """Let a few positions see all and be seen by all; the others see them alone.

    Beltagy et al. (2020), section 3.1. Under a causal mask a global position collects only
    from those before it and hands on only to those after it.

    Args:
        num_positions: How many positions there are.
        positions: The global ones; negative numbers count from the end.
        device: Where to create the mask.

    Raises:
        TypeError: if ``positions`` is a single number.
        ValueError: if the number is below 1, or a position is out of range.

    >>> global_mask(4, positions=[0]).int()
    tensor([[1, 1, 1, 1],
            [1, 0, 0, 0],
            [1, 0, 0, 0],
            [1, 0, 0, 0]], dtype=torch.int32)
    """
    check_sizes(num_positions=num_positions)
    if isinstance(positions, int):
        raise TypeError(f"positions: expected a list such as [{positions}], got {positions}")
    seen = torch.zeros(num_positions, dtype=torch.bool, device=device)
    for position in positions:
        if not -num_positions <= position < num_positions:
            raise ValueError(f"positions: expected positions among {num_positions}, got {position}")
        seen[position] = True
    return seen[:, None] | seen


def random_mask(
    num_positions: int,
    *,
    num_keys: int,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Pattern:
    """Let each position see ``num_keys`` others drawn at random, once and for all.

    The pattern is drawn like a parameter and then stays. Zaheer et al. (2020), section 2.

    Args:
        num_positions: How many positions there are.
        num_keys: How many keys each query sees; the own position may be one of them.
        generator: The source of randomness; by default torch's global one.
        device: Where to create the mask.

    Raises:
        ValueError: if the number is below 1, or there are too few keys.

    >>> mask = random_mask(6, num_keys=2, generator=torch.Generator().manual_seed(0))
    >>> mask.sum(dim=1)
    tensor([2, 2, 2, 2, 2, 2])
    """
    check_sizes(num_positions=num_positions)
    if not 0 <= num_keys <= num_positions:
        raise ValueError(f"num_keys: expected a number from 0 to {num_positions}, got {num_keys}")
    size = num_positions, num_positions
    drawn = torch.rand(size, generator=generator, device="cpu").argsort(dim=1)[:, :num_keys]
    mask = torch.zeros(size, dtype=torch.bool, device="cpu").scatter(1, drawn, value=True)
    return mask.to(torch.get_default_device() if device is None else device)


def density(mask: Bool[Tensor, "*batch query key"], *, among: Tensor | None = None) -> float:
    """Return the share of the pairs that a mask keeps.

    Args:
        mask: True for the pairs that are kept.
        among: Count only the pairs that are True here, for example in the causal mask.

    Raises:
        TypeError: if a mask is not boolean.
        ValueError: if there is no pair to count.

    >>> from attention_book.attention import causal_mask, window_mask
    >>> density(window_mask(4, radius=1))
    0.625
    >>> density(window_mask(4, radius=1), among=causal_mask(4))
    0.7
    """
    among = torch.ones_like(mask) if among is None else among
    for name, each in (("mask", mask), ("among", among)):
        check_boolean(name, each, "may attend")
    kept, counted = torch.broadcast_tensors(mask, among)
    if not counted.any():
        raise ValueError("among: expected at least one pair to count, got none")
    return int((kept & counted).sum()) / int(counted.sum())


def reach(mask: Pattern | Sequence[Pattern], num_layers: int) -> Bool[Tensor, "output input"]:
    """Return which inputs can reach which outputs through layers of masked self-attention.

    .. math:: R_L = (M_L \\vee I) \\, R_{L-1}, \\qquad R_0 = I

    Products and sums mean "and" and "or"; with one mask for all layers this is a power of the
    pattern. The diagonal I counts whatever the mask says: a position keeps what it knows by
    the residual connection, and asks with it as a query. It is what *can* arrive, not how
    much of it does.

    Args:
        mask: True where a position sees another; or several such masks, which the layers
            take in turn, the first layer the first.
        num_layers: How many layers there are.

    Raises:
        TypeError: if a mask is not boolean.
        ValueError: if a mask is not square, or ``num_layers`` is negative.

    >>> from attention_book.attention import window_mask
    >>> torch.equal(reach(window_mask(9, radius=1), 3), window_mask(9, radius=3))
    True
    """
    masks = [mask] if isinstance(mask, Tensor) else list(mask)
    for each in masks:
        check_boolean("mask", each, "may attend")
    shapes = [tuple(each.shape) for each in masks]
    size = masks[0].shape[-1] if masks else 0
    if set(shapes) != {(size, size)}:
        raise ValueError(f"mask: expected square masks of one size, got {shapes}")
    if num_layers < 0:
        raise ValueError(f"num_layers: expected 0 or more, got {num_layers}")
    reached = torch.eye(size, dtype=torch.bool, device=masks[0].device)
    for layer in range(num_layers):
        # A product counts paths; only whether there is one matters.
        paths = masks[layer % len(masks)].float() @ reached.float()
        reached = reached | (paths > 0)
    return reached
