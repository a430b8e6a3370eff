"""Training a translator: a generator that hands back a report after every epoch."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attention_book.foundations.checks import check_positive, check_probability, check_sizes
from attention_book.models.protocols import Memory, State, Translator
from attention_book.text import Batch, ParallelData
from attention_book.training.checkpoints.checkpoint import save_checkpoint
from attention_book.training.checkpoints.resuming import describe_training, resume
from attention_book.training.evaluation import batch_loss, evaluate_loss
from attention_book.training.reports import EpochReport
from attention_book.training.schedule import Schedule, scheduled


@dataclass(frozen=True)
class _Options:
    """What :func:`fit` hands on to its parts."""

    batch_size: int
    seed: int
    clip: float | None
    label_smoothing: float
    schedule: Schedule | None

    def plain(self) -> dict[str, Any]:
        """Return the options as plain values; of the schedule, whether there is one."""
        return {**vars(self), "schedule": self.schedule is not None}


def fit(
    model: Translator[Memory, State],
    data: ParallelData,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    batch_size: int,
    seed: int = 42,
    clip: float | None = 1.0,
    label_smoothing: float = 0.0,
    schedule: Schedule | None = None,
    validation: ParallelData | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 1,
) -> Iterator[EpochReport]:
    """Train a translator with teacher forcing, one epoch for each report that is asked for.

    It is a generator: nothing happens until it is iterated, and a ``break`` in the
    caller's loop stops the training. The model is left in training mode.

    With ``checkpoint`` a training that was cut off, by whatever, goes on where the file
    stands: call ``fit`` again with the same arguments and a new model and optimizer. The
    epochs that are done are reported again first, without being trained again, so that
    the caller's loop (a curve, early stopping) sees them all. Weights and reports are
    those of a training that was never cut off, bit for bit, as long as the caller's loop
    draws no random numbers from torch.

    Args:
        model: A translator that is a torch module.
        data: The training data.
        optimizer: Knows the parameters, and how to change them.
        epochs: How many epochs at most.
        batch_size: Sentence pairs to a step.
        seed: With the number of the epoch it names how the epoch is shuffled. Dropout
            draws from torch's global random numbers: see :func:`~attention_book.set_seed`.
        clip: The longest gradient that a step may follow (Pascanu et al. 2013); a longer
            one is shortened. None: any.
        label_smoothing: As in :func:`loss_per_token`.
        schedule: What to multiply the optimizer's learning rates by in a step.
        validation: Other data, whose loss is reported after each epoch.
        checkpoint: The file to go on from, and to write.
        checkpoint_every: Write it after so many epochs, and after the last.

    Yields:
        An :class:`EpochReport` after every epoch.

    Raises:
        ValueError: if an argument is out of range; if the optimizer has none of the
            model's parameters; or if a loss or a gradient is not finite: epoch and batch are
            named, and the parameters are as before that step.
        CheckpointError: if the file is no checkpoint, or one of another training.

    >>> from attention_book import set_seed
    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> from attention_book.text import Vocabulary
    >>> from attention_book.text.phrases import phrasebook
    >>> pairs = phrasebook("en", "fr")[:64]
    >>> english = Vocabulary.build(pair.source for pair in pairs)
    >>> french = Vocabulary.build(pair.target for pair in pairs)
    >>> data = ParallelData(pairs, english, french)
    >>> set_seed(42)
    >>> config = Seq2SeqConfig(source_vocabulary=len(english), target_vocabulary=len(french))
    >>> model = Seq2Seq(config)
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    >>> reports = list(fit(model, data, optimizer, epochs=5, batch_size=16))
    >>> reports[4].loss_per_token < reports[0].loss_per_token
    True
    """
    _check(epochs, batch_size, seed, clip, label_smoothing, checkpoint_every)
    module = _module(model, optimizer)
    options = _Options(batch_size, seed, clip, label_smoothing, schedule)
    reports: list[EpochReport] = []
    extra: dict[str, Any] = {}
    if checkpoint is not None:
        training = describe_training(optimizer, data, validation, **options.plain())
        reports = resume(checkpoint, training, model=module, optimizer=optimizer, epochs=epochs)
        extra = {"training": training}
    yield from reports[:]
    for epoch in range(len(reports) + 1, epochs + 1):
        report = _train_epoch(model, data, optimizer, options, epoch)
        if validation is not None:
            report = replace(report, validation_loss=evaluate_loss(model, validation))
        reports.append(report)
        if checkpoint is not None and (epoch % checkpoint_every == 0 or epoch == epochs):
            save_checkpoint(
                checkpoint, model=module, optimizer=optimizer, reports=reports, extra=extra
            )
        yield report


def _train_epoch(
    model: Translator[Memory, State],
    data: ParallelData,
    optimizer: torch.optim.Optimizer,
    options: _Options,
    epoch: int,
) -> EpochReport:
    started = time.perf_counter()
    _module(model, optimizer).train()
    step = (epoch - 1) * math.ceil(len(data) / options.batch_size)  # steps before this epoch
    total, num_tokens, longest = 0.0, 0, 0.0
    with scheduled(optimizer, options.schedule) as set_rates:
        batches = data.batches(options.batch_size, seed=_shuffle_seed(options.seed, epoch))
        for number, batch in enumerate(batches, start=1):
            set_rates(step + number)
            place = f"batch {number} of epoch {epoch}"
            loss, norm = _step(model, batch, optimizer, options, place)
            tokens = batch.num_tokens
            total, num_tokens, longest = (
                total + loss * tokens,
                num_tokens + tokens,
                max(longest, norm),
            )
    return EpochReport(
        epoch=epoch,
        loss_per_token=total / num_tokens,
        num_tokens=num_tokens,
        gradient_norm=longest,
        seconds=time.perf_counter() - started,
    )


def _step(
    model: Translator[Memory, State],
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    options: _Options,
    place: str,
) -> tuple[float, float]:
    """Take one step; return the loss, and the gradient's norm before clipping."""
    loss = batch_loss(model, batch, label_smoothing=options.label_smoothing)
    optimizer.zero_grad()
    loss.backward()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    norm = nn.utils.clip_grad_norm_(parameters, math.inf if options.clip is None else options.clip)
    # Both in one go: a GPU is waited for only once.
    loss_value, norm_value = torch.stack((loss.detach(), norm)).tolist()
    for name, value in (("loss", loss_value), ("gradient", norm_value)):
        if not math.isfinite(value):
            raise ValueError(f"{name}: expected a finite number, got {value} in {place}")
    optimizer.step()
    return loss_value, norm_value


def _shuffle_seed(seed: int, epoch: int) -> int:
    """Return another seed for every epoch, and for every seed others."""
    return (seed << 20) + epoch


def _module(model: object, optimizer: torch.optim.Optimizer) -> nn.Module:
    """Check that the model is a module that this optimizer can train."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model: expected a torch module, got {type(model).__name__}")
    own = {id(parameter) for parameter in model.parameters()}
    if not any(id(p) in own for group in optimizer.param_groups for p in group["params"]):
        raise ValueError("optimizer: expected parameters of the model, got none of them")
    return model


def _check(
    epochs: int,
    batch_size: int,
    seed: int,
    clip: float | None,
    label_smoothing: float,
    checkpoint_every: int,
) -> None:
    if epochs < 0:
        raise ValueError(f"epochs: expected 0 or more, got {epochs}")
    check_sizes(batch_size=batch_size, checkpoint_every=checkpoint_every)
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: expected a number from 0 to 2**32 - 1, got {seed}")
    if clip is not None:
        check_positive("clip", clip)
    check_probability("label_smoothing", label_smoothing)
