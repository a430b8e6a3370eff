"""Build the book twice, from scratch, in two folders, and compare the sites byte by byte.

    python scripts/compare_builds.py [--executed book/_build]

One is built by `jupyter-book build`, the other by plain `sphinx-build`. A date, a random id or a
path of this machine in a page would show up here. With ``--executed`` both
begin with the executed cells of another build, which takes minutes rather than a quarter of an
hour; what differs from one execution to the next is not seen then.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What a build needs of the repository.
SOURCES = ("book", "src", "pyproject.toml", "constraints.txt")
#: Sphinx's own note of its settings, absolute paths among them.
NOT_PUBLISHED = {".buildinfo"}
#: Where a build keeps what it has executed.
KEPT = ".jupyter_cache"
#: The two commands that build a book, in the folder above it.
JUPYTER_BOOK = (
    sys.executable,
    "-c",
    "from jupyter_book.cli.main import main; main()",
    "build",
    "book",
)
SPHINX = (
    *(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-b", "html"),
    *("-d", "book/_build/.doctrees", "book", "book/_build/html"),
)


def copy_sources(root: Path, target: Path) -> None:
    ignore = shutil.ignore_patterns("_build", "__pycache__", "*.egg-info")
    for name in SOURCES:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.is_file():
            shutil.copy2(source, target / name)


def build_copy(
    root: Path, target: Path, executed: Path | None = None, command: tuple[str, ...] = SPHINX
) -> Path:
    """Build a copy of the book, with the executed cells of another build if given; return its site.

    Raises:
        FileNotFoundError: if the other build has kept none.
    """
    target.mkdir(parents=True)
    copy_sources(root, target)
    if executed is not None:
        shutil.copytree(executed / KEPT, target / "book" / "_build" / KEPT)
    environment = {**os.environ, "ATTENTION_BOOK_TIMINGS": "0"}  # no two are the same
    done = subprocess.run(
        command, cwd=target, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"the build failed:\n{done.stdout}\n{done.stderr}")
    return target / "book" / "_build" / "html"


def differences(one: Path, other: Path) -> list[str]:
    """Return the files that only one site has, or that differ."""
    names = [
        {p.relative_to(s).as_posix() for p in s.rglob("*") if p.is_file()} for s in (one, other)
    ]
    differing = [n for n in names[0] & names[1] if not filecmp.cmp(one / n, other / n, False)]
    return sorted([*(names[0] ^ names[1]), *differing])


def first_difference(one: Path, other: Path) -> str:
    """Return the first place where two text files differ."""
    if not (one.is_file() and other.is_file()):
        return "only in one of the two"
    texts = [p.read_text(encoding="utf8", errors="replace") for p in (one, other)]
    pairs = enumerate(zip(*texts, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(map(len, texts)))
    return " | ".join(repr(text[max(0, place - 60) : place + 60]) for text in texts)


def main(root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--executed", type=Path, metavar="BUILD")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sites = [
            build_copy(root, Path(folder, name, "repo"), given.executed, command)
            for name, command in (("one", SPHINX), ("a-longer-name", JUPYTER_BOOK))
        ]
        differing = differences(*sites)
        for name in differing:
            print(f"{name}: {first_difference(*(site / name for site in sites))}")
        count = sum(path.is_file() for path in sites[0].rglob("*"))
    print(f"{count} files, {len(differing)} differ")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
