"""Build the package and try it where a user does: with torch alone, and with every extra.

From the repository's files, as an archive of them (which has no `.git`), a source distribution is
made, of that a wheel. In a fresh environment the wheel alone trains a translator and translates;
what needs an extra has to say which. With `[all]` in another one the package's tests are run, from
a folder where the repository's own sources cannot be found.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The tests of the package, which need neither the book nor this repository's scripts.
TESTS = ("attention", "decoding", "foundations", "inspection", "metrics", "models", "runs", "text",
         "training")  # fmt: skip
FOR_TESTS = (
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "beartype",
    "scipy",
    "transformers",
    "setuptools",
)

ALONE = """
import importlib, pkgutil
import attention_book, torch
print("attention_book", attention_book.__version__, "with torch", torch.__version__)
extras = 0
path, prefix = attention_book.__path__, "attention_book."
for found in pkgutil.walk_packages(path, prefix, onerror=lambda name: None):
    if found.name.startswith("attention_book.cli.") or found.name.endswith(".pytest_plugin"):
        continue  # parts of the command, which says what it needs, and of pytest
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        assert "attention-book[" in str(error), f"{found.name}: {error}"
        extras += 1
print(extras, "modules ask for an extra, by its name")
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that has to succeed; return what it printed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**kept, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:200]}\n{done.stdout[-6000:]}{done.stderr[-6000:]}")
    return done.stdout


def environment(folder: Path, *packages: str) -> Path:
    """Return the Python of a fresh environment with these packages."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    install = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*install, *packages, cwd=folder.parent)
    return python


def build(folder: Path) -> Path:
    """Return the wheel that is made of the source distribution of an archive."""
    source = folder / "archive"
    ignore = shutil.ignore_patterns(".git", ".venv*", "_build", "node_modules", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignore)
    python = environment(folder / "builder", "build")
    run(python, "-m", "build", "--outdir", folder / "dist", source, cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    (archive,) = (folder / "dist").glob("*.tar.gz")
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    return wheel


def translation() -> str:
    """Return the code that trains a translator, of the tests of what is installed."""
    text = (ROOT / "tests" / "test_installation.py").read_text(encoding="utf8")
    found = re.search(r'TRANSLATE = """(.*?)"""', text, re.S)
    assert found
    return found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", nargs="?", type=Path, help="a wheel; without one it is built")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="folders of tests to run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = options.wheel.resolve() if options.wheel else build(folder)
        alone = environment(folder / "alone", str(wheel))
        print(run(alone, "-c", ALONE, cwd=folder), end="")
        print("translates:", run(alone, "-W", "ignore", "-c", translation(), cwd=folder), end="")
        every = environment(folder / "every", f"{wheel}[all]", *FOR_TESTS)
        for part in ("tests", "benchmarks", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
            copy(ROOT / part, folder / part)
        tests = [f"tests/{each}" for each in options.tests]
        plain = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile")
        print(run(every, *plain, *tests, cwd=folder, OMP_NUM_THREADS="1").splitlines()[-1])


if __name__ == "__main__":
    main()
