"""Training a run: begun in a folder, or resumed where it was cut off, step by step."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from itertools import islice
from math import ceil, inf
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch
from torch import Tensor

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.checks import is_strict, strict
from attention_book.foundations.environment import from_extra
from attention_book.models.evaluating import evaluating
from attention_book.runs.batches import BatchPlan, PreparedCorpus, prefetched
from attention_book.runs.building import (
    DTYPES,
    Material,
    RandomNumbers,
    build_model,
    build_optimizer,
    build_schedule,
    check_memory,
    drawn_from,
    open_material,
    prepare_material,
    seed_of,
)
from attention_book.runs.checkpoints import (
    Checkpoints,
    Place,
    Stored,
    Tell,
    average_checkpoints,
    read_place,
)
from attention_book.runs.ddp import (
    RESTARTS_VARIABLE,
    Ranks,
    Replica,
    fill,
    joined,
    like,
    whole,
    whole_state,
)
from attention_book.runs.folder import RunError, RunFolder, enough_room
from attention_book.runs.language.packed import PackedCorpus
from attention_book.runs.language.settings import AnySettings
from attention_book.runs.log import (
    Interrupted,
    Log,
    StepReport,
    changed_since,
    draw_curves,
    last_versions,
    note_versions,
    same_threads,
    versions,
)
from attention_book.runs.settings import TrainingSettings
from attention_book.text import Batch, PackedBatch
from attention_book.training import CheckpointError
from attention_book.training.checkpoint import (
    NOT_A_STATE,
    below,
    kind_of,
    optimizer_rest,
    optimizer_tensors,
    read_tensors,
    restore,
    write_tensors,
)
from attention_book.training.loop import Stepper
from attention_book.training.schedule import scheduled


class Interrupts:
    """Notes Ctrl-C (SIGINT) in its block instead of breaking off in the middle of a step.

    A second one breaks off at once, as ever, where one process trains alone. Among several it is
    only noted again: whoever started them sends them one more when the terminal has done so.
    Outside the main thread, where no signal arrives, nothing is changed.

    Args:
        several: Whether several processes train together.

    Attributes:
        asked: Whether there was one.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.asked
    True
    """

    def __init__(self, *, several: bool = False) -> None:
        self.asked, self._several = False, several
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        """Listen."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave Ctrl-C to whoever had it before."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked and not self._several:
            raise KeyboardInterrupt
        self.asked = True


