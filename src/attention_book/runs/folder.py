"""The folder of a run: where its files are, whose it is, and that one process alone writes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attention_book.foundations.environment import from_extra
from attention_book.foundations.files import remove_parts, write_whole
from attention_book.runs.language.settings import AnySettings, settings_from_toml


class RunError(ValueError):
    """A folder or a run that cannot be used: another run's, in use, without a checkpoint.

    >>> try:
    ...     RunFolder("nowhere").settings()
    ... except RunError as error:
    ...     print(error)
    nowhere: expected the folder of a run, got no folder
    """


class MachineError(RuntimeError):
    """What the machine lacks: a GPU, room on the disk, a process that has died.

    >>> try:
    ...     with enough_room(RunFolder("run")):
    ...         raise OSError(28, "No space left on device")
    ... except MachineError as error:
    ...     print(error)
    run: expected to be able to write, got: No space left on device
    """


class RunFolder:
    """The files of a run.

    Args:
        path: The folder; it need not exist yet.

    >>> RunFolder("runs/first").log.as_posix()
    'runs/first/log.jsonl'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.settings_file = self.path / "settings.toml"
        self.versions = self.path / "versions.json"
        self.codec = self.path / "codec.json"
        self.log = self.path / "log.jsonl"
        self.curves = self.path / "curves.svg"
        self.checkpoints = self.path / "checkpoints"
        self.best = self.path / "best.safetensors"
        self.average = self.path / "average.safetensors"

    def corpus(self, split: str) -> Path:
        """Return the folder of a part of the corpus, prepared."""
        return self.path / "corpus" / split

    def holds_a_run(self) -> bool:
        """Whether a run was started here."""
        return self.settings_file.is_file()

    def has_begun(self) -> bool:
        """Whether there is a checkpoint to go on from, damaged or not."""
        return any(self.checkpoints.glob("step-*.safetensors"))

    def has_weights(self) -> bool:
        """Whether there is anything that was trained."""
        return self.best.is_file() or self.average.is_file() or self.has_begun()

    def settings(self) -> AnySettings:
        """Return the settings of the run.

        Raises:
            RunError: if there is no run, or its settings cannot be read.
        """
        try:
            if not self.holds_a_run():
                got = "a folder without settings.toml" if self.path.is_dir() else "no folder"
                raise RunError(f"{self.path}: expected the folder of a run, got {got}")
            return settings_from_toml(self.settings_file.read_text(encoding="utf-8"))
        except RunError:
            raise
        except (OSError, ValueError) as error:
            raise RunError(f"{self.settings_file}: {error}") from error

    def claim(self, settings: AnySettings) -> None:
        """Make this the folder of a run with these settings, or see that it is already.

        One that was begun with other settings and has not trained anything is taken over: a start
        that failed keeps no folder.

        Raises:
            RunError: if it is that of a run with other settings; the error says what differs.
        """
        if not self.has_weights():
            write_whole(self.settings_file, settings.to_toml().encode())
        differences = list(differing(self.settings(), settings))
        if differences:
            raise RunError(
                f"{self.path}: expected the run that is there, got other settings: "
                + "; ".join(differences)
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other process train here meanwhile, and clean up behind one that was killed.

        The operating system unlocks when the process ends, however it ends.

        Raises:
            RunError: if another process is training here, or something in the folder leads out
                of it.
            ImportError: if filelock is not installed.
        """
        with from_extra("course", "filelock"):
            from filelock import FileLock, Timeout
        self.path.mkdir(parents=True, exist_ok=True)
        self._check_nothing_leads_out()
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise RunError(
                f"{self.path}: expected a run that nobody is training, got one that is in use"
            ) from error
        try:
            for folder in (self.path, self.checkpoints):
                remove_parts(folder)
            yield
        finally:
            lock.release()

    def _check_nothing_leads_out(self) -> None:
        """Refuse links where files are written, removed or emptied: whose would they be?

        Other files are replaced as a whole, and a link among them with nothing behind it.

        Raises:
            RunError: if there is one.
        """
        corpora = [self.path / "corpus", *map(self.corpus, ("train", "validation", "test"))]
        for path in (self.path / ".lock", self.checkpoints, *corpora):
            if path.is_symlink():
                raise RunError(f"{path}: expected no link in the folder of a run, got one")


def differing(there: AnySettings, given: AnySettings) -> Iterator[str]:
    """Yield what differs between two settings, one by one.

    >>> from attention_book.runs.settings import RunSettings, TrainingSettings
    >>> list(differing(RunSettings(), RunSettings(training=TrainingSettings(warmup=5))))
    ['training.warmup: 60 there, 5 given']
    """
    if there.TASK != given.TASK:
        tasks = (each.TASK or "translation" for each in (there, given))
        yield "task: {} there, {} given".format(*tasks)
        return
    old, new = there.to_dict(), given.to_dict()
    for part in old:
        for name in {**old[part], **new[part]}:
            before, after = (_plain(each[part].get(name)) for each in (old, new))
            if before != after:
                yield f"{part}.{name}: {before} there, {after} given"


def _plain(value: Any) -> str:
    """Return a setting as text; a table by its sorted names, whatever their order in the file."""
    if value is None or value == []:
        return "nothing"
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


@contextmanager
def enough_room(folder: RunFolder) -> Iterator[None]:
    """Turn what the operating system says of a write that failed into one clear error."""
    try:
        yield
    except OSError as error:
        last = max(
            (path.name for path in folder.checkpoints.glob("step-*.safetensors")), default=""
        )
        kept = f"; {last} is still there" if last else ""
        raise MachineError(
            f"{folder.path}: expected to be able to write, got: {error.strerror or error}{kept}"
        ) from error
