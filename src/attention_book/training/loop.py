"""Training as a generator: steps, epochs, early stopping, and first weights (Xavier)."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import MultiHeadAttention
from attention_book.foundations.checks import check_positive, check_probability, check_sizes
from attention_book.foundations.devices import sent
from attention_book.foundations.environment import bar_options, from_extra
from attention_book.foundations.seed import check_seed, mixed
from attention_book.models.evaluating import moved
from attention_book.models.protocols import Memory, State, Translator
from attention_book.text import Batch, ParallelData
from attention_book.training.checkpoint import (
    EpochReport,
    Report,
    describe_training,
    resume,
    save_checkpoint,
)
from attention_book.training.loss import batch_loss, evaluate_loss
from attention_book.training.schedule import Schedule, linear_schedule, scheduled

Module = TypeVar("Module", bound=nn.Module)


def xavier_(model: Module) -> Module:
    """Draw the weight matrices of all linear maps and GRUs anew, in place.

    .. math:: W \\sim U(-a, a), \\qquad a = \\sqrt{\\frac{6}{n_\\text{in} + n_\\text{out}}}

    Glorot and Bengio (2010), equation 16. Embeddings and biases stay as they are,
    and so does an output layer that is tied to an embedding. The matrices of a GRU's three
    gates, and those of the queries, keys and values of an attention, are drawn as one matrix,
    one on top of the other, as torch's own modules do.

    Args:
        model: Changed, and returned.

    >>> layer = xavier_(nn.Linear(3, 3, bias=False))
    >>> bool((layer.weight.abs() <= 1).all())
    True
    """
    embeddings = {
        id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)
    }
    drawn: set[nn.Module] = set()
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            linears = [module.W_q, module.W_k, module.W_v]
            plain = all(type(linear) is nn.Linear for linear in linears)
            if plain and len({linear.in_features for linear in linears}) == 1:
                _draw_as_one([linear.weight for linear in linears])
                drawn.update(linears)
        elif isinstance(module, nn.Linear | nn.GRU | nn.GRUCell) and module not in drawn:
            for name, parameter in module.named_parameters(recurse=False):
                if name.startswith("weight") and id(parameter) not in embeddings:
                    nn.init.xavier_uniform_(parameter)
    return model


@torch.no_grad()
def _draw_as_one(parts: list[Tensor]) -> None:
    joined = nn.init.xavier_uniform_(torch.cat(parts))
    for part, rows in zip(parts, joined.split([len(part) for part in parts]), strict=True):
        part.copy_(rows)


class EarlyStopping:
    """Notice when a loss has stopped falling.

    Args:
        patience: Stop after this many updates in a row without an improvement.
        min_improvement: By how much a value must undercut the best to count as one.

    Attributes:
        best: The lowest value so far that counted; infinity before the first.
        best_epoch: Which update brought it, counted from 1; 0 before the first.
        epoch: How many updates there were.

    >>> stopping = EarlyStopping(patience=2)
    >>> [stopping.update(loss) for loss in (3.0, 2.0, 2.5, 1.0, 1.2, 1.1)]
    [False, False, False, False, False, True]
    >>> stopping.best, stopping.best_epoch
    (1.0, 4)
    """

    def __init__(self, *, patience: int, min_improvement: float = 0.0) -> None:
        if patience < 1:
            raise ValueError(f"patience: expected 1 or more, got {patience}")
        if not min_improvement >= 0:
            raise ValueError(f"min_improvement: expected 0 or more, got {min_improvement}")
        self.patience, self.min_improvement = patience, min_improvement
        self.best, self.best_epoch, self.epoch = math.inf, 0, 0

    def update(self, value: float) -> bool:
        """Take the loss of the next epoch, and return whether to stop."""
        if not math.isfinite(value):
            raise ValueError(f"value: expected a finite number, got {value}")
        self.epoch += 1
        if value < self.best - self.min_improvement:
            self.best, self.best_epoch = value, self.epoch
        return self.epoch - self.best_epoch >= self.patience


def progress(
    reports: Iterable[EpochReport], *, total: int, description: str = ""
) -> Iterator[EpochReport]:
    """Pass the reports on, and draw a progress bar with the loss.

    The bar goes to the standard error of a terminal, or to the output of a notebook's
    cell. There is none while the book is built (``ATTENTION_BOOK_BUILD`` is 1), or where
    it could not be seen.

    Args:
        reports: What :func:`fit` yields.
        total: How many epochs there will be at most.
        description: Stands before the bar.

    >>> report = EpochReport(
    ...     epoch=1, loss_per_token=2.5, num_tokens=3000, gradient_norm=4.0, seconds=1.5
    ... )
    >>> [report.epoch for report in progress([report], total=1)]
    [1]
    """
    with from_extra("training", "tqdm"):
        from tqdm import tqdm
    with tqdm(total=total, desc=description, unit="epoch", **bar_options()) as bar:
        for report in reports:
            bar.set_postfix(loss=f"{report.loss_per_token:.3f}", refresh=False)
            bar.update()
            yield report


@dataclass(frozen=True)
class BatchLoss:
    """The mean loss of one batch, and over how many tokens or examples it is the mean.

    Where several batches make one step, each counts by its ``count``: the mean over all
    their tokens, which is not the mean of their means.

    Attributes:
        mean: The mean loss, with a gradient.
        count: A number, or a tensor on the same device, which need not be waited for.

    >>> BatchLoss(torch.tensor(2.5), count=30).count
    30
    """

    mean: Float[Tensor, ""]
    count: int | float | Tensor


#: Computes the loss of one batch; a loss without a count counts once.
LossFn = Callable[[], Float[Tensor, ""] | BatchLoss]


@dataclass(frozen=True)
class Seen:
    """What a step saw before it changed the parameters.

    Attributes:
        loss: The mean loss of its batches.
        gradient_norm: The Euclidean norm of the whole gradient, before clipping.
        count: How many tokens or examples the loss is a mean over.
    """

    loss: float
    gradient_norm: float
    count: float


class Stepper:
    """Takes optimization steps: gradients of some batches, clipped, checked, followed.

    Args:
        optimizer: Knows the parameters, and how to change them.
        clip: The longest gradient that a step may follow (Pascanu et al. 2013); a longer
            one is shortened. None: any.
        autocast: The type that the forward pass computes in wherever that is safe:
            ``torch.bfloat16`` or ``torch.float16`` (Micikevicius et al. 2018). Parameters,
            their gradients and the optimizer's state keep their own type. None: nothing
            is cast.

    Attributes:
        scaler: Multiplies losses so that small gradients do not vanish in ``float16``; it
            is switched off for all other types.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> take_step = Stepper(torch.optim.SGD([x], lr=0.25))
    >>> take_step([lambda: x**2], "at step 1")
    Seen(loss=9.0, gradient_norm=6.0, count=1.0)
    >>> x
    tensor(1.5000, requires_grad=True)
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        clip: float | None = None,
        autocast: torch.dtype | None = None,
    ) -> None:
        if clip is not None:
            check_positive("clip", clip)
        if autocast not in (None, torch.bfloat16, torch.float16):
            raise ValueError(
                f"autocast: expected torch.bfloat16, torch.float16 or None, got {autocast}"
            )
        self.optimizer, self.dtype = optimizer, autocast
        self.clip = clip
        self.device = optimizer.param_groups[0]["params"][0].device.type
        self.scaler = torch.amp.GradScaler(self.device, enabled=autocast is torch.float16)

    def __call__(self, losses: Iterable[LossFn], place: str) -> Seen:
        """Take one step down the mean loss of some batches.

        The device is waited for once: the loss and the norm of its gradient come together.

        Args:
            losses: Each computes the loss of one batch; a gradient is computed before the
                next loss is asked for, so that only one batch is in memory at a time.
            place: Where this is, for the error: "at step 3".
        """
        self.optimizer.zero_grad()
        loss, count = self._backward(losses, place)
        self.scaler.unscale_(self.optimizer)
        norm = self._clip()
        seen = Seen(*torch.stack((loss, norm.to(loss), count.to(loss))).tolist())
        self._check(seen, place)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return seen

    def _backward(self, losses: Iterable[LossFn], place: str) -> tuple[Tensor, Tensor]:
        """Leave the gradient of the mean loss in the parameters; return that mean, and of how many.

        How many there are in all is known only in the end. So each loss is weighed against
        the first one by its count, and the sum is divided afterwards. A single loss is
        neither weighed nor divided: not a bit of its gradient changes.
        """
        means: list[Tensor] = []
        counts: list[Tensor] = []
        for loss_fn in losses:
            with self._casting():
                mean, count = _checked(loss_fn(), place)
            weighed = mean * (count / _or_one(counts[0])) if counts else mean
            self.scaler.scale(weighed).backward()
            means.append(mean.detach())
            counts.append(count)
        gradients = [p.grad for p in self._parameters() if p.grad is not None]
        if not gradients:
            raise ValueError(
                "loss: expected one that depends on the optimizer's parameters, "
                f"got one that reaches none of them {place}"
            )
        if len(means) == 1:
            return means[0], counts[0]
        sizes = torch.stack(counts)
        whole = _or_one(sizes.sum())
        for gradient in gradients:
            gradient.mul_((_or_one(sizes[0]) / whole).to(gradient))
        return (torch.stack(means) * sizes).sum() / whole, sizes.sum()

    def _clip(self) -> Tensor:
        """Shorten the gradient where it is too long; return how long it was."""
        if self.clip is not None:
            return _whole(nn.utils.clip_grad_norm_(self._parameters(), self.clip))
        return _whole(
            nn.utils.get_total_norm([p.grad for p in self._parameters() if p.grad is not None])
        )

    def _check(self, seen: Seen, place: str) -> None:
        for name, value in (("loss", seen.loss), ("gradient", seen.gradient_norm)):
            # A gradient may have overflowed because the scaler multiplied it by too much. The
            # scaler then leaves this step out, and multiplies by less in the next.
            too_much = name == "gradient" and self.scaler.is_enabled()
            if not math.isfinite(value) and not (too_much and self.scaler.get_scale() > 1):
                raise ValueError(
                    f"{name}: expected a finite number, got {value} {place}; try a lower learning "
                    "rate, a longer warm-up or a smaller clip, and look for inf or nan in the data"
                )

    def _casting(self) -> AbstractContextManager[object]:
        if self.dtype is None:
            return nullcontext()
        return torch.autocast(self.device, dtype=self.dtype)

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]


