"""Interventions: replace a model's attention weights from outside, and see what changes.

Weights that are only looked at show what went together with a prediction. Whether the
prediction needed them shows when they are changed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from attention_book.foundations.checks import check_boolean
from attention_book.foundations.shapes import Weights
from attention_book.inspection.capture import arguments_of, call_with

Visible = Bool[Tensor, "*batch query key"]
#: Makes new weights from the module's own and from what its queries may see.
Change = Callable[[Weights, Visible], Weights]


# A second change would start from the module's own weights, and the first would be lost.
_under_change: WeakSet[nn.Module] = WeakSet()


@contextmanager
def changed_attention(attention: nn.Module, change: Change) -> Iterator[None]:
    """Let an attention module average its values with changed weights while the block lasts.

    .. math:: o = \\operatorname{change}(\\alpha) \\, V

    The module is watched from outside: at every call its own weights are computed,
    changed, and multiplied with the values; where it has several heads, its ``look`` says what
    a call compares and its ``combine`` mixes the heads. What follows in the model (a
    recurrent decoder's next queries, say) follows from the changed output. Dropout
    does not act on changed weights. The module's ``weights`` method is left alone:
    inside the block it still answers with the module's own.

    Args:
        attention: A module with ``forward(queries, keys, values, mask)`` and
            ``weights(queries, keys, mask)``, for example a
            :class:`~attention_book.attention.MultiHeadAttention`.
        change: Called with the weights (\\*batch, query, key), those of every head where there
            are heads, and a mask of the same shape, True = may be seen; returns weights of the
            same shape. What ``is_causal`` hides in a call may not be seen either.

    Raises:
        TypeError: if ``attention`` has no ``weights`` method.
        ValueError: if another block changes this module already; when the module runs, if
            ``change`` returns another shape.

    >>> from attention_book.attention import DotProductAttention
    >>> attention = DotProductAttention()
    >>> one, keys = torch.tensor([[8.0]]), torch.tensor([[0.0], [1.0]])
    >>> with changed_attention(attention, even):
    ...     attention(one, keys, torch.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    if not callable(getattr(attention, "weights", None)):
        raise TypeError(
            f"attention: expected a module with a weights method, got {type(attention).__name__}"
        )

    if attention in _under_change:
        raise ValueError(
            "attention: expected a module that no other block changes, got one within another "
            "block; make one change of the two"
        )

    looks: list[Any] = []

    def before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arguments = arguments_of(module, args, kwargs)
        asks = hasattr(module, "look")
        looks.append(call_with(module.look, arguments) if asks else arguments)

    def after(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], _: Tensor) -> Tensor:
        look = looks.pop()
        if hasattr(module, "look"):
            own: Tensor = module.weights_of(look)
            visible = look.see.dense(look.at, own.device)
        else:
            own, visible = call_with(module.weights, look), look["mask"]
        if visible is None:
            visible = own.new_ones(own.shape, dtype=torch.bool)
        changed = change(own, visible.expand_as(own))
        if changed.shape != own.shape:
            raise ValueError(
                f"change: expected weights of the shape {tuple(own.shape)}, "
                f"got {tuple(changed.shape)}"
            )
        if hasattr(module, "look"):
            output: Tensor = module.combine(changed, look)
            return output
        averages: Tensor = changed @ look["values"]
        return averages

    handles = [
        attention.register_forward_pre_hook(before, with_kwargs=True),
        attention.register_forward_hook(after, with_kwargs=True),
    ]
    _under_change.add(attention)
    try:
        yield
    finally:
        _under_change.remove(attention)
        for handle in handles:
            handle.remove()


@contextmanager
def forced_attention(attention: nn.Module, weights: Weights) -> Iterator[None]:
    """Let an attention module average its values with given weights while the block lasts.

    The rows are used up in order: a decoder that asks one query at a time gets row 0,
    then row 1; one that asks all at once gets them all.

    Args:
        attention: As in :func:`changed_attention`.
        weights: One row for each query to come, (\\*batch, query, key).

    Raises:
        TypeError: if ``attention`` has no ``weights`` method.
        ValueError: when the module runs, if there are more queries than rows, or the
            batch or the number of keys is another.

    >>> from attention_book.attention import DotProductAttention
    >>> attention, values = DotProductAttention(), torch.tensor([[1.0], [3.0]])
    >>> with forced_attention(attention, torch.tensor([[0.0, 1.0], [1.0, 0.0]])):
    ...     for query in torch.ones(2, 1, 1):
    ...         print(attention(query, values, values))
    tensor([[3.]])
    tensor([[1.]])
    """
    used = 0

    def next_rows(own: Weights, visible: Visible) -> Weights:
        nonlocal used
        rows = weights[..., used : used + own.shape[-2], :]
        if rows.shape != own.shape:
            raise ValueError(
                f"weights: expected rows {used} to {used + own.shape[-2] - 1} in the shape "
                f"{tuple(own.shape)}, got {tuple(rows.shape)} of {tuple(weights.shape)}"
            )
        used += own.shape[-2]
        return rows

    with changed_attention(attention, next_rows):
        yield


def even(weights: Weights, visible: Visible) -> Weights:
    """Return equal weights for all keys that may be seen: the average, without attention.

    >>> even(torch.tensor([[0.9, 0.1, 0.0]]), torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    return visible.to(weights.dtype) / visible.sum(dim=-1, keepdim=True).clamp(min=1)


def shuffled(
    weights: Weights, visible: Visible, *, generator: torch.Generator | None = None
) -> Weights:
    """Return the same weights, dealt out at random among the keys that may be seen.

    Jain and Wallace (2019), section 4.2.1: as sharp as before, but elsewhere.

    >>> mask = torch.tensor([[True, True, False]])
    >>> shuffled(torch.tensor([[0.9, 0.1, 0.0]]), mask).sort().values
    tensor([[0.0000, 0.1000, 0.9000]])
    """
    lots = torch.rand(weights.shape, generator=generator, device="cpu").to(weights.device)
    drawn = lots.masked_fill(~visible, torch.inf).argsort(dim=-1)
    places = (~visible).int().argsort(dim=-1, stable=True)  # what may be seen comes first
    return torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, drawn))


def only_heaviest(weights: Weights, visible: Visible) -> Weights:
    """Return weight 1 for the key with the largest weight, and 0 for the others.

    >>> only_heaviest(torch.tensor([[0.6, 0.3, 0.1]]), torch.ones(1, 3, dtype=torch.bool))
    tensor([[1., 0., 0.]])
    """
    one_hot = torch.zeros_like(weights).scatter(-1, weights.argmax(dim=-1, keepdim=True), 1)
    return one_hot * visible


def without_heaviest(weights: Weights, visible: Visible) -> Weights:
    """Hide the key with the largest weight from each query; the others share its weight.

    .. math:: \\alpha'_j = \\frac{\\alpha_j}{1 - \\alpha_{\\max}}

    That is what a softmax with this key masked returns. Serrano and Smith (2019), section 4.

    >>> without_heaviest(torch.tensor([[0.6, 0.3, 0.1]]), torch.ones(1, 3, dtype=torch.bool))
    tensor([[0.0000, 0.7500, 0.2500]])
    """
    return _without(weights, weights.argmax(dim=-1, keepdim=True))


def without_random(
    weights: Weights, visible: Visible, *, generator: torch.Generator | None = None
) -> Weights:
    """Hide a random key from each query, drawn among those that may be seen.

    What :func:`without_heaviest` is to be compared with.

    >>> mask = torch.tensor([[True, True, False]])
    >>> without_random(torch.tensor([[0.5, 0.5, 0.0]]), mask).max()
    tensor(1.)
    """
    lots = torch.rand(weights.shape, generator=generator, device="cpu").to(weights.device)
    return _without(weights, lots.masked_fill(~visible, -1).argmax(dim=-1, keepdim=True))


def without_pairs(chosen: Bool[Tensor, "*#batch #query #key"]) -> Change:
    """Return a change that hides chosen keys from chosen queries; the others share their weight.

    .. math:: \\alpha'_{qk} = \\frac{\\alpha_{qk}\\,[(q, k) \\text{ not chosen}]}
        {\\sum_{l:\\,(q, l) \\text{ not chosen}} \\alpha_{ql}}

    That is what a softmax with these pairs masked returns; a query that keeps no key gets 0.
    One kind of look ("at the token before") can so be cut from all heads of a module at once,
    where switching one head off leaves the work to others.

    Args:
        chosen: True = this query may no longer see this key, (query, key) or
            (batch, query, key) for all heads, (batch, head, query, key) for each.

    Returns:
        A change for :func:`changed_attention`.

    Raises:
        TypeError: if ``chosen`` is not boolean.
        ValueError: when the module runs, if the shape does not fit its weights.

    >>> itself = torch.eye(3, dtype=torch.bool)
    >>> change = without_pairs(itself)
    >>> change(torch.tensor([[0.5, 0.2, 0.3]] * 3), torch.ones(3, 3, dtype=torch.bool))
    tensor([[0.0000, 0.4000, 0.6000],
            [0.6250, 0.0000, 0.3750],
            [0.7143, 0.2857, 0.0000]])
    """
    check_boolean("chosen", chosen, "no longer seen")

    def change(weights: Weights, visible: Visible) -> Weights:
        hidden = chosen.unsqueeze(1) if chosen.ndim == 3 and weights.ndim == 4 else chosen
        _check_chosen(hidden, weights)
        return _normalized(weights.masked_fill(hidden.to(weights.device), 0))

    return change


def _check_chosen(hidden: Tensor, weights: Weights) -> None:
    sizes = zip(reversed(hidden.shape), reversed(weights.shape), strict=False)
    if not 2 <= hidden.ndim <= weights.ndim or any(have not in (1, want) for have, want in sizes):
        raise ValueError(
            "chosen: expected a shape that broadcasts to the weights' (*batch, query, key) = "
            f"{tuple(weights.shape)}, got {tuple(hidden.shape)}"
        )


def _without(weights: Weights, hidden: Tensor) -> Weights:
    """Set one weight of each row to 0 and scale the others up; nothing is left of one key."""
    return _normalized(weights.scatter(-1, hidden, 0))


def _normalized(rest: Weights) -> Weights:
    total = rest.sum(dim=-1, keepdim=True)
    return rest / total.where(total > 0, 1)


__all__ = [
    "Change",
    "changed_attention",
    "even",
    "forced_attention",
    "only_heaviest",
    "shuffled",
    "without_heaviest",
    "without_pairs",
    "without_random",
]