class Training:
    """A model that is trained: alone, or as one of several processes.

    Args:
        settings: All of them.
        material: What it is trained on.
        ranks: Who trains.

    Attributes:
        model: The translator, or the language model.
        place: Where the training stands.
        random: The random numbers of this process.
        replica: The model as this process holds it.
        stepper: Takes the steps.
    """

    def __init__(self, settings: AnySettings, material: Material, ranks: Ranks) -> None:
        self.settings, self.ranks, self._material = settings.training, ranks, material
        with drawn_from(self.settings.seed):
            self.model = build_model(settings.model, material.codec).to(ranks.device)
        self.random = RandomNumbers(seed_of(self.settings.seed, ranks.rank), ranks.device)
        self.replica = Replica(
            self.model,
            ranks,
            sharded=self.settings.sharded,
            compiled=self.settings.compile,
            label_smoothing=self.settings.label_smoothing,
        )
        self.stepper = Stepper(
            build_optimizer(self.model, self.settings),
            # Only a clipped gradient is measured across the processes that share the weights.
            clip=self.settings.clip or (inf if self.settings.sharded else None),
            autocast=DTYPES[self.settings.precision],
        )
        self.plan = BatchPlan(
            batch_tokens=self.settings.batch_tokens,
            batch_size=self.settings.batch_size,
            seed=self.settings.seed,
        )
        self.place = Place(num_steps=count_steps(self.settings, self.plan, material.train))
        self._schedule = build_schedule(self.settings, self.place.num_steps)

    def leads_to(self, place: Place) -> bool:
        """Whether this training, and no other one, can stand there."""
        num_batches = self._material.train.num_batches(self.plan, place.epoch)
        in_epoch = place.batch < num_batches
        return in_epoch and place.step <= place.num_steps == self.place.num_steps

    def steps(self) -> Iterator[tuple[StepReport, bool]]:
        """Take the steps that are left; with each report comes whether it ends an epoch."""
        train = self._material.train
        while not self.place.at_end:
            epoch, start = self.place.epoch, self.place.batch
            num_batches = train.num_batches(self.plan, epoch)
            made = self._batches(train, self.plan, epoch, start=start)
            self.model.train()
            with closing(prefetched(made)) as batches:  # type: ignore[type-var]
                while self.place.epoch == epoch and not self.place.at_end:
                    yield self._step(batches, num_batches)

    def _batches(
        self, corpus: PreparedCorpus | PackedCorpus, plan: BatchPlan, epoch: int, *, start: int = 0
    ) -> Iterator[Batch | PackedBatch]:
        ranks = self.ranks
        return corpus.batches(plan, epoch, start=start, rank=ranks.rank, world=ranks.world)

    def _step(
        self, batches: Iterator[Batch | PackedBatch], num_batches: int
    ) -> tuple[StepReport, bool]:
        began, place = time.perf_counter(), self.place
        taken = list(islice(batches, self.settings.accumulate))
        counts = [batch.num_tokens for batch in taken]
        whole = self.ranks.total([sum(counts)])[0]
        step, optimizer = place.step + 1, self.stepper.optimizer
        with self.random, scheduled(optimizer, self._schedule) as set_rates:
            set_rates(step)
            rate = optimizer.param_groups[0]["lr"]
            seen = self.stepper(self.replica.losses(taken, counts, whole), f"at step {step}")
        loss = self.ranks.total([seen.loss])[0] / self.ranks.world
        done = place.batch + len(taken)
        ended = done >= num_batches
        after = {"epoch": place.epoch + 1, "batch": 0} if ended else {"batch": done}
        self.place = place.after_step(**after)
        report = StepReport(
            step=step,
            num_steps=place.num_steps,
            epoch=place.epoch,
            loss=loss,
            num_tokens=int(whole),
            seconds=time.perf_counter() - began,
            learning_rate=rate,
            gradient_norm=seen.gradient_norm,
        )
        return report, ended

    def validate(self) -> float | None:
        """Return the loss per token on the validation data; None where there is none.

        The processes share the work. Nothing is dropped, smoothed or cast.
        """
        corpus = self._material.validation
        if corpus is None:
            return None
        plan = replace(self.plan, seed=0)
        made = self._batches(corpus, plan, 0)
        loss, count = 0.0, 0
        with evaluating(self.replica.plain), closing(prefetched(made)) as batches:  # type: ignore[type-var]
            for batch in batches:
                num_tokens = batch.num_tokens
                with strict(is_strict() and num_tokens > 0):
                    loss += self.replica.plain(batch).item() * num_tokens
                count += num_tokens
        whole = self.ranks.total([loss, count])
        return whole[0] / whole[1]


def count_steps(
    settings: TrainingSettings, plan: BatchPlan, train: PreparedCorpus | PackedCorpus
) -> int:
    """Return how many steps a training takes; each epoch may have another number of batches."""
    if settings.steps is not None:
        return settings.steps
    epochs = range(1, (settings.epochs or 0) + 1)
    return sum(ceil(train.num_batches(plan, epoch) / settings.accumulate) for epoch in epochs)


_MODEL, _OPTIMIZER, _RANDOM = "model.", "optimizer.", "random."


def collect_model(training: Training) -> dict[str, Tensor]:
    """Return the weights, whole. All processes must ask.

    Their names are those of every checkpoint, so
    :func:`~attention_book.training.load_checkpoint` reads them.
    """
    return {_MODEL + name: value for name, value in whole_state(training.model).items()}


