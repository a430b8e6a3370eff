"""Inputs, modules with weights drawn anew, and plain formulas in double precision."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.course.own_file.core import Case
from attention_book.foundations.bilingual import Bilingual

PAD, BOS, EOS = 0, 2, 3


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Draw numbers: for a shape and a seed the same ones."""
    generator = torch.Generator().manual_seed(seed + 97 * sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def drawn(module: nn.Module, seed: int = 0) -> Any:
    """Give a module double precision and weights drawn anew, those of norms and biases too."""
    module = module.double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            shape = parameter.shape
            scale = 0.3 if len(shape) == 1 else 1.2 / math.sqrt(shape[-1])
            parameter.copy_(scale * torch.randn(shape, dtype=torch.float64, generator=generator))
            if len(shape) == 1:
                parameter.add_(0.5)
    return module.eval()


def ids(*shape: int, words: int = 9, seed: int = 0) -> Tensor:
    """Draw word numbers, none of them special."""
    return torch.randint(
        4, words, shape, generator=torch.Generator().manual_seed(seed + sum(shape))
    )


# --- plain formulas ---


def softmax(s: Tensor, axis: int = -1) -> Tensor:
    """Return the softmax along an axis."""
    e = (s - s.amax(axis, keepdim=True)).exp()
    return e / e.sum(axis, keepdim=True)


def plain_weights(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the weights under a mask; a row that may see nothing is 0."""
    if mask is None:
        return softmax(s)
    mask = mask.expand(s.shape)
    e = torch.where(mask, (s - s.amax(-1, keepdim=True)).exp(), torch.zeros_like(s))
    total = e.sum(-1, keepdim=True)
    return torch.where(total > 0, e / total.clamp(min=1e-300), torch.zeros_like(e))


def plain_attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Return scaled dot-product attention."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return plain_weights(torch.einsum("...nd,...md->...nm", q, k) * scale, mask) @ v


def plain_causal(n: int, m: int) -> Tensor:
    """Return the causal mask of the last n of m places."""
    return torch.tensor([[j <= i + m - n for j in range(m)] for i in range(n)])


def plain_real(x: Tensor) -> Tensor:
    """Return the mask of words that are no padding."""
    return (x != PAD)[:, None, :]


def plain_positions(n: int, d: int, start: int = 0) -> Tensor:
    """Return the table of sines and cosines."""
    return torch.tensor(
        [
            [
                (math.sin, math.cos)[c % 2]((start + i) / 10000 ** ((c - c % 2) / d))
                for c in range(d)
            ]
            for i in range(n)
        ],
        dtype=torch.float64,
    )


def case(
    given: Mapping[str, Any],
    got: Callable[[], Any],
    want: Any,
    about: tuple[str, str] | None = None,
    *,
    tolerance: float = 1e-5,
    **slips: Callable[[], Any],
) -> Case:
    """Return a case whose slips are keywords: ``no_scale=`` is the slip "no-scale".

    What stands behind two underscores tells ways to make one slip apart.
    """
    named = {key.replace("__", "@").replace("_", "-"): value for key, value in slips.items()}
    return Case(given, got, want, named, Bilingual(*about) if about else None, tolerance)


def some_mask() -> Tensor:
    """Return a mask of three queries and four keys."""
    rows = [[True, True, False, True], [False, False, True, False], [True, True, True, True]]
    return torch.tensor(rows)


def small_transformer(my: Any, depth: int = 2) -> Any:
    """Return the reader's Transformer, small, with drawn weights."""
    return drawn(my.Transformer(9, 11, d=8, heads=2, d_ff=16, depth=depth))


def padded() -> tuple[Tensor, Tensor]:
    """Return source sentences of several lengths, and targets."""
    source = torch.tensor([[4, 5, 6, 3, 0], [7, 3, 0, 0, 0], [5, 4, 7, 8, 3]])
    target = torch.tensor([[2, 5, 6, 7], [2, 8, 9, 10], [2, 4, 4, 6]])
    return source, target
