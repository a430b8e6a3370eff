"""Training a translator: a generator that hands back a report after every epoch."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attention_book.foundations.checks import check_probability, check_sizes
from attention_book.foundations.seed import check_seed, mixed
from attention_book.models.protocols import Memory, State, Translator
from attention_book.text import Batch, ParallelData
from attention_book.training.checkpoints.checkpoint import save_checkpoint
from attention_book.training.checkpoints.resuming import describe_training, resume
from attention_book.training.descent import BatchLoss, Stepper
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
    autocast: torch.dtype | None = None
    accumulate: int = 1

    def plain(self) -> dict[str, Any]:
        """Return the options as plain values; of the schedule, whether there is one.

        The newer options are left out where they change nothing, so that a training that
        was begun before there were such options goes on.
        """
        plain = {**vars(self), "schedule": self.schedule is not None, "autocast": None}
        if self.autocast is not None:
            plain["autocast"] = str(self.autocast)
        newer = {"autocast": None, "accumulate": 1}
        return {n: v for n, v in plain.items() if n not in newer or v != newer[n]}


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
    autocast: torch.dtype | None = None,
    accumulate: int = 1,
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
        batch_size: Sentence pairs to a batch.
        seed: With the number of the epoch it names how the epoch is shuffled. Dropout
            draws from torch's global random numbers: see :func:`~attention_book.set_seed`.
        clip: The longest gradient that a step may follow (Pascanu et al. 2013); a longer
            one is shortened. None: any.
        label_smoothing: As in :func:`loss_per_token`.
        schedule: What to multiply the optimizer's learning rates by in a step.
        autocast: ``torch.bfloat16`` or ``torch.float16``: compute the loss in this type
            wherever that is safe, and keep the parameters in theirs. None: nothing is cast.
            The validation loss is never cast.
        accumulate: How many batches make one step. Each counts by its real tokens, so the
            step is that of one batch of all their sentences, with the memory that one of
            them takes. The last step of an epoch takes what is left.
        validation: Other data, whose loss is reported after each epoch.
        checkpoint: The file to go on from, and to write.
        checkpoint_every: Write it every so many epochs, and after the last.

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
    _check(epochs, batch_size, seed, label_smoothing, checkpoint_every, accumulate)
    module = _module(model, optimizer)
    options = _Options(
        batch_size, seed, clip, label_smoothing, schedule, autocast=autocast, accumulate=accumulate
    )
    take_step = Stepper(optimizer, clip=clip, autocast=autocast)
    reports: list[EpochReport] = []
    training: dict[str, Any] = {}
    if checkpoint is not None:
        training = describe_training(optimizer, data, validation, **options.plain())
        reports = resume(
            checkpoint,
            training,
            model=module,
            optimizer=optimizer,
            scaler=take_step.scaler,
            epochs=epochs,
        )
    yield from reports[:]
    for epoch in range(len(reports) + 1, epochs + 1):
        report = _train_epoch(model, data, take_step, options, epoch)
        if validation is not None:
            report = replace(report, validation_loss=evaluate_loss(model, validation))
        reports.append(report)
        if checkpoint is not None and (epoch % checkpoint_every == 0 or epoch == epochs):
            extra = {"training": training, "scaler": take_step.scaler.state_dict()}
            save_checkpoint(
                checkpoint, model=module, optimizer=optimizer, reports=reports, extra=extra
            )
        yield report


def _train_epoch(
    model: Translator[Memory, State],
    data: ParallelData,
    take_step: Stepper,
    options: _Options,
    epoch: int,
) -> EpochReport:
    started = time.perf_counter()
    _module(model, take_step.optimizer).train()
    num_batches = math.ceil(len(data) / options.batch_size)
    before = (epoch - 1) * math.ceil(num_batches / options.accumulate)  # steps
    total, num_tokens, longest = 0.0, 0, 0.0
    with scheduled(take_step.optimizer, options.schedule) as set_rates:
        batches = data.batches(options.batch_size, seed=_shuffle_seed(options.seed, epoch))
        losses = (partial(_loss, model, batch, options.label_smoothing) for batch in batches)
        for first in range(1, num_batches + 1, options.accumulate):
            step = before + math.ceil(first / options.accumulate)
            set_rates(step)
            place = _place(first, min(first + options.accumulate - 1, num_batches), epoch)
            seen = take_step(islice(losses, options.accumulate), place)
            total, num_tokens = total + seen.loss * seen.count, num_tokens + int(seen.count)
            if math.isfinite(seen.gradient_norm):  # else the step was left out, and more may come
                longest = max(longest, seen.gradient_norm)
    return EpochReport(
        epoch=epoch,
        loss_per_token=total / num_tokens,
        num_tokens=num_tokens,
        gradient_norm=longest,
        seconds=time.perf_counter() - started,
    )


def _loss(model: Translator[Memory, State], batch: Batch, label_smoothing: float) -> BatchLoss:
    """Return the loss of a batch, and how many real tokens it is a mean over."""
    mean = batch_loss(model, batch, label_smoothing=label_smoothing)
    return BatchLoss(mean, batch.target_mask.sum())


def _place(first: int, last: int, epoch: int) -> str:
    batches = f"batch {first}" if first == last else f"batches {first} to {last}"
    return f"in {batches} of epoch {epoch}"


def _shuffle_seed(seed: int, epoch: int) -> int:
    """Return another seed for every epoch, and for every seed others; torch reads 32 bits."""
    together = (seed << 20) + epoch
    return together if seed < 1 << 12 and epoch < 1 << 20 else mixed(seed, epoch)


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
    label_smoothing: float,
    checkpoint_every: int,
    accumulate: int,
) -> None:
    if epochs < 0:
        raise ValueError(f"epochs: expected 0 or more, got {epochs}")
    check_sizes(batch_size=batch_size, checkpoint_every=checkpoint_every, accumulate=accumulate)
    check_seed(seed)
    check_probability("label_smoothing", label_smoothing)
