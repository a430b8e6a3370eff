"""How long the book takes: from clean, with nothing changed, and after an edit of one chapter.

    python benchmarks/book.py [--repeats 5]

Builds a copy of the working tree in a temporary folder, so that the copy's first build executes
every cell and the real one's cache stays as it is. Prints seconds: the median of the repeats,
with the smallest and the largest.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = "masks.md"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_build", "node_modules", "__pycache__")


def build(copy: Path) -> float:
    """Build the copy and return the seconds it took."""
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "book/"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}\nThe build failed: nothing to time.")
    return seconds


def edit_prose(copy: Path) -> None:
    """Add a sentence at the end of one chapter's last English block."""
    chapter = copy / "book" / CHAPTER
    text = chapter.read_text(encoding="utf-8").rstrip()
    chapter.write_text(text.removesuffix(":::") + "One more sentence.\n:::\n", encoding="utf-8")


def report(name: str, seconds: list[float]) -> None:
    spread = f"{min(seconds):.1f} to {max(seconds):.1f}" if len(seconds) > 1 else "one build"
    print(f"{name:28}{statistics.median(seconds):8.1f} s   ({spread})", flush=True)


def repeat(copy: Path, repeats: int, change: Callable[[Path], None] | None = None) -> list[float]:
    seconds = []
    for _ in range(repeats):
        if change:
            change(copy)
        seconds.append(build(copy))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="builds of each kind but the first")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "book"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
        report("from clean", [build(copy)])
        report("nothing changed", repeat(copy, repeats))
        report(f"prose of {CHAPTER} edited", repeat(copy, repeats, edit_prose))


if __name__ == "__main__":
    main()
