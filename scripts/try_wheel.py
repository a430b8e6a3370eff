"""Build the package and try it where a user does: with torch alone, and with every extra.

From the repository's files, as an archive of them (which has no `.git`), a source distribution is
made, of that a wheel. In a fresh environment the wheel alone trains a translator and translates;
what needs an extra has to say which. With `[all]` in another one the package's tests are run, from
a folder where the repository's own sources cannot be found.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The tests of the package, which need neither the book nor this repository's scripts.
TESTS = ("attention", "decoding", "foundations", "inspection", "metrics", "models", "runs", "text",
         "training")  # fmt: skip
FOR_TESTS = ("pytest", "pytest-xdist", "hypothesis", "beartype", "scipy", "setuptools")
#: What the package is compared with, in the version that its tests speak to.
ORACLE = "transformers"

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

#: With torch and jaxtyping alone a translator is trained, looked into, and translates.
TRANSLATE = """
import torch
from attention_book import set_seed
from attention_book.decoding import translate
from attention_book.inspection import capture_attention
from attention_book.models import Transformer, TransformerConfig
from attention_book.text import ParallelData, Vocabulary, phrasebook
from attention_book.training import fit

set_seed(1)
pairs = phrasebook("en", "fr")[:48]
english, french = (Vocabulary.build(side) for side in zip(*((p.source, p.target) for p in pairs)))
model = Transformer(
    TransformerConfig(
        source_vocabulary=len(english), target_vocabulary=len(french), d_model=32, num_heads=4,
        d_ff=64, num_layers=1, dropout=0.0,
    )
)
data = ParallelData(pairs, english, french)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = [report.loss_per_token for report in fit(model, data, optimizer, epochs=12, batch_size=16)]
assert losses[-1] < losses[0] / 4, losses
with capture_attention(model.eval()) as seen:
    found = translate(model, [("go", ".")], english, french, width=4)
assert seen, "no weights were captured"
print(*found[0].tokens)
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


def pinned(name: str) -> str:
    """Return what constraints.txt asks for of a library."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf8").splitlines()
    return next(line for line in lines if line.startswith(f"{name}=="))


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
        print("translates:", run(alone, "-W", "ignore", "-c", TRANSLATE, cwd=folder), end="")
        every = environment(folder / "every", f"{wheel}[all]", *FOR_TESTS, pinned(ORACLE))
        for part in ("tests", "benchmarks", "scripts", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
            copy(ROOT / part, folder / part)
        tests = [f"tests/{each}" for each in options.tests]
        plain = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile")
        as_here = {"OMP_NUM_THREADS": "1", "ATTENTION_BOOK_STRICT": "1"}  # conftest.py stays here
        print(run(every, *plain, *tests, cwd=folder, **as_here).splitlines()[-1])


if __name__ == "__main__":
    main()
