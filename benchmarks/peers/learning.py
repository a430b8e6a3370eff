"""How long does each program take to learn the phrasebook so well?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from attention_book import set_seed
from attention_book.models import TransformerConfig
from attention_book.text import ParallelData, Vocabulary, phrasebook
from attention_book.training import loss_per_token
from peers.machine import Machine, clock_for
from peers.programs import Program, ours_for
from peers.sizes import Plan, create

MAX_TOKENS, BATCH_SIZE, RATE, CLIP, MAX_EPOCHS = 16, 64, 2e-3, 1.0, 60


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What one program took to the loss.

    Attributes:
        loss: Of the last epoch, a token, in training mode.
        ours: Our seconds over its seconds; None for ours.
        an_epoch: The same, of the seconds of an epoch.
    """

    size: str
    program: str
    seconds: float
    epochs: int
    loss: float
    reached: bool
    ours: float | None = None
    an_epoch: float | None = None


def corpus(num_pairs: int | None = None) -> ParallelData:
    """Return the phrasebook as numbers."""
    pairs = phrasebook("en", "fr", max_tokens=MAX_TOKENS - 1)[:num_pairs]
    source = Vocabulary.build(pair.source for pair in pairs)
    target = Vocabulary.build(pair.target for pair in pairs)
    return ParallelData(pairs, source, target)


def epochs(program: Program, data: ParallelData, device: str) -> Iterator[float]:
    """Train, and yield the loss a token after every epoch; the batches are the same for all."""
    parameters = [each for each in program.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=RATE, fused=True)
    program.train()
    for epoch in range(1, MAX_EPOCHS + 1):
        losses = []
        for batch in data.batches(BATCH_SIZE, seed=epoch):
            batch = batch.to(device)
            logits = program(batch.source, batch.source_mask, batch.target_input)
            loss = loss_per_token(logits, batch.target_output, batch.target_mask)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, CLIP)
            optimizer.step()
            losses.append(loss.detach() * batch.target_mask.sum())
        yield torch.stack(losses).sum().item() / data.num_tokens


def learned(
    kinds: Mapping[str, type[Program]],
    size: str,
    plan: Plan,
    machine: Machine,
    data: ParallelData,
) -> list[Learned]:
    """Let the programs take turns of an epoch until each has reached the loss of the plan."""
    assert plan.loss is not None
    config = _config(plan, data)
    programs = create(kinds, config, max_tokens=MAX_TOKENS, endless=False)
    set_seed(3)  # dropout draws on from here, in turns
    running = {
        name: epochs(program.to(machine.device), data, machine.device)
        for name, program in programs.items()
    }
    clock = clock_for(machine.device, machine.num_threads)
    seconds = dict.fromkeys(running, 0.0)
    losses: dict[str, list[float]] = {name: [] for name in running}
    while running:
        for name in list(running):
            start = clock()
            loss = next(running[name])
            seconds[name] += clock() - start
            losses[name].append(loss)
            if loss <= plan.loss or len(losses[name]) == MAX_EPOCHS:
                del running[name]
    return [_row(name, kinds, size, plan, seconds, losses) for name in programs]


def _config(plan: Plan, data: ParallelData) -> TransformerConfig:
    settings = plan.size.config().to_dict() | {
        "source_vocabulary": len(data.source_vocabulary),
        "target_vocabulary": len(data.target_vocabulary),
    }
    return TransformerConfig.from_dict(settings)


def _row(
    name: str,
    kinds: Mapping[str, type[Program]],
    size: str,
    plan: Plan,
    seconds: Mapping[str, float],
    losses: Mapping[str, list[float]],
) -> Learned:
    ours = ours_for(kinds[name])
    ratios = (
        {}
        if ours == name
        else {
            "ours": seconds[ours] / seconds[name],
            "an_epoch": seconds[ours] / len(losses[ours]) / seconds[name] * len(losses[name]),
        }
    )
    return Learned(
        size=size,
        program=name,
        seconds=seconds[name],
        epochs=len(losses[name]),
        loss=losses[name][-1],
        reached=losses[name][-1] <= plan.loss,
        **ratios,
    )
