"""Faults: plant a common mistake into a healthy model, its data or its optimizer, from outside.

What a mistake looks like is best learned where it was made on purpose. The models have no
switches for it: while the block of :func:`planted` lasts, the thing itself is given another
attribute; afterwards it is as it was.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import (
    MultiHeadAttention,
    NoPositions,
    Visibility,
    masked_softmax,
)
from attention_book.models import AddNorm, Transformer
from attention_book.text import Batch, ParallelData

#: Something's attribute, and what stands in its place.
Change = tuple[object, str, object]


@contextmanager
def planted(
    thing: Transformer | ParallelData | torch.optim.Optimizer, fault: str
) -> Iterator[None]:
    """Make a mistake in a model, its data or its optimizer while the block lasts.

    Train and translate within the block. Parameters stay where they are, so what was
    learned with the mistake is kept, and only the mistake goes.

    Args:
        thing: What the fault is made in; :data:`FAULTS` says which it must be.
        fault: A name in :data:`FAULTS`.

    Raises:
        ValueError: if there is no fault of that name.
        TypeError: if it is made in another kind of thing.

    >>> import torch
    >>> from attention_book.models import TransformerConfig
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> model, source = Transformer(config).eval(), torch.tensor([[4, 5, 6, 7, 3]])
    >>> short, long = torch.tensor([[2, 7]]), torch.tensor([[2, 7, 8]])
    >>> def sees_the_future():
    ...     memory = model.encode(source, source > 0)
    ...     first, same = model.decode(short, memory), model.decode(long, memory)[:, :2]
    ...     return not torch.allclose(first, same, atol=1e-5)
    >>> with planted(model, "no-causal-mask"):
    ...     sees_the_future()
    True
    >>> sees_the_future()
    False
    """
    if fault not in FAULTS:
        raise ValueError(f"fault: expected one of {', '.join(FAULTS)}, got {fault!r}")
    kind, changes = FAULTS[fault]
    if not isinstance(thing, kind):
        raise TypeError(
            f"thing: expected a {kind.__name__} for {fault!r}, got {type(thing).__name__}"
        )
    with ExitStack() as stack:
        for owner, name, new in changes(thing):
            stack.enter_context(_replaced(owner, name, new))
        yield


@contextmanager
def _replaced(owner: object, name: str, new: object) -> Iterator[None]:
    """Give ``owner`` another attribute; a method of its class is hidden, not changed."""
    old, own = getattr(owner, name), name in vars(owner)
    own = own or (isinstance(owner, nn.Module) and name in dict(owner.named_children()))
    setattr(owner, name, new)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, old)
        else:
            delattr(owner, name)


def _each(model: nn.Module, kind: type[nn.Module]) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, kind)]


# --- in a Transformer ------------------------------------------------------------------------


def no_scaling(model: Transformer) -> Iterator[Change]:
    """Leave the scores undivided, as if by :math:`\\sqrt{d_k} = 1`."""
    for attention in _each(model, MultiHeadAttention):
        yield attention, "scale", 1.0


def softmax_over_queries(model: Transformer) -> Iterator[Change]:
    """Normalize the scores of each key over the queries, not of each query over the keys."""
    for attention in _each(model, MultiHeadAttention):
        yield attention, "forward", _wrong_axis(attention)


def _wrong_axis(attention: MultiHeadAttention) -> Callable[..., Tensor]:
    def forward(*asked: Any, **how: Any) -> Tensor:
        look = q, k, _, see, at = attention.look(*asked, **how)
        scale = attention.scale or 1 / math.sqrt(q.shape[-1])
        bias = attention.positions.bias(q, at, scale=scale)
        scores = q @ k.mT * scale + (0 if bias is None else bias)
        mask = see.dense(at, q.device)
        turned = None if mask is None else mask.expand_as(scores).mT
        return attention.combine(masked_softmax(scores.mT, turned).mT, look)

    return forward


def no_causal_mask(model: Transformer) -> Iterator[Change]:
    """Let the decoder see whole targets in training; in step-by-step decoding nothing changes."""
    for layer in model.decoder.layers:
        yield layer, "forward", _with_keywords(layer.forward, is_causal=False)


def _with_keywords(function: Callable[..., Any], **fixed: object) -> Callable[..., Any]:
    return lambda *args, **keywords: function(*args, **{**keywords, **fixed})


def inverted_padding_mask(model: Transformer) -> Iterator[Change]:
    """Hide the source's real tokens and show its padding, where a batch has any."""
    healthy = model.encode

    def encode(source: Tensor, source_mask: Tensor) -> Any:
        if source_mask.all():
            return healthy(source, source_mask)
        with ExitStack() as stack:
            encoder = model.encoder
            stack.enter_context(_replaced(encoder, "forward", _inverting(encoder.forward)))
            memory = healthy(source, source_mask)
        return replace(memory, mask=~memory.mask)

    yield model, "encode", encode


