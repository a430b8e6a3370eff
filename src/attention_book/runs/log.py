"""What a run tells: a report of each step, its log and curves, and what it was made with."""

import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

import torch

from attention_book.foundations.bilingual import Bilingual, L
from attention_book.foundations.environment import from_extra
from attention_book.foundations.files import write_whole
from attention_book.runs.ddp import Ranks


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """What one step of a run saw, whatever the number of processes that took it together.

    Attributes:
        step: Counted from 1, over all epochs.
        num_steps: How many there will be.
        epoch: Counted from 1.
        loss: The mean loss over all real target tokens of the step, in nats, before it changed
            the weights.
        num_tokens: How many real target tokens there were, ``<eos>`` included.
        seconds: How long it took, without validation and checkpoint.
        learning_rate: How large it was.
        gradient_norm: The Euclidean norm of the whole gradient, before clipping.
        validation_loss: The loss per token on the validation data after this step; None where
            it was not asked for.

    >>> report = StepReport(
    ...     step=3, num_steps=9, epoch=1, loss=2.5, num_tokens=40, seconds=0.5,
    ...     learning_rate=0.001, gradient_norm=1.5,
    ... )
    >>> report.tokens_per_second
    80.0
    """

    step: int
    num_steps: int
    epoch: int
    loss: float
    num_tokens: int
    seconds: float
    learning_rate: float
    gradient_norm: float
    validation_loss: float | None = None

    @property
    def tokens_per_second(self) -> float:
        """How fast the step was, in target tokens of all processes together."""
        return self.num_tokens / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return asdict(self)


class Interrupted(KeyboardInterrupt):
    """A run was interrupted (Ctrl-C); it has been saved, and can go on from there.

    Attributes:
        step: The step after which it was saved.
        folder: The folder of the run.

    >>> error = Interrupted(1200, Path("runs/first"))
    >>> str(error), error.step
    ('runs/first: interrupted, and saved at step 1200', 1200)
    """

    def __init__(self, step: int, folder: Path) -> None:
        super().__init__(f"{folder}: interrupted, and saved at step {step}")
        self.step, self.folder = step, folder


