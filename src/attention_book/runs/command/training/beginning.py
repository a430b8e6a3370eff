"""How a training begins: anew, where it was cut off, or not at all; and how it may end."""

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.checkpoints import Checkpoints
from attention_book.runs.command.speech.failures import (
    ExitCode,
    Failure,
    failure_of_lines,
    wrong_settings,
)
from attention_book.runs.command.speech.reasons import in_chinese
from attention_book.runs.command.speech.terminal import is_first, note, visible
from attention_book.runs.corpora.files import BadLines
from attention_book.runs.engine import Interrupted, StepReport, resume, start, status
from attention_book.runs.folder import RunFolder, differing
from attention_book.runs.settings import RunSettings

#: The options of which each changes the settings.
SETTING_OPTIONS = (
    *("recipe", "settings", "train", "validation", "test", "corpus", "source", "target"),
    *("bpe", "separate", "steps", "epochs", "device", "seed", "set"),
)
# What torchrun counts: how often it has started the processes anew.
_RESTARTS = "TORCHELASTIC_RESTART_COUNT"


class Begin(Enum):
    """How a training begins."""

    ANEW = "anew"
    RESUMED = "resumed"
    NOT = "not"

    def reports(self, folder: Path, settings: RunSettings) -> Iterator[StepReport]:
        """Return the training, step by step."""
        if self is Begin.RESUMED:
            return resume(folder, tell=_hear)
        return start(settings, folder, tell=_hear)


def _hear(text: Bilingual) -> None:
    note(Bilingual(visible(text.zh), visible(text.en)))


def how_to_begin(folder: Path, settings: RunSettings, chosen: Mapping[str, Any]) -> Begin:
    """Return how the training of a folder begins.

    Raises:
        Failure: if the line does not say what to do with the run that is there, or asks to go on
            with one that is not.
        RunError: if the settings of the run that is there cannot be read.
    """
    if chosen["resume"] and chosen["again"]:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--resume 和 --again 只能用一个。",
            "--resume, --again: expected one of the two, got both",
        )
    if os.environ.get(_RESTARTS, "0") != "0":
        return Begin.RESUMED if chosen["resume"] else Begin.ANEW
    name, run = visible(str(folder)), RunFolder(folder)
    if chosen["again"]:
        if is_first() and (run.holds_a_run() or run.has_weights()):
            clear(run)
        return Begin.ANEW
    # Each of several processes sees for itself: until all have met, nobody changes what is seen.
    state = status_of(folder)
    if state == "empty":
        return _in_empty(name, chosen)
    as_there = chosen["resume"] and not any(chosen.get(name) for name in SETTING_OPTIONS)
    if not run.has_weights():
        # A start that failed keeps no folder, whatever its settings were.
        return Begin.RESUMED if as_there else Begin.ANEW
    if not as_there:
        _same(folder, settings)
    if not run.has_begun():
        return Begin.RESUMED if as_there else Begin.ANEW
    if state == "finished":
        zh = f"{name} 已经训练完了，不再训练（要从头训练，加 --again）。"
        en = f"{name} is finished, and is not trained again (begin anew with --again)."
        note(Bilingual(zh, en))
        return Begin.NOT
    if not chosen["resume"]:
        raise Failure(
            ExitCode.RUN,
            f"{name} 还没训练完：接着训练用 --resume，从头训练用 --again。",
            f"{name}: expected a finished run or none, got an unfinished one: go on with --resume, "
            "or begin anew with --again",
        )
    return Begin.RESUMED


def _in_empty(name: str, chosen: Mapping[str, Any]) -> Begin:
    if chosen["resume"]:
        raise Failure(
            ExitCode.RUN,
            f"{name} 里没有可以接着训练的东西；先去掉 --resume 训练。",
            f"{name}: expected a run to go on with, got none; train first, without --resume",
        )
    return Begin.ANEW


def status_of(folder: Path) -> str:
    """Return whether a folder holds a run, and whether it is finished.

    Raises:
        Failure: if the folder cannot be one.
    """
    try:
        return status(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(
            ExitCode.RUN,
            f"{visible(str(folder))} 用不了：{in_chinese(reason)}",
            f"{visible(str(folder))}: cannot be used: {reason}",
        ) from error


def _same(folder: Path, settings: RunSettings) -> None:
    """Check that the run that is there has these settings.

    Raises:
        Failure: if it has others; it says which.
    """
    differences = "; ".join(differing(RunFolder(folder).settings(), settings))
    if differences:
        name = visible(str(folder))
        raise Failure(
            ExitCode.RUN,
            f"{name} 里是另一次训练，设置不同（{in_chinese(differences)}）。"
            "换个 --folder，或用 --again 从头训练。",
            f"{name}: expected a run with these settings, got another: {differences}; give "
            "another --folder, or begin anew with --again",
        )


def clear(run: RunFolder) -> None:
    """Remove the files of a run, and nothing else that may lie in its folder."""
    with run.locked():
        for folder in (run.path / "corpus", run.checkpoints):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        for file in (run.versions, run.codec, run.log, run.curves, run.best, run.average):
            file.unlink(missing_ok=True)
        run.settings_file.unlink(missing_ok=True)  # last: until then it is a run


@contextmanager
def ending_as_a_run(folder: Path) -> Iterator[None]:
    """Say how to go on after Ctrl-C; and take for wrong what the corpus shows to be.

    Raises:
        Failure: instead of these errors.
    """
    line = f"attention-book train --resume --folder {shlex.quote(str(folder))}"
    try:
        with wrong_settings((ValueError,)):
            yield
    except Interrupted as error:
        raise Failure(
            ExitCode.INTERRUPTED,
            f"已保存到第 {error.step} 步；接着训练：{line}",
            f"saved at step {error.step}; go on with: {line}",
        ) from error
    except KeyboardInterrupt as error:
        if (step := latest_step(folder)) is not None:
            raise Failure(
                ExitCode.INTERRUPTED,
                f"已中断；接着训练（从第 {step} 步）：{line}",
                f"interrupted; go on from step {step} with: {line}",
            ) from error
        raise Failure(
            ExitCode.INTERRUPTED,
            "已中断，一步也没有训练完，什么都没保存；同一条命令可以从头再来。",
            "interrupted before the first step was saved: nothing is kept, and the same line "
            "begins anew",
        ) from error
    except BadLines as error:
        raise failure_of_lines(error, may_skip=True) from error


def latest_step(folder: Path) -> int | None:
    """Return the step of the newest checkpoint; None where there is none."""
    steps = Checkpoints(RunFolder(folder).checkpoints).steps()
    return steps[-1] if steps else None


__all__ = ("Begin", "ending_as_a_run", "how_to_begin")
