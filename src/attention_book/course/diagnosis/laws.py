"""A check-up of a Transformer: laws that a healthy one obeys, trained or not.

Each law takes milliseconds and needs no data. A mistake that ruins a translation after hours
of training mostly breaks one of them before the first step.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import (
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    SinusoidalPositions,
)
from attention_book.models import AddNorm, Transformer, to_torch
from attention_book.models.evaluating import evaluating
from attention_book.text import BOS, EOS, PAD

#: Two predictions that differ by less are the same: float32 and another order of sums.
TOLERANCE = 1e-4
_FIRST_WORD = max(BOS, EOS, PAD) + 1
_LENGTHS = 7, 5, 4
#: These don't change attention itself.
_AT_THE_INPUT = NoPositions, SinusoidalPositions, LearnedPositions


def check_up(model: Transformer) -> dict[str, bool]:
    """Return the name of each law in :data:`LAWS`, to whether the model obeys it.

    It is asked about made-up sentences, without dropout, and left as it was. Positions that
    are learned from 0 on (the buckets of T5) are not read before they have been trained.

    >>> from attention_book.models import TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=10, target_vocabulary=12))
    >>> all(check_up(model).values())
    True
    """
    for name in ("source_vocabulary", "target_vocabulary"):
        if (size := getattr(model.config, name)) < _FIRST_WORD + 2:
            raise ValueError(f"{name}: expected at least {_FIRST_WORD + 2}, got {size}")
    with evaluating(model):
        return {name: law(model) for name, law in LAWS.items()}


def future_is_hidden(model: Transformer) -> bool:
    """Another last target word moves no earlier prediction."""
    source, mask, target = _sentences(model)
    other = target.clone()
    other[:, -1] = _other_word(target[:, -1], model.config.target_vocabulary)
    return _same(model(source, mask, target)[:, :-1], model(source, mask, other)[:, :-1])


def steps_agree(model: Transformer) -> bool:
    """Word by word, the predictions are those of teacher forcing."""
    source, mask, target = _sentences(model)
    memory = model.encode(source, mask)
    state, stepwise = model.start(memory), []
    for token in target.unbind(dim=1):
        logits, state = model.step(token, state)
        stepwise.append(logits)
    return _same(torch.stack(stepwise, dim=1), model.decode(target, memory))


def padding_is_nothing(model: Transformer) -> bool:
    """Two more places of padding move no prediction."""
    source, mask, target = _sentences(model)
    longer = F.pad(source, (0, 2), value=model.config.pad), F.pad(mask, (0, 2))
    return _same(model(source, mask, target), model(*longer, target))


def source_is_read(model: Transformer) -> bool:
    """Another first source word moves the predictions of every sentence."""
    source, mask, target = _sentences(model)
    other = source.clone()
    other[:, 0] = _other_word(source[:, 0], model.config.source_vocabulary)
    before, after = model(source, mask, target), model(other, mask, target)
    return all(not _same(*pair) for pair in zip(before, after, strict=True))


def order_is_read(model: Transformer) -> bool:
    """The same source words in another order move the predictions."""
    source, mask, target = _sentences(model)
    turned = source.clone()
    turned[:, :3] = source[:, :3].flip(dims=(1,))
    return not _same(model(source, mask, target), model(turned, mask, target))


def attention_is_torchs(model: Transformer) -> bool:
    """With the same weights, torch's own multi-head attention returns the same.

    Torch knows no positions inside attention, so layers that have them are left out.
    """
    attentions = (module for module in model.modules() if isinstance(module, MultiHeadAttention))
    return all(
        _agrees_with_torch(attention)
        for attention in attentions
        if isinstance(attention.positions, _AT_THE_INPUT)
    )


def _agrees_with_torch(ours: MultiHeadAttention) -> bool:
    x = torch.randn(2, 5, ours.d_model, generator=torch.Generator().manual_seed(0), device="cpu")
    x = 3 * x.to(ours.W_o.weight)  # larger scores: where the softmax is not nearly even
    try:
        theirs = to_torch(ours)
    except ValueError:  # torch's has no such scale, or no such groups
        return False
    return _same(ours(x, x, x), theirs(x, x, x, need_weights=False)[0])


def input_comes_through(model: Transformer) -> bool:
    """Where a sublayer is silent, its input still reaches the output."""
    layers = [module for module in model.modules() if isinstance(module, AddNorm)]
    x = torch.arange(2.0 * model.config.d_model).sin().view(2, 1, -1)
    x = x.to(next(model.parameters()))
    outputs = (layer(x, torch.zeros_like) for layer in layers)
    return all(not _same(*output) for output in outputs)


#: Name of each law, to the function that asks the model.
LAWS: Mapping[str, Callable[[Transformer], bool]] = MappingProxyType(
    {
        law.__name__.replace("_", " "): law
        for law in (
            future_is_hidden,
            steps_agree,
            padding_is_nothing,
            source_is_read,
            order_is_read,
            attention_is_torchs,
            input_comes_through,
        )
    }
)


def _sentences(model: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    """Return sources of three lengths, their mask, and targets."""
    generator = torch.Generator().manual_seed(0)
    shape = len(_LENGTHS), max(_LENGTHS)
    sizes = model.config.source_vocabulary, model.config.target_vocabulary
    source, target = (
        torch.randint(_FIRST_WORD, size, shape, generator=generator, device="cpu") for size in sizes
    )
    source[:, :3] = torch.arange(3, device="cpu") % (sizes[0] - _FIRST_WORD) + _FIRST_WORD
    mask = torch.arange(shape[1], device="cpu") < torch.tensor(_LENGTHS, device="cpu")[:, None]
    target[:, 0] = model.config.bos
    device = next(model.parameters()).device
    source = source.masked_fill(~mask, model.config.pad)
    return source.to(device), mask.to(device), target.to(device)


def _other_word(words: Tensor, vocabulary: int) -> Tensor:
    return (words - _FIRST_WORD + 1) % (vocabulary - _FIRST_WORD) + _FIRST_WORD


def _same(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=0, atol=TOLERANCE)


__all__ = ["LAWS", "check_up"]
