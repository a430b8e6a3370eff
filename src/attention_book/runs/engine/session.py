"""One sitting of a run: steps, looks at the validation data, log and checkpoints."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from attention_book.runs.averaging import average_checkpoints
from attention_book.runs.checkpoints import Checkpoints, Tell
from attention_book.runs.engine.drawing import draw_curves
from attention_book.runs.engine.interrupts import Interrupts
from attention_book.runs.engine.reports import Interrupted, StepReport
from attention_book.runs.engine.state import about_model, collect, collect_model, go_on_from
from attention_book.runs.engine.training import Training
from attention_book.runs.engine.versions import (
    changed_since,
    last_versions,
    note_versions,
    same_threads,
    versions,
)
from attention_book.runs.folder import RunFolder, enough_room
from attention_book.runs.log import Log
from attention_book.training.checkpoints.tensor_file import write_tensors


class Session:
    """One sitting of a run, from where its newest checkpoint stands.

    Args:
        folder: Where the run lives; it is locked, and its corpus prepared.
        training: At its beginning.
        tell: Hears what there is to say beside the reports.
    """

    def __init__(self, folder: RunFolder, training: Training, tell: Tell) -> None:
        """Look at nothing yet."""
        self._folder, self._training, self._tell = folder, training, tell
        self._ranks, self._settings = training.ranks, training.settings
        self._checkpoints = Checkpoints(folder.checkpoints)
        self._log: Log | None = None

    def run(self) -> Iterator[StepReport]:
        """Take the steps that are left, and finish.

        Raises:
            Interrupted: after Ctrl-C, when the run has been saved.
            MachineError: if something cannot be written.
        """
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
