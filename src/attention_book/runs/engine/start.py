"""Starting a run in a folder, and resuming it."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.environment import from_extra
from attention_book.runs.checkpoints import Checkpoints, Tell, read_place
from attention_book.runs.engine.material import open_material, prepare_material
from attention_book.runs.engine.memory import check_memory
from attention_book.runs.engine.reports import StepReport
from attention_book.runs.engine.session import Session
from attention_book.runs.engine.training import Training
from attention_book.runs.folder import RunError, RunFolder, enough_room
from attention_book.runs.processes.ranks import RESTARTS_VARIABLE, Ranks, joined
from attention_book.runs.settings import RunSettings
from attention_book.training import CheckpointError
from attention_book.training.checkpoints.tensor_file import read_tensors


def start(
    settings: RunSettings, folder: str | Path, *, tell: Tell | None = None
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
    >>> from attention_book.runs import DataSettings, TrainingSettings
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
    >>> from attention_book.runs import DataSettings, TrainingSettings
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
    run: RunFolder, settings: RunSettings, claim: Callable[[RunFolder], None], tell: Tell
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


def _session(run: RunFolder, settings: RunSettings, ranks: Ranks, tell: Tell) -> Session:
    material, shares = open_material(run), ranks.world if settings.training.sharded else 1
    heard = tell if tell is not _warn else _say_nothing
    check_memory(settings.model, material.codec, ranks.device, heard, shares=shares)
    return Session(run, Training(settings, material, ranks), tell)


def _say_nothing(note: Bilingual) -> None:
    """How large a model is, is no warning."""


def _warn(note: Bilingual) -> None:
    warnings.warn(note.en, stacklevel=2)