def collect(training: Training) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return all tensors and all plain values that the training needs to go on.

    All processes must ask; each gets all but what only the first one writes.
    """
    optimizer = training.stepper.optimizer
    tensors = collect_model(training)
    for name, value in optimizer_tensors(optimizer).items():
        tensors[_OPTIMIZER + name] = whole(value).cpu()
    for rank, states in enumerate(training.ranks.gathered(training.random.states)):
        # The first one's have the names that a training of one process gives them.
        own = f"{rank}." if rank else ""
        tensors |= {f"{_RANDOM}{own}{name}": state for name, state in states.items()}
    extra = {"scaler": training.stepper.scaler.state_dict(), "world": training.ranks.world}
    about = {
        **about_model(training),
        "optimizer": optimizer_rest(optimizer),
        "extra": extra,
    }
    return tensors, about


def about_model(training: Training) -> dict[str, Any]:
    """Return the plain values that every file with the weights has."""
    return {"config": training.model.config.to_dict(), "reports": []}


def go_on_from(training: Training, stored: Stored) -> None:
    """Put a training where it stood when the checkpoint was written.

    With another number of processes the weights, the optimizer and the place go on, and those
    random numbers that there were not before are drawn anew.
    """
    weights = below(_MODEL, stored.tensors)
    state = training.model.state_dict()
    for name in sorted(state.keys() | weights.keys()):
        expected, found = (kind_of(each.get(name)) for each in (state, weights))
        if expected != found:
            raise CheckpointError(f"{name}: expected {expected}, got {found}")
    if not training.leads_to(stored.place):
        raise CheckpointError(f"expected a place in this training, got {stored.place}")
    optimizer = training.stepper.optimizer
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    try:
        if len(stored.about["optimizer"]["groups"]) == 1 < len(optimizer.param_groups):
            raise CheckpointError(
                "weight_decay: expected decay of matrices alone, got the run of an earlier "
                "version, in which gains and biases decay too; train it again from the beginning"
            )
        numbers = _random_numbers(training, below(_RANDOM, stored.tensors), stored)
        moments = _moments(below(_OPTIMIZER, stored.tensors), parameters)
        restore(optimizer, moments, stored.about["optimizer"])
        training.stepper.scaler.load_state_dict(stored.about["extra"]["scaler"])
    except CheckpointError:
        raise  # it says why itself
    except NOT_A_STATE as error:
        raise CheckpointError(
            f"expected the state of this optimizer, got another: {error}"
        ) from error
    fill(training.model, weights)
    training.random = numbers
    training.place = stored.place


def _moments(tensors: Mapping[str, Tensor], parameters: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return of each tensor of the optimizer's what this process has of it."""
    kept: dict[int, dict[str, tuple[int, ...]]] = {}
    for name, value in tensors.items():
        number, _, kind = name.partition(".")
        kept.setdefault(int(number), {})[kind] = tuple(value.shape)
    for place, shapes in kept.items():
        shape = tuple(parameters[place].shape)
        expected = {"step": (), "exp_avg": shape, "exp_avg_sq": shape}
        if shapes != expected:
            raise ValueError(f"parameter {place}: expected {expected}, got {shapes}")
    return {
        name: like(value, parameters[int(name.partition(".")[0])]) if value.ndim else value
        for name, value in tensors.items()
    }


def _random_numbers(
    training: Training, states: Mapping[str, Tensor], stored: Stored
) -> RandomNumbers:
    ranks = training.ranks
    own = below(f"{ranks.rank}.", states) if ranks.rank else dict(states)
    seed = seed_of(training.settings.seed, ranks.rank, stored.place.step)
    numbers = RandomNumbers(seed, ranks.device)
    kept = {name: own[name] for name in numbers.states if name in own}
    for name, state in kept.items():
        if state.dtype != torch.uint8 or state.shape != numbers.states[name].shape:
            raise ValueError(f"random numbers: expected {name}'s, got others")
    if "cpu" in kept:
        torch.Generator().set_state(kept["cpu"])  # refuses what is none
    numbers.states |= kept
    return numbers


