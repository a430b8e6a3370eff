"""What the heads of a Transformer do, in numbers: how sharp, how far, how needed, how aligned."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_book.foundations.bilingual import Bilingual
from attention_book.inspection import (
    attention_heads,
    capture_attention,
    head_importance,
    offset_profile,
)
from attention_book.metrics import corpus_alignment_scores, diagonal_alignment, hard_alignment
from attention_book.models import Transformer
from attention_book.models.evaluating import evaluating
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.progress import say_how_long
from attention_book.runs.command.translators import Learned
from attention_book.runs.command.translators.heads import cross
from attention_book.text import Batch, ParallelData, SentencePair
from attention_book.training import evaluate_loss

_BATCH = 64


@dataclass(frozen=True, kw_only=True)
class HeadReport:
    """What one head does on average.

    Attributes:
        module: Where it is.
        number: Which one there, from 1.
        sharpness: The largest weight of a query, on average.
        previous: The weight on the place before; None where queries and keys are two sentences.
        own: On the same place.
        following: On the place after.
        loss: By how much the loss per token rises without it.
    """

    module: str
    number: int
    sharpness: float
    previous: float | None = None
    own: float | None = None
    following: float | None = None
    loss: float


def head_reports(model: Transformer, data: ParallelData) -> list[HeadReport]:
    """Return what each head does, in the order of the model."""
    profiles: dict[str, Tensor] = {}
    place = next(model.parameters()).device
    for batch in (batch.to(place) for batch in data.batches(_BATCH)):
        for name, found in _profiles(model, batch):
            share = found.cpu() * len(batch) / len(data)
            profiles[name] = profiles.get(name, torch.zeros(())) + share
    reports, measured = [], 0

    def loss_of_model() -> float:
        nonlocal measured
        began = time.monotonic()
        loss = evaluate_loss(model, data)
        measured += 1
        if measured == 1:
            left = (time.monotonic() - began) * len(attention_heads(model))
            say_how_long(left, spoken(Bilingual("逐个去掉注意力头", "leaving out each head")))
        return loss

    for head, loss in head_importance(model, loss_of_model).items():
        sharpness, *places = profiles[head.module][head.number].tolist()
        known = dict(zip(("previous", "own", "following"), places, strict=False))
        reports.append(
            HeadReport(
                module=head.module, number=head.number + 1, sharpness=sharpness, loss=loss, **known
            )
        )
    return reports


def _profiles(model: Transformer, batch: Batch) -> Iterator[tuple[str, Tensor]]:
    """Yield of each module (head, number): the sharpness, and the weights on three places."""
    with evaluating(model), capture_attention(model) as seen:
        model(batch.source, batch.source_mask, batch.target_input)
    for name in dict.fromkeys(head.module for head in attention_heads(model)):
        [weights] = seen[name]
        on_source = batch.source_mask if name.startswith("encoder") else batch.target_mask
        queries = on_source.sum()
        largest = weights.amax(dim=-1).masked_fill(~on_source[:, None], 0.0)
        sharpness = largest.sum(dim=(0, 2)) / queries
        if "cross" in name:
            yield name, sharpness[:, None]
            continue
        mask = on_source[:, :, None] & on_source[:, None, :]
        # A decoder sees nothing behind itself: no weight is there, and none is expected.
        yield name, torch.cat((sharpness[:, None], offset_profile(weights, mask)), dim=1)


@dataclass(frozen=True)
class Alignment:
    """How often a head of the cross-attention looks at the word that is translated.

    Attributes:
        layer: From 1.
        head: From 1; 0: the mean of the layer's heads.
        error_rate: The alignment error rate.
        diagonal: That of the diagonal, which reads no word.
    """

    layer: int
    head: int
    error_rate: float
    diagonal: float


def best_alignment(found: Learned, pairs: Sequence[SentencePair]) -> Alignment | None:
    """Return the head that aligns best; None where nobody knows what belongs together."""
    known = [pair for pair in pairs if pair.alignment]
    if not known:
        return None
    gold = [pair.alignment or frozenset() for pair in known]
    diagonal = [diagonal_alignment(len(pair.source), len(pair.target)) for pair in known]
    maps = [_with_means(cross(found, pair.source, pair.target)) for pair in known]
    layers, heads = maps[0].shape[:2]
    rates = {
        (layer, head): corpus_alignment_scores(
            [hard_alignment(each[layer, head], ends_with_eos=True) for each in maps], gold
        ).error_rate
        for layer, head in itertools.product(range(layers), range(heads))
    }
    layer, head = min(rates, key=rates.__getitem__)
    baseline = corpus_alignment_scores(diagonal, gold).error_rate
    return Alignment(layer + 1, head, rates[layer, head], baseline)


def _with_means(weights: Tensor) -> Tensor:
    """Put the mean of a layer's heads before them."""
    return torch.cat((weights.mean(dim=1, keepdim=True), weights), dim=1)


__all__ = ("Alignment", "HeadReport", "best_alignment", "head_reports")
