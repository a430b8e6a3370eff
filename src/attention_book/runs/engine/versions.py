"""What a run was made with: versions of package, torch and Python, the machine, the time."""

import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from attention_book.foundations.files import write_whole
from attention_book.runs.processes.ranks import Ranks

_PACKAGE = sys.modules["attention_book"]


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


def note_versions(path: Path, ranks: Ranks, *, step: int) -> None:
    """Add what is used now to the file: one entry for each start, with the step it began at."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        entries = []
    before = entries if isinstance(entries, list) else []
    content = json.dumps([*before, versions(ranks, step=step)], indent=2)
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