class Session:
    """One sitting of a run, from where its newest checkpoint stands.

    Args:
        folder: Where the run lives; it is locked, and its corpus prepared.
        training: At its beginning.
        tell: Hears what there is to say beside the reports.
    """

    def __init__(self, folder: RunFolder, training: Training, tell: Tell) -> None:
        self._folder, self._training, self._tell = folder, training, tell
        self._ranks, self._settings = training.ranks, training.settings
        self._checkpoints = Checkpoints(folder.checkpoints)
        self._log: Log | None = None

    def run(self) -> Iterator[StepReport]:
        """Take the steps that are left, and finish."""
        before = last_versions(self._folder.versions)
        # A run that goes on computes as before; one that begins, as its caller does.
        goes_on = bool(self._ranks.total([float(bool(self._checkpoints.steps()))])[0])
        with same_threads(before if goes_on else {}):
            yield from self._sitting(before if goes_on else {})

    def _sitting(self, before: Mapping[str, Any]) -> Iterator[StepReport]:
        self._resume(before)
        try:
            with Interrupts(several=self._ranks.world > 1) as interrupts:
                for report, ended in self._training.steps():
                    looked, stop = self._after(report, ended, interrupts)
                    yield looked
                    if stop and not self._training.place.at_end:
                        self._ranks.first(self._draw)
                        raise Interrupted(report.step, self._folder.path)
                self._ranks.first(self._finish)
        finally:
            if self._log is not None:
                self._log.close()

    def _resume(self, before: Mapping[str, Any]) -> None:
        """Go on from the newest checkpoint; all processes from the one that the first chose."""
        ranks = self._ranks
        chosen = ranks.first(lambda: self._checkpoints.newest(self._tell))
        step = int(ranks.total([chosen.place.step if chosen else 0])[0])
        if step:
            stored = chosen or self._checkpoints.read(step)
            go_on_from(self._training, stored)
        ranks.first(lambda: self._open(step, before))

    def _open(self, step: int, before: Mapping[str, Any]) -> None:
        if step and not self._training.place.at_end:
            changed = changed_since(before, versions(self._ranks, step=step))
            if changed is not None:
                self._tell(changed)
        with enough_room(self._folder):
            # A process that was killed after it had written a checkpoint left too many.
            self._checkpoints.remove_old(step, keep=self._settings.keep)
            self._log = Log(self._folder.log, step=step)
            note_versions(self._folder.versions, self._ranks, step=step)

    def _after(
        self, report: StepReport, ended: bool, interrupts: Interrupts
    ) -> tuple[StepReport, bool]:
        """Do what is due after a step; return the report, and whether to stop."""
        settings, training = self._settings, self._training
        last = training.place.at_end
        if _due(settings.validate_every, report.step, ended) or last:
            report = replace(report, validation_loss=training.validate())
            self._keep_best(report)
        if self._log is not None:
            with enough_room(self._folder):
                self._log.write(report)
        stop = self._ranks.total([float(interrupts.asked)])[0] > 0
        planned = _due(settings.checkpoint_every, report.step, ended) or last
        if planned or stop:
            training.place = replace(training.place, planned=planned)
            self._save()
        return report, stop

    def _keep_best(self, report: StepReport) -> None:
        """Write the weights if no validation loss was lower before."""
        loss, training = report.validation_loss, self._training
        best = training.place.best_loss
        if loss is None or (best is not None and not loss < best):
            return
        training.place = replace(training.place, best_loss=loss, best_step=report.step)
        tensors, about = collect_model(training), about_model(training)
        extra = {"step": report.step, "validation_loss": loss}

        def write() -> None:
            with enough_room(self._folder):
                write_tensors(self._folder.best, tensors, {**about, "extra": extra})

        self._ranks.first(write)

    def _save(self) -> None:
        tensors, about = collect(self._training)

        def write() -> None:
            with enough_room(self._folder):
                if self._log is not None:
                    self._log.keep()  # or the log could lack steps that the checkpoint has
                self._checkpoints.write(
                    self._training.place, tensors, about, keep=self._settings.keep
                )

        self._ranks.first(write)

    def _finish(self) -> None:
        """Write what the whole training gives: the mean of its last checkpoints, its curves."""
        if self._settings.average:
            steps = self._checkpoints.planned(self._training.place.step)
            steps = steps[-self._settings.average :]
            paths = [self._checkpoints.path(step) for step in steps]
            extra = {"steps": steps, "place": asdict(self._training.place)}
            with enough_room(self._folder):
                average_checkpoints(paths, self._folder.average, extra=extra)
        self._draw()

    def _draw(self) -> None:
        with enough_room(self._folder):
            draw_curves(self._folder.log, self._folder.curves)


def _due(every: int | None, step: int, epoch_ended: bool) -> bool:
    return epoch_ended if every is None else step % every == 0