def _inverting(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda tokens, see: forward(tokens, Visibility(mask=~see.mask))


def no_positions(model: Transformer) -> Iterator[Change]:
    """Remove the positions, wherever they enter."""
    for stack in (model.encoder, model.decoder):
        yield stack, "positions", NoPositions()
    for attention in _each(model, MultiHeadAttention):
        yield attention, "positions", NoPositions()


def position_zero(model: Transformer) -> Iterator[Change]:
    """Add position 0 to every word in step-by-step decoding; training is not touched."""
    yield model.decoder, "embed", _with_keywords(model.decoder.embed, offset=0)


def no_residual(model: Transformer) -> Iterator[Change]:
    """Return what the sublayer makes of its input, without adding the input."""
    for add_norm in _each(model, AddNorm):
        yield add_norm, "forward", _without_sum(add_norm)


def _without_sum(add_norm: AddNorm) -> Callable[..., Tensor]:
    def forward(x: Tensor, sublayer: Callable[..., Tensor], **how: Any) -> Tensor:
        if add_norm.order == "pre":
            return sublayer(add_norm.norm(x), **how)
        output: Tensor = add_norm.norm(sublayer(x, **how))
        return output

    return forward


def norm_over_time(model: Transformer) -> Iterator[Change]:
    """Take the norms' mean and variance over the whole sentence, not over each position."""
    for add_norm in _each(model, AddNorm):
        yield add_norm.norm, "forward", _over_sentence(add_norm.norm)


def _over_sentence(norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    def forward(x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-2:], eps=norm.eps) * norm.weight + norm.bias

    return forward


# --- in the data -----------------------------------------------------------------------------


def padding_in_loss(data: ParallelData) -> Iterator[Change]:
    """Count padding as if it were words to be predicted."""
    yield data, "batches", _altered(data, _all_real)


def no_shift(data: ParallelData) -> Iterator[Change]:
    """Ask at each place for the word that stands there, not for the next."""
    yield data, "batches", _altered(data, _same_word)


def _altered(data: ParallelData, change: Callable[[Batch], Batch]) -> Callable[..., Any]:
    healthy = data.batches
    return lambda *args, **keywords: map(change, healthy(*args, **keywords))


def _all_real(batch: Batch) -> Batch:
    return replace(batch, target_mask=batch.target_mask | True)


def _same_word(batch: Batch) -> Batch:
    return replace(batch, target_output=batch.target_input)


# --- in the optimizer ------------------------------------------------------------------------


def no_step(optimizer: torch.optim.Optimizer) -> Iterator[Change]:
    """Never change a parameter: as if step(), or backward() before it, had been forgotten."""
    yield optimizer, "step", lambda closure=None: None


def no_zero_grad(optimizer: torch.optim.Optimizer) -> Iterator[Change]:
    """Add each step's gradient to those of all steps before."""
    yield optimizer, "zero_grad", lambda set_to_none=True: None


#: Name of each fault, to the kind of thing it is made in and the function that makes it.
FAULTS: Mapping[str, tuple[type, Callable[[Any], Iterator[Change]]]] = MappingProxyType(
    {
        make.__name__.replace("_", "-"): (kind, make)
        for kind, makers in (
            (Transformer, (no_scaling, softmax_over_queries, no_causal_mask, inverted_padding_mask,
                           no_positions, position_zero, no_residual, norm_over_time)),
            (ParallelData, (padding_in_loss, no_shift)),
            (torch.optim.Optimizer, (no_step, no_zero_grad)),
        )
        for make in makers
    }
)  # fmt: skip

__all__ = ["FAULTS", "planted"]