def _checked(found: Tensor | BatchLoss, place: str) -> tuple[Tensor, Tensor]:
    """Return a mean and its count, both precise enough to count tokens.

    Only what is known of a loss without waiting for its value is checked here.
    """
    mean, count = (found.mean, found.count) if isinstance(found, BatchLoss) else (found, 1)
    if mean.numel() != 1:
        raise ValueError(
            f"loss: expected a single number, got the shape {tuple(mean.shape)} {place}"
        )
    if not mean.requires_grad:
        raise ValueError(f"loss: expected one with a gradient, got a constant {place}")
    mean = mean.squeeze().to(torch.promote_types(mean.dtype, torch.float32))
    if isinstance(count, Tensor):
        return mean, count.to(mean)
    return mean, torch.full_like(mean, count)


def _whole(norm: Tensor) -> Tensor:
    """Put the norm of a gradient together, where several processes share the weights."""
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm


def _or_one(number: Tensor) -> Tensor:
    """Return what to divide by: the number, but 1 instead of 0, where there is nothing to share."""
    return number.masked_fill(number == 0, 1)


def descend(
    loss_fn: LossFn,
    optimizer: torch.optim.Optimizer,
    *,
    steps: int,
    schedule: Schedule | None = None,
    clip: float | None = None,
    autocast: torch.dtype | None = None,
    accumulate: int = 1,
) -> Iterator[Report]:
    """Take ``steps`` optimization steps, one for each report that is asked for.

    It is a generator: nothing happens until it is iterated, and a ``break`` in
    the caller's loop stops the training. Plotting, printing and early stopping
    stay with the caller.

    Args:
        loss_fn: Computes the loss anew; it may draw a fresh batch each time. Where batches
            are of different sizes and several make a step, it returns a
            :class:`~attention_book.training.BatchLoss`, which says how much each counts.
        optimizer: Knows the parameters, and how to change them.
        steps: How many steps at most.
        schedule: What to multiply the optimizer's learning rates by in a step.
        clip: The longest gradient that a step may follow; a longer one is shortened. None:
            any.
        autocast: ``torch.bfloat16`` or ``torch.float16``: compute the loss in this type
            wherever that is safe, and keep the parameters in theirs. None: nothing is cast.
        accumulate: How many losses, one after the other, make one step: their mean is
            followed, with the memory that one of them takes.

    Yields:
        A :class:`Report` after every step.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.25)
    >>> [report.loss for report in descend(lambda: x**2, optimizer, steps=3)]
    [9.0, 2.25, 0.5625]
    """
    if steps < 0:
        raise ValueError(f"steps: expected 0 or more, got {steps}")
    check_sizes(accumulate=accumulate)
    take_step = Stepper(optimizer, clip=clip, autocast=autocast)
    with scheduled(optimizer, schedule) as set_rates:
        for step in range(1, steps + 1):
            set_rates(step)
            seen = take_step(repeat(loss_fn, accumulate), f"at step {step}")
            yield Report(step, seen.loss, seen.gradient_norm)


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
    >>> from attention_book.text.corpora import phrasebook
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
    batch = moved(batch, model)
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