def start(
    settings: AnySettings, folder: str | Path, *, tell: Tell | None = None
) -> Iterator[StepReport]:
    """Train a new run in a folder, one step for each report that is asked for.

    It is a generator: nothing happens until it is iterated, and a ``break`` in the caller's loop
    ends the training where it is. In the folder lie the settings, the versions, the codec, the
    prepared corpus, a log with a line for each step, the last checkpoints, the weights with the
    lowest validation loss, and in the end the mean of the last checkpoints and the curves. All
    is written whole or not at all: a run that is killed goes on with :func:`resume`, and ends
    with the same weights, bit for bit, on the same machine with the same torch: it computes with
    as many threads as it began with, and what else has changed is told.

    Torch's global random numbers are the caller's; the run has its own.

    Under torchrun all processes call this with the same arguments, train together, and get the
    same reports; the first alone writes. If torchrun starts them anew, the run goes on.

    Args:
        settings: All settings.
        folder: Where the run lives; it must hold no other. One that was begun there and has no
            checkpoint yet, because it failed or was killed before, is begun anew.
        tell: Hears what there is to say beside the reports; by default it is a warning.

    Yields:
        A :class:`StepReport` after every step.

    Raises:
        RunError: if the folder holds a run already, or another process is training there.
        CorpusError: if the corpus cannot be read.
        MachineError: if there is no GPU where one is asked for, the disk is full, or another
            process has died.
        Interrupted: after Ctrl-C, when the run has been saved.
        ValueError: if the settings do not fit the corpus, or a loss or a gradient is not finite.

    >>> from tempfile import TemporaryDirectory
    >>> from attention_book.runs import DataSettings, RunSettings, TrainingSettings
    >>> settings = RunSettings(
    ...     data=DataSettings(num_train=64),
    ...     training=TrainingSettings(epochs=None, steps=2, device="cpu"),
    ... )
    >>> with TemporaryDirectory() as name:
    ...     [report.step for report in start(settings, name)]
    [1, 2]
    """
    again = int(os.environ.get(RESTARTS_VARIABLE) or 0) > 0

    def claim(run: RunFolder) -> None:
        known = run.has_begun()
        run.claim(settings)
        if known and not again:
            raise RunError(f"{run.path}: expected a folder without a run, got one to resume")

    yield from _train(RunFolder(folder), settings, claim, tell or _warn)


def resume(folder: str | Path, *, tell: Tell | None = None) -> Iterator[StepReport]:
    """Go on with the run of a folder, from its newest checkpoint that is whole.

    The steps before it are not reported again; they stand in the log. A run that is finished has
    no steps left.

    Args:
        folder: Where the run lives.
        tell: Hears what there is to say beside the reports, such as that a checkpoint is damaged.

    Yields:
        A :class:`StepReport` after every step.

    Raises:
        RunError: if the folder holds no run, or another process is training there.
        CheckpointError: if no checkpoint is whole.

    And what :func:`start` raises.

    >>> from tempfile import TemporaryDirectory
    >>> from attention_book.runs import DataSettings, RunSettings, TrainingSettings
    >>> settings = RunSettings(
    ...     data=DataSettings(num_train=64),
    ...     training=TrainingSettings(epochs=None, steps=3, checkpoint_every=1, device="cpu"),
    ... )
    >>> with TemporaryDirectory() as name:
    ...     for report in start(settings, name):
    ...         if report.step == 2:
    ...             break
    ...     [report.step for report in resume(name)]
    [3]
    """
    run = RunFolder(folder)
    yield from _train(run, run.settings(), lambda run: None, tell or _warn)


def status(folder: str | Path) -> Literal["empty", "unfinished", "finished"]:
    """Return whether a folder holds a run, and whether it is finished.

    One that is unfinished may have no checkpoint yet; :func:`start` begins it anew then.

    >>> status("nowhere")
    'empty'
    """
    run = RunFolder(folder)
    if not run.holds_a_run():
        return "empty"
    wanted = [run.curves] + ([run.average] if run.settings().training.average else [])
    files = Checkpoints(run.checkpoints)
    try:
        _, about = read_tensors(files.path(files.steps()[-1]), with_tensors=False)
        done = read_place(about).at_end and all(path.is_file() for path in wanted)
    except (IndexError, FileNotFoundError, CheckpointError):
        done = False
    return "finished" if done else "unfinished"


def _train(
    run: RunFolder, settings: AnySettings, claim: Callable[[RunFolder], None], tell: Tell
) -> Iterator[StepReport]:
    with from_extra("plot", "matplotlib"):  # what is missing is missed now, not in the end
        import attention_book.plotting  # noqa: F401
    with joined(settings.training.device) as ranks, ranks.answering(), ExitStack() as held:

        def begin() -> None:
            with enough_room(run):
                held.enter_context(run.locked())
                claim(run)
                prepare_material(run, settings, tell, anew=not run.has_begun())

        ranks.first(begin)
        yield from _session(run, settings, ranks, tell).run()


def _session(run: RunFolder, settings: AnySettings, ranks: Ranks, tell: Tell) -> Session:
    material, shares = open_material(run), ranks.world if settings.training.sharded else 1
    heard = tell if tell is not _warn else _say_nothing
    check_memory(settings.model, material.codec, ranks.device, heard, shares=shares)
    return Session(run, Training(settings, material, ranks), tell)


def _say_nothing(note: Bilingual) -> None:
    """How large a model is, is no warning."""


def _warn(note: Bilingual) -> None:
    warnings.warn(note.en, stacklevel=2)
