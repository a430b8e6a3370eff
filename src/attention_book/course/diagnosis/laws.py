"""A check-up of a Transformer: laws that a healthy one obeys, trained or not.

Each law takes a moment and needs no data. A mistake that ruins a translation after hours
of training mostly breaks one of them before the first step.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import (
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    SinusoidalPositions,
    merge_heads,
)
from attention_book.conformance import Sequence
from attention_book.course.diagnosis.language_laws import obeyed
from attention_book.models import AddNorm, Transformer
from attention_book.models.evaluating import evaluating
from attention_book.text import BOS, EOS, PAD

_FIRST_WORD = max(BOS, EOS, PAD) + 1
#: These don't change attention itself.
_AT_THE_INPUT = NoPositions, SinusoidalPositions, LearnedPositions
#: Name of each law that :func:`check_up` asks for, to its name in
#: :func:`~attention_book.conformance.laws`, where it stands.
LAWS: Mapping[str, str] = MappingProxyType(
    {
        "future is hidden": "future-is-hidden",
        "steps agree": "steps",
        "padding is nothing": "padding-on-the-right",
        "source is read": "past-is-read",
        "order is read": "order",
        "attention is torchs": "formula",
        "input comes through": "residual",
    }
)


def check_up(model: Transformer) -> dict[str, bool]:
    """Return the name of each law in :data:`LAWS`, to whether the model obeys it.

    It is asked about made-up sentences, without dropout, and left as it was. Positions that
    are learned from 0 on (the buckets of T5) are not read before they have been trained.
    Attention with positions of its own inside is not compared with torch's, which has none.

    >>> from attention_book.models import TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=10, target_vocabulary=12))
    >>> all(check_up(model).values())
    True
    """
    for name in ("source_vocabulary", "target_vocabulary"):
        if (size := getattr(model.config, name)) < _FIRST_WORD + 2:
            raise ValueError(f"{name}: expected at least {_FIRST_WORD + 2}, got {size}")
    answers = dict.fromkeys(LAWS, True)
    with evaluating(model):
        for subject, names in _subjects(model):
            for name, holds in obeyed(subject, {name: LAWS[name] for name in names}).items():
                answers[name] &= holds
    return answers


def _subjects(model: Transformer) -> Iterator[tuple[Sequence, tuple[str, ...]]]:
    """Yield what of a Transformer is asked for which laws."""
    yield _targets(model), ("future is hidden", "steps agree")
    yield _sources(model), ("padding is nothing", "source is read", "order is read")
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and isinstance(module.positions, _AT_THE_INPUT):
            yield _heads(module), ("attention is torchs",)
        if isinstance(module, AddNorm):
            yield _with_its_input(module, model.config.d_model), ("input comes through",)


def _targets(model: Transformer) -> Sequence:
    """What it writes, word by word, for a source that stays."""
    vocabulary = model.config.target_vocabulary - _FIRST_WORD
    place = next(model.parameters()).device
    words = model.config.source_vocabulary - _FIRST_WORD
    source = torch.arange(5, device=place)[None] % words + _FIRST_WORD

    def memory(batch: int) -> Any:
        given = source.expand(batch, -1)
        return model.encode(given, torch.ones_like(given, dtype=torch.bool))

    def begun(ids: Tensor) -> Tensor:
        first = torch.full_like(ids[:, :1], model.config.bos)
        return torch.cat((first, ids + _FIRST_WORD), dim=1)

    def start(batch: int) -> Any:
        first = torch.full((batch,), model.config.bos, device=place)
        return model.step(first, model.start(memory(batch)))[1]

    def step(ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, after = model.step(ids[:, 0] + _FIRST_WORD, state)
        return logits[:, None], after

    def write(ids: Tensor, _: Tensor | None) -> Tensor:
        logits: Tensor = model.decode(begun(ids), memory(len(ids)))
        return logits[:, 1:]

    return Sequence(
        write,
        vocabulary=vocabulary,
        mask="none",
        causal=True,
        module=model,
        start=start,
        step=step,
        chunks=False,
    )


def _sources(model: Transformer) -> Sequence:
    """What it makes of any source, for a text that stays."""
    place = next(model.parameters()).device
    words = model.config.target_vocabulary - _FIRST_WORD
    text = torch.arange(4, device=place)[None] % words + _FIRST_WORD
    text[:, 0] = model.config.bos

    def read(ids: Tensor, real: Tensor | None) -> Tensor:
        size = ids.shape[1]
        if real is None:  # there is always padding, which must not be read in the words' stead
            real = F.pad(torch.ones_like(ids, dtype=torch.bool), (0, 2))
            ids = F.pad(ids, (0, 2), value=model.config.pad - _FIRST_WORD)
        logits: Tensor = model(ids + _FIRST_WORD, real, text.expand(len(ids), -1))
        return logits.flatten(1)[:, None].expand(
            -1, size, -1
        )  # the same at each place of the source

    return Sequence(
        read,
        vocabulary=model.config.source_vocabulary - _FIRST_WORD,
        positions=True,
        module=model,
    )


def _heads(attention: MultiHeadAttention) -> Sequence:
    """Attention, and its queries, keys and values, as torch's own averages with them."""

    def parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        look = attention.look(x)
        return look.q, look.k, look.v

    def merge(heads: Tensor) -> Tensor:
        mixed: Tensor = attention.W_o(merge_heads(heads))
        return mixed

    return Sequence(
        lambda x, _: attention(x, x, x),
        width=attention.d_model,
        module=attention,
        parts=parts,
        merge=merge,
    )


def _with_its_input(add_norm: AddNorm, width: int) -> Sequence:
    """A sublayer that is silent, in its place."""
    return Sequence(
        lambda x, _: add_norm(x, nn.Identity()),
        width=width,
        mask="none",
        mixes=False,
        module=add_norm,
        silent=lambda x: add_norm(x, torch.zeros_like),
    )


__all__ = ["LAWS", "check_up"]
