"""Information flow: which outputs depend on which inputs, found by changing one position.

Nothing is asked of the inside of a model, so the answer holds for convolutions, recurrent
networks and attention, for an encoder, a decoder, and what passes between the two.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book.models.evaluating import evaluating, without_dropout

#: Floats (position, feature) or token numbers (position,), each perhaps in a batch of one.
PositionMap = Callable[[Tensor], Tensor]
Flow = Bool[Tensor, "output input"]


def information_flow(
    function: PositionMap,
    x: Tensor,
    *,
    replacements: Sequence[int] | None = None,
    positions: Sequence[int] | None = None,
    draws: int = 3,
    tolerance: float = 0.0,
) -> Flow:
    """Return which output positions move when one input position is changed.

    Row i and column j of the result are True where output i has moved after a change
    of input j alone. Vectors are changed by adding random numbers, the same in every
    call; a token number is replaced by each of ``replacements`` in turn. True is a
    proof that the information arrives. False says that no change tried did it: take
    double precision, where a small effect is not lost in rounding.

    Args:
        function: The function to examine; a module's dropout is off during the call.
        x: One input, (position, feature) or (1, position, feature); or token numbers,
            (position,) or (1, position). The output's axes begin alike.
        replacements: The token numbers to write instead; those of ``x`` when None.
        positions: The input positions to change, the columns of the result; all when None.
        draws: How many random changes to try of each vector.
        tolerance: An output that moves by no more than this has not moved.

    Returns:
        Booleans, (output, input).

    Raises:
        ValueError: if ``x`` is a batch of several inputs, if the same input does not
            always give the same output, if an output is NaN, or if nothing is left to
            replace a token with.

    >>> from attention_book.attention import DotProductAttention, causal_mask
    >>> dot, x = DotProductAttention(), torch.eye(3)[None]
    >>> information_flow(lambda x: dot(x, x, x, causal_mask(3)), x).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    >>> information_flow(lambda ids: ids.cumsum(0), torch.tensor([5, 7])).int()
    tensor([[1, 0],
            [1, 1]], dtype=torch.int32)
    """
    batched = _has_batch_axis(x)
    places = range(x.shape[batched]) if positions is None else positions
    with evaluating(function):
        before = _outputs(function, x, batched)
        if not torch.equal(_outputs(function, x, batched), before):
            raise ValueError(
                "function: expected the same output for the same input, got another one the "
                "second time; is dropout on?"
            )
        columns = []
        for place in places:
            moved = torch.zeros(len(before), dtype=torch.bool, device=before.device)
            for changed in _changes(x, (0, place) if batched else (place,), replacements, draws):
                after = _outputs(function, changed, batched)
                # Infinite before and after makes NaN, and NaN is above no tolerance.
                moved |= ((after - before).abs() > tolerance).any(dim=1)
            columns.append(moved)
    return torch.stack(columns, dim=1)


def jacobian_norms(function: PositionMap, x: Tensor) -> Float[Tensor, "output input"]:
    """Return how strongly each output position answers to a small change of each input.

    .. math:: J_{ij} = \\Bigl\\lVert \\frac{\\partial y_i}{\\partial x_j} \\Bigr\\rVert_F

    Where :func:`information_flow` asks whether, this asks how much. An effect far too
    small to move a rounded output still shows.

    Args:
        function: The function to examine, differentiable; dropout is off during the call.
        x: One input, (position, feature) or (1, position, feature). The output's axes
            begin alike.

    Raises:
        TypeError: if ``x`` holds token numbers.
        ValueError: if ``x`` is a batch of several inputs.

    >>> jacobian_norms(lambda x: x.cumsum(0) / 2, torch.zeros(3, 1))
    tensor([[0.5000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.5000, 0.5000, 0.5000]])
    """
    batched = _has_batch_axis(x)
    if not x.is_floating_point():
        raise TypeError(f"x: expected vectors of floating point numbers, got {x.dtype}")
    with without_dropout(function), torch.enable_grad():
        jacobian = torch.autograd.functional.jacobian(function, x.detach())
    if batched:
        jacobian = jacobian[0].select(dim=-3, index=0)
    # Between the output's position and the input's stand the output's features, if any.
    norms: Tensor = jacobian.movedim(-2, 1).flatten(start_dim=2).norm(dim=2)
    return norms


def path_length(
    layer: PositionMap, x: Tensor, *, among: Flow | None = None, max_layers: int | None = None
) -> int:
    """Count the layers until every output depends on every input.

    The layer is applied to its own output again and again; the answer is the smallest
    number of times after which no block of :func:`jacobian_norms` is zero any more.
    Vaswani et al. (2017), section 4, call it the maximum path length.

    Args:
        layer: From vectors to as many vectors of the same size.
        x: One input, (position, feature) or (1, position, feature), best in double precision.
        among: The pairs (output, input) that must be joined; all when None. For a layer
            that never looks ahead: ``causal_mask(length)``.
        max_layers: How many to try; as many as there are positions when None.

    Raises:
        ValueError: if some pair is not joined after ``max_layers`` layers.

    >>> convolution = torch.nn.Conv1d(2, 2, kernel_size=3, padding=1).double()
    >>> x = torch.ones(1, 5, 2).double()
    >>> path_length(lambda x: convolution(x.mT).mT, x)
    4
    """
    tried = x.shape[-2] if max_layers is None else max_layers
    for num_layers in range(1, tried + 1):
        joined = jacobian_norms(_repeated(layer, num_layers), x) != 0
        if (joined if among is None else joined | ~among).all():
            return num_layers
    raise ValueError(f"layer: expected every pair to be joined after {tried} layers, got gaps")


def _repeated(layer: PositionMap, times: int) -> PositionMap:
    def stack(x: Tensor) -> Tensor:
        for _ in range(times):
            x = layer(x)
        return x

    return stack


def _has_batch_axis(x: Tensor) -> bool:
    """Tell (1, position, …) from (position, …); vectors have one axis more than tokens."""
    without_batch = 2 if x.is_floating_point() else 1
    if x.ndim == without_batch:
        return False
    if x.ndim == without_batch + 1 and len(x) == 1:
        return True
    raise ValueError(
        "x: expected one input, (position, feature) or (1, position, feature), or one of token "
        f"numbers, (position,) or (1, position), got {x.dtype} of the shape {tuple(x.shape)}"
    )


def _outputs(function: PositionMap, x: Tensor, batched: bool) -> Float[Tensor, "output feature"]:
    output = function(x)[0] if batched else function(x)
    if output.isnan().any():
        raise ValueError("function: expected numbers, got NaN")
    return output.cpu().double().reshape(len(output), -1)


def _changes(
    x: Tensor, place: tuple[int, ...], replacements: Sequence[int] | None, draws: int
) -> Iterator[Tensor]:
    """Copies of ``x`` that differ from it at one place only."""
    if x.is_floating_point():
        noise = torch.Generator().manual_seed(0)
        for _ in range(draws):
            changed = x.clone()
            changed[place] += torch.randn(x.shape[-1], generator=noise, device="cpu").to(x)
            yield changed
        return
    words = set(x.unique().tolist() if replacements is None else replacements) - {x[place].item()}
    if not words:
        raise ValueError("replacements: expected a token other than the one replaced, got none")
    for word in sorted(words):
        changed = x.clone()
        changed[place] = word
        yield changed


__all__ = ["information_flow", "jacobian_norms", "path_length"]
