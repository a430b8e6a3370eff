"""Record a grid of small trainings in one file, with what it takes to repeat them.

``record_scaling.py``, ``record_experts.py``, ``record_hybrids.py`` and ``record_diffusion.py`` say
what is trained.
"""

import argparse
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch


def asked(doc: str | None, **inputs: str) -> argparse.Namespace:
    """Return the paths of the command line: those of the inputs, and ``to``, the record's."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0] if doc else None)
    for name, meaning in {**inputs, "to": "the file of the record"}.items():
        parser.add_argument(name, type=Path, help=meaning)
    return parser.parse_args()


def record_missing(
    to: Path,
    *,
    command: str,
    settings: Mapping[str, Any],
    names: Sequence[str],
    grid: Iterable[tuple[Any, ...]],
    train: Callable[..., dict[str, Any]],
) -> None:
    """Train what the record has not yet, of the same settings, and write it after each training.

    Args:
        to: The file of the record.
        command: What repeats it, but for the name of its file.
        settings: What all trainings share.
        names: What tells the trainings apart, entries of each one's results.
        grid: Their values, one tuple for each training.
        train: Called with these values by name; returns the results.
    """
    torch.set_num_threads(1)
    record: dict[str, Any] = {
        "name": to.stem,
        "command": f"{command} {to.name}",
        "made": _made(),
        "settings": settings,
        "runs": [],
    }
    if to.exists():
        before = json.loads(to.read_text(encoding="utf-8"))
        if before["settings"] != settings:
            raise SystemExit(f"{to} was made with other settings: name another file")
        record |= {"made": before["made"] + record["made"], "runs": before["runs"]}
    done = {tuple(run[name] for name in names) for run in record["runs"]}
    for values in grid:
        if values not in done:
            record["runs"].append(train(**dict(zip(names, values, strict=True))))
            to.write_text(_as_text(record), encoding="utf-8")
            print(record["runs"][-1], flush=True)


def _as_text(record: dict[str, Any]) -> str:
    """Return the record as JSON, one training a line."""
    head = json.dumps({name: value for name, value in record.items() if name != "runs"})
    runs = ",\n".join(json.dumps(run) for run in record["runs"])
    return f'{head[:-1]}, "runs": [\n{runs}\n]}}\n'


def _made() -> list[dict[str, Any]]:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return [
        {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit,
            "torch": torch.__version__,
            "processor": _processor(),
            "kernels": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
        }
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"