def read_log(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log; one that was cut off while it was written ends it.

    A log that is not there has no lines. One that somebody else has written ends where it says
    what is no number.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.jsonl"
    ...     _ = path.write_text('{"step": 1, "loss": 2.5}\\n{"step": 2, "lo')
    ...     list(read_log(path))
    [{'step': 1, 'loss': 2.5}]
    """
    if not Path(path).is_file():
        return
    with Path(path).open("rb") as lines:
        for line in lines:
            try:
                content = json.loads(line) if line.endswith(b"\n") else None
            except (ValueError, RecursionError):  # no JSON, or no UTF-8
                content = None
            if not _is_of_a_step(content):
                return
            yield content


def _is_of_a_step(content: object) -> TypeGuard[dict[str, Any]]:
    """Whether a line says which step it is of, and nothing but numbers."""
    if not isinstance(content, dict) or type(content.get("step")) is not int:
        return False
    return all(value is None or _is_number(value) for value in content.values())


def _is_number(value: object) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond every float
        return False


def as_line(report: StepReport) -> bytes:
    """Return what the log says of a step.

    >>> report = StepReport(
    ...     step=3, num_steps=9, epoch=1, loss=2.5, num_tokens=40, seconds=0.5,
    ...     learning_rate=0.001, gradient_norm=1.5,
    ... )
    >>> json.loads(as_line(report))["tokens_per_second"]
    80.0
    """
    content = {
        "step": report.step,
        "epoch": report.epoch,
        "loss": report.loss,
        "tokens": report.num_tokens,
        "tokens_per_second": round(report.tokens_per_second, 1),
        "learning_rate": report.learning_rate,
        "gradient_norm": report.gradient_norm,
        "validation_loss": report.validation_loss,
    }
    # JSON knows no infinity; a gradient may be infinite where a step is left out.
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in content.items()
    }
    return (json.dumps(finite) + "\n").encode()


class Log:
    """Writes the log, from where a checkpoint stands.

    Args:
        path: The file.
        step: Lines of later steps are cut off: these steps are about to be taken again.
    """

    def __init__(self, path: Path, *, step: int) -> None:
        kept = [json.dumps(line) + "\n" for line in read_log(path) if line["step"] <= step]
        write_whole(path, "".join(kept).encode())
        self._file: BinaryIO = path.open("ab", buffering=0)

    def write(self, report: StepReport) -> None:
        """Write one line, whole."""
        self._file.write(as_line(report))

    def keep(self) -> None:
        """Wait until all lines are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


#: More points than this a curve does not show: each is the mean of several steps then.
_MOST_POINTS = 400


def draw_curves(log: Path, to: Path) -> None:
    """Draw the losses over the steps; nothing is drawn of a log without steps."""
    lines = list(read_log(log))
    if not lines:
        return
    curve = {L("训练", "training"): thinned([(line["step"], line.get("loss")) for line in lines])}
    looked = [(line["step"], line.get("validation_loss")) for line in lines]
    seen = [(step, loss) for step, loss in looked if loss is not None]
    if seen:
        curve[L("验证", "validation")] = seen
    with from_extra("plot", "matplotlib"):
        from attention_book.plotting.curves import svg_of_curves
    drawn = svg_of_curves(
        curve, xlabel=L("步", "step"), ylabel=L("每个词元的损失", "loss per token")
    )
    write_whole(to, drawn)


def thinned(
    points: list[tuple[int | float, int | float | None]], most: int = _MOST_POINTS
) -> list[tuple[int | float, int | float]]:
    """Return at most so many points, each the mean of as many neighbors.

    >>> thinned([(1, 4.0), (2, 2.0), (3, 1.0)], most=2)
    [(1.5, 3.0), (3.0, 1.0)]
    """
    known = [(step, loss) for step, loss in points if loss is not None]
    size = -(-len(known) // most) or 1
    groups = (known[start : start + size] for start in range(0, len(known), size))
    return [
        (sum(step for step, _ in group) / len(group), sum(loss for _, loss in group) / len(group))
        for group in groups
    ]


_PACKAGE = sys.modules["attention_book"]
# A file that was changed by hand may say anything.
_MOST_THREADS = 4096


def versions(ranks: Ranks, *, step: int) -> dict[str, Any]:
    """Return what is used now.

    >>> versions(Ranks(), step=0)["processes"]
    1
    """
    gpu = torch.cuda.get_device_name(ranks.device) if ranks.device.type == "cuda" else None
    return {
        "step": step,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "attention_book": _PACKAGE.__version__,
        "commit": _commit(Path(str(_PACKAGE.__file__)).parent),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "processes": ranks.world,
        "device": gpu or str(ranks.device),
    }


#: What the last bits of a result depend on, beside the settings, and what it is called.
DECIDING = {
    "attention_book": Bilingual("attention_book", "attention_book"),
    "torch": Bilingual("torch", "torch"),
    "processor": Bilingual("处理器", "processor"),
    "kernels": Bilingual("指令集", "kernels"),
    "threads": Bilingual("线程数", "threads"),
    "processes": Bilingual("进程数", "processes"),
    "device": Bilingual("设备", "device"),
}


def last_versions(path: Path) -> dict[str, Any]:
    """Return what was used when the run last began or went on; nothing where nobody knows.

    >>> last_versions(Path("nowhere"))
    {}
    """
    entries = _entries(path)
    return entries[-1] if entries and isinstance(entries[-1], dict) else {}


@contextmanager
def same_threads(before: Mapping[str, Any]) -> Iterator[None]:
    """Compute with as many threads as before within: sums are cut among them."""
    own, threads = torch.get_num_threads(), before.get("threads")
    if type(threads) is int and 1 <= threads <= _MOST_THREADS:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(own)


def changed_since(before: Mapping[str, Any], now: Mapping[str, Any]) -> Bilingual | None:
    """Return in one line what bits depend on and has changed; None: nothing has.

    >>> now = {"torch": "2.13", "threads": 2}
    >>> changed_since({"torch": "2.12", "threads": 2}, now).en.partition(": ")[2]
    'torch 2.12, now 2.13'
    >>> changed_since(now, now)
    """
    changed = [name for name in DECIDING if name in before and before[name] != now.get(name)]
    if not changed:
        return None
    zh = "；".join(f"{DECIDING[name].zh} {before[name]}，现在 {now.get(name)}" for name in changed)
    en = "; ".join(f"{DECIDING[name].en} {before[name]}, now {now.get(name)}" for name in changed)
    return Bilingual(
        f"和上次不同，接着训练的结果末几位可能不一样：{zh}",
        f"what has changed since can change the last bits of the result: {en}",
    )


def _entries(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return entries if isinstance(entries, list) else []


def note_versions(path: Path, ranks: Ranks, *, step: int) -> None:
    """Add what is used now to the file: one entry for each start, with the step it began at."""
    content = json.dumps([*_entries(path), versions(ranks, step=step)], indent=2)
    write_whole(path, (content + "\n").encode())


def processor(description: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name: as Linux describes it there, else as Python knows it.

    >>> processor(Path("nowhere")) == platform.processor()
    True
    """
    try:
        lines = description.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _commit(folder: Path) -> str | None:
    """Return the commit of the package's own repository; None where it is installed without."""
    try:
        # Whoever works in another repository and has the package installed in it gets none.
        tracked = _git(folder, "ls-files", "__init__.py")
        return _git(folder, "rev-parse", "HEAD") if tracked else None
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
