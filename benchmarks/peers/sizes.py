"""The sizes that are compared, and the models and batches of each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from transformer import Batch, Size

from attention_book import set_seed
from attention_book.models import Transformer, TransformerConfig
from attention_book.training import xavier_
from peers.programs import Program
from peers.programs.ours import Ours, OursWithoutBiases


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is done at one size.

    Attributes:
        size: The model and the batch of a training step.
        num_sources: How many sources are translated at a time.
        num_tokens: How many tokens are written for each.
        rounds: How often training, greedy and beam search are timed.
        loss: To which loss per token the phrasebook is learned; None: not at this size.
    """

    size: Size
    num_sources: int
    num_tokens: int
    rounds: tuple[int, int, int]
    loss: float | None = None


def _size(batch: int, tokens: int, d_model: int, num_layers: int, words: int) -> Size:
    return Size(
        batch=batch,
        tokens=tokens,
        d_model=d_model,
        num_heads=max(4, d_model // 64),
        d_ff=4 * d_model,
        num_layers=num_layers,
        words=words,
    )


#: The largest is the paper's base model, but for the number of words.
PLANS = {
    "64": Plan(
        size=_size(64, 16, 64, 2, 1000),
        num_sources=32,
        num_tokens=32,
        rounds=(30, 20, 12),
        loss=2.0,
    ),
    "256": Plan(
        size=_size(32, 32, 256, 3, 4000),
        num_sources=16,
        num_tokens=32,
        rounds=(8, 8, 6),
    ),
    "512": Plan(
        size=_size(8, 32, 512, 6, 8000),
        num_sources=8,
        num_tokens=24,
        rounds=(7, 5, 4),
    ),
}
#: For a try and for the tests: seconds, and numbers that mean nothing.
TINY = {
    "tiny": Plan(
        size=_size(3, 5, 8, 1, 30), num_sources=3, num_tokens=5, rounds=(2, 2, 2), loss=6.0
    )
}


def settings(config: TransformerConfig, *, biases: bool, endless: bool) -> TransformerConfig:
    """Return the settings that all programs can follow.

    Args:
        config: Those of a size.
        biases: Whether the attention's projections have biases.
        endless: No word ends a sentence, so that as many are written as asked for.
    """
    eos = config.target_vocabulary if endless else config.eos
    return replace(config, inner_dropout=0.0, tied=True, bias=biases, eos=eos)


def create(
    kinds: Mapping[str, type[Program]], config: TransformerConfig, *, max_tokens: int, endless: bool
) -> dict[str, Program]:
    """Return the programs, with the same parameters.

    Those of <pad> and <bos> are 0: next to a few hundred other words these two are then never
    the most probable, so that no program needs a rule against them.
    """
    created: dict[str, Program] = {}
    for biases in (True, False):
        own = settings(config, biases=biases, endless=endless)
        set_seed(42)
        ours = _ours(own, max_tokens)
        with torch.no_grad():
            ours.decoder.embedding.weight[[own.pad, own.bos]] = 0.0
            ours.encoder.embedding.weight[own.pad] = 0.0
        for name, kind in kinds.items():
            if kind.has_biases is biases:
                created[name] = kind(own, max_tokens)
                created[name].copy_(ours)
    return {name: created[name] for name in kinds}


def _ours(config: TransformerConfig, max_tokens: int) -> Transformer:
    kind = Ours if config.bias else OursWithoutBiases
    return xavier_(kind(config, max_tokens).model)


def training_batch(size: Size) -> Batch:
    """Return the batch of a training step."""
    set_seed(1)
    return Batch(size)


def decoding_batch(plan: Plan) -> Batch:
    """Return the sources that are translated."""
    set_seed(2)
    return Batch(replace(plan.size, batch=plan.num_sources))