def fit_classifier(
    model: nn.Module,
    inputs: Float[Tensor, "example ..."],
    labels: Int[Tensor, " example"],
    *,
    steps: int,
    batch_size: int = 32,
    learning_rate: float = 4e-3,
    weight_decay: float = 0.3,
    label_smoothing: float = 0.1,
    noise: float = 0.0,
    warmup: int = 30,
    autocast: torch.dtype | None = None,
    accumulate: int = 1,
) -> Iterator[Report]:
    """Train a classifier on batches drawn at random, with a report after every step.

    AdamW (Loshchilov and Hutter 2019), and a learning rate that rises and then falls to 0
    in straight lines. A generator, as :func:`descend` is; the batches are drawn from
    torch's global random numbers, with replacement.

    Args:
        model: Maps inputs to logits, one for each class. Put into training mode at the
            start, and left in it.
        inputs: One for each example.
        labels: The right classes.
        steps: How many steps at most.
        batch_size: Examples in a batch.
        learning_rate: The highest.
        weight_decay: How fast AdamW shrinks the parameters.
        label_smoothing: The share of the target that goes to all classes alike (Szegedy
            et al. 2016).
        noise: Standard deviation of the normal noise that is added to the inputs, fresh
            in every step (Bishop 1995).
        warmup: Steps on the way up to the highest learning rate.
        autocast: As in :func:`descend`.
        accumulate: How many batches make one step, as in :func:`descend`.

    >>> model = nn.Linear(2, 3)
    >>> inputs, labels = torch.rand(5, 2), torch.tensor([0, 1, 2, 1, 0])
    >>> [report.step for report in fit_classifier(model, inputs, labels, steps=2, warmup=1)]
    [1, 2]
    """
    if len(inputs) != len(labels):
        raise ValueError(
            f"labels: expected one for each of {len(inputs)} inputs, got {len(labels)}"
        )
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=weight_decay, fused=True
    )
    schedule = linear_schedule(num_steps=max(steps, 1), warmup=min(warmup, steps))

    def loss() -> Float[Tensor, ""]:
        drawn = torch.randint(len(labels), (batch_size,), device="cpu")
        rows = sent(drawn, inputs.device)
        seen = inputs[rows]
        logits = model(seen + noise * torch.randn_like(seen) if noise else seen)
        return F.cross_entropy(logits, labels[rows].long(), label_smoothing=label_smoothing)

    yield from descend(
        loss,
        optimizer,
        steps=steps,
        schedule=schedule,
        autocast=autocast,
        accumulate=accumulate,
    )
