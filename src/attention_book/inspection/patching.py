"""Patching: put a value of one run into another run, at chosen places or on chosen paths.

What a module adds is carried on by the residual stream, and every later module may read it. To
learn where it is needed, run the model once more and let only one place, or only one reader, get
the value of the other run (activation patching, Vig et al. 2020, Meng et al. 2022; path patching,
Wang et al. 2023).
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from attention_book.foundations.checks import check_boolean
from attention_book.foundations.shapes import Features
from attention_book.models.parts import AddNorm

#: The paths by which a layer's input goes on: into the queries, keys and values of its attention,
#: and past the attention, in the sum.
PATHS = ("queries", "keys", "values", "past")


@contextmanager
def captured(module: nn.Module) -> Iterator[list[Tensor]]:
    """Collect what a module returns while the block lasts, one tensor for each call.

    >>> first = nn.Linear(3, 2)
    >>> with captured(first) as seen:
    ...     output = nn.Sequential(first, nn.ReLU())(torch.ones(5, 3))
    >>> torch.equal(output, seen[0].relu())
    True
    """
    seen: list[Tensor] = []
    with module.register_forward_hook(lambda _, inputs, output: seen.append(output)):
        yield seen


@contextmanager
def patched(
    module: nn.Module, output: Tensor, places: Bool[Tensor, "*place"] | None = None
) -> Iterator[None]:
    """Let a module return another run's output at chosen places while the block lasts.

    .. math:: o'_i = \\begin{cases} \\hat o_i & \\text{where } i \\text{ is chosen} \\\\
        o_i & \\text{elsewhere} \\end{cases}

    With the outputs of the same run nothing changes, whatever is chosen.

    Args:
        module: Any module that returns a tensor.
        output: What it returns at these places, of the shape of its own output.
        places: True = patched, (batch, position) for outputs (batch, position, feature): the
            first axes of the output; None patches all.

    Raises:
        TypeError: if ``places`` is not boolean.
        ValueError: when the module runs, if ``output`` has another shape than its own output, or
            ``places`` than its first axes.

    >>> doubled = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(doubled.weight, 2)
    >>> with patched(doubled, torch.zeros(3, 1), torch.tensor([False, True, False])):
    ...     doubled(torch.ones(3, 1)).flatten().tolist()
    [2.0, 0.0, 2.0]
    """
    if places is not None:
        check_boolean("places", places, "patched")

    def after(module: nn.Module, args: tuple[Any, ...], own: Tensor) -> Tensor:
        if output.shape != own.shape:
            raise ValueError(
                f"output: expected the shape of the module's own, {tuple(own.shape)}, "
                f"got {tuple(output.shape)}"
            )
        if places is None:
            return output
        if places.shape != own.shape[: places.ndim]:
            raise ValueError(
                f"places: expected the first axes of the output's {tuple(own.shape)}, "
                f"got {tuple(places.shape)}"
            )
        chosen = places.reshape(*places.shape, *(1,) * (own.ndim - places.ndim))
        return torch.where(chosen, output, own)

    with module.register_forward_hook(after):
        yield


@contextmanager
def patched_paths(add_norm: AddNorm, vectors: Features, paths: Collection[str]) -> Iterator[None]:
    """Let a layer of attention read other vectors on chosen paths while the block lasts.

    .. math:: x^{\\text{past}} + \\operatorname{Attention}\\bigl(\\operatorname{Norm}(x^{q}),
        \\operatorname{Norm}(x^{k}), \\operatorname{Norm}(x^{v})\\bigr)

    Of the four, those on a chosen path are ``vectors``, and the others the layer's own input. On
    no path, or with its own input, nothing changes; on all four it is as if the layer had been
    given ``vectors``.

    Args:
        add_norm: What joins the attention to the residual stream, in any order of norm and sum:
            ``layer.add_norm`` of :class:`~attention_book.course.models.AttentionOnly`,
            ``layer.self_attention_norm`` of a Transformer's layer.
        vectors: What is read instead, of the shape of the layer's input.
        paths: Some of ``PATHS``: "queries", "keys", "values", and "past" the attention.

    Raises:
        ValueError: if a path is none of these; when the layer runs, if ``vectors`` has another
            shape than its input.

    >>> from attention_book.course.models import AttentionOnly
    >>> model, words = AttentionOnly(vocabulary=7, d_model=8).eval(), torch.tensor([[3, 1, 4]])
    >>> other = torch.randn(1, 3, 8)
    >>> with patched_paths(model.layers[1].add_norm, other, PATHS):
    ...     changed = model(words)
    >>> torch.equal(changed, model.readout(model.norm(model.layers[1](other))))
    True
    """
    unknown = [path for path in paths if path not in PATHS]
    if unknown:
        raise ValueError(f"paths: expected some of {', '.join(PATHS)}, got {unknown[0]!r}")

    def before(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        x, sublayer = args
        if vectors.shape != x.shape:
            raise ValueError(
                f"vectors: expected the shape of the layer's input, {tuple(x.shape)}, "
                f"got {tuple(vectors.shape)}"
            )
        read = {path: vectors if path in paths else x for path in PATHS}
        return (read["past"], _reading(add_norm, sublayer, read)), kwargs

    with add_norm.register_forward_pre_hook(before, with_kwargs=True):
        yield


def _reading(
    add_norm: AddNorm, attention: Callable[..., Tensor], read: dict[str, Tensor]
) -> Callable[..., Tensor]:
    """Return the attention, reading what it is to read, whatever it is given."""

    def sublayer(_: Tensor, **how: Any) -> Tensor:
        queries, keys, values = (
            read[path] if add_norm.order == "post" else add_norm.norm(read[path])
            for path in PATHS[:3]
        )
        return attention(queries, keys, values, **how)

    return sublayer


__all__ = ["PATHS", "captured", "patched", "patched_paths"]
