"""What a run was made with: versions of package, torch and Python, the machine, the time."""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.files import write_whole
from attention_book.runs.processes.ranks import Ranks

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
