"""Measure the package on one GPU, part by part, in at most eight minutes.

    python benchmarks/gpu                    all parts
    python benchmarks/gpu kernels decoding   these
    python benchmarks/gpu --dry-run          tiny sizes on the CPU, to try the programs

Each part is a process of its own with a limit of its own, and writes one JSON into ``$OUT`` (or
``out`` beside this file) after every measurement. A second call goes on where the first stopped.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measuring import CARD_IS_GONE, out
from report import page

HERE = Path(__file__).resolve().parent
#: In the order of their value: how many seconds each may take; the last takes what is left.
PARTS = {"kernels": 110, "training": 110, "decoding": 80, "translation": 999}
LEAST = 15


def main() -> None:
    """Run the parts that were asked for, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="only these")
    parser.add_argument("--seconds", type=float, default=480, help="for all parts together")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes, on the CPU")
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    for name, own in PARTS.items():
        if asked.parts and name not in asked.parts:
            continue
        if is_finished(name, tiny=asked.dry_run):
            print(f"{name}: finished before", flush=True)
            continue
        for _ in range(2):  # once more if the card went away, without the call that did it
            limit = 600 if asked.dry_run else min(own, end - time.monotonic() - 5)
            if limit < LEAST:
                print(f"{name}: no time left", flush=True)
                break
            code = measured(name, limit, dry_run=asked.dry_run)
            print(f"{name}: ended with {code}", flush=True)
            if code != CARD_IS_GONE:
                break
    path = out() / "gpu.md"
    path.write_text(page(out()), encoding="utf-8")
    print(path)


def measured(name: str, limit: float, *, dry_run: bool) -> int:
    """Run one part; it stops by itself at its limit, and is ended if it does not."""
    command = [sys.executable, str(HERE / f"{name}.py"), "--limit", str(limit)]
    quiet = {"TOKENIZERS_PARALLELISM": "true", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    try:
        return subprocess.run(
            command + ["--dry-run"] * dry_run, env={**os.environ, **quiet}, timeout=limit + 90
        ).returncode
    except subprocess.TimeoutExpired:
        return 124


def is_finished(name: str, *, tiny: bool) -> bool:
    """Whether a stored result says that nothing is left to do, at this size."""
    try:
        found = json.loads((out() / f"{name}.json").read_text())
    except (OSError, ValueError):
        return False
    return bool(found.get("finished")) and found.get("tiny") == tiny


if __name__ == "__main__":
    main()
