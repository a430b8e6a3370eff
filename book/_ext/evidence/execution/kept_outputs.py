"""The outputs of executed notebooks, kept under a key of all that can change them."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbformat
from packaging.requirements import Requirement

from evidence.execution.code_closure import Package
from evidence.execution.notebook_runner import requirements_of
from evidence.fresh_pages import digest_of_files

#: Files, relative to the repository, that can change any result. The package's own code is
#: followed import by import.
INPUTS = ("src/**/data/**/*", "src/**/*.ttf", "book/data/**/*")
#: What stands beside them and no cell reads: the translator's models, which pages depend on.
OF_PAGES = (".bin", ".example.js", ".md")

#: Settings of the environment that choose the draws, the kernels or what is shown.
VARIABLES = ("ATEN_CPU_CAPABILITY", "ATTENTION_BOOK_SEED_OFFSET", "ATTENTION_BOOK_TIMINGS")

#: Packages whose versions can change a result.
PACKAGES = (
    *("torch", "numpy", "matplotlib", "contourpy", "jaxtyping"),
    *("sacrebleu", "tokenizers", "safetensors", "statsmodels", "scikit-learn"),
    *("ipykernel", "ipython", "matplotlib-inline", "nbclient"),
)

#: How many sets of outputs are kept, so that switching between two branches executes nothing.
KEPT_SETS = 4
#: How many notebooks of each set.
KEPT_NOTEBOOKS = 200


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def surroundings_key(root: Path, patterns: Iterable[str], readers: Iterable[str]) -> str:
    """Return the key of everything outside the code that can change results.

    ``patterns``: the files, below ``root``; ``readers``: what those who run the notebooks install,
    which is all that cells can import.
    """
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()}\n".encode())
    for package in PACKAGES:
        digest.update(f"{package}=={installed_version(package)}\n".encode())
    for name in VARIABLES:
        digest.update(f"{name}={os.environ.get(name, '')}\n".encode())
    digest.update((Path(__file__).parent / "notebook_runner.py").read_bytes())
    for reader in sorted(readers):
        brings = sorted(requirements_of(Requirement(reader).name))
        digest.update(f"{reader} {brings}\n".encode())
    found = {path for pattern in patterns for path in root.glob(pattern)}
    files = {path for path in found if path.is_file() and not path.name.endswith(OF_PAGES)}
    digest.update(digest_of_files(files, root).encode())
    return digest.hexdigest()[:16]


def trained_folder(kept: Path, surroundings: str, package: Package) -> Path:
    """Return where a build keeps its trained models: under the key of what trained them."""
    return kept / f"trained-{surroundings}-{package.training_key[:16]}"


#: The code of a cell, and its tags: one of them may say that it may fail, or that it is not run.
Tagged = tuple[str, tuple[str, ...]]


def cells_of(notebook: nbformat.NotebookNode) -> list[Tagged]:
    """Return what a notebook's results depend on."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell.source, tuple(cell.metadata.get("tags", ()))) for cell in code]


def code_of(cells: Iterable[Tagged]) -> list[str]:
    return [source for source, _ in cells]


def newest_first(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)


class Outputs:
    """The kept outputs: one folder for each surroundings key, one file for each notebook."""

    def __init__(self, folder: Path, surroundings: str, package: Package) -> None:
        self.package = package
        self.folder = folder / surroundings
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trained = trained_folder(folder, surroundings, package)
        self.trained.mkdir(parents=True, exist_ok=True)
        for used in (self.folder, self.trained):
            os.utime(used)  # `prune` keeps what was used last
        self.prune(folder)

    def prune(self, folder: Path) -> None:
        for trained in (False, True):
            sets = [p for p in folder.iterdir() if p.name.startswith("trained-") == trained]
            for old in newest_first(sets)[KEPT_SETS:]:
                shutil.rmtree(old, ignore_errors=True)
        for notebook in newest_first(self.folder.glob("*.ipynb"))[KEPT_NOTEBOOKS:]:
            notebook.unlink(missing_ok=True)

    def key(self, cells: list[Tagged]) -> str:
        """Return the key of some cells, of the code behind them and of all around it."""
        text = self.folder.name + json.dumps(cells) + self.package.key(code_of(cells))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def path(self, notebook: nbformat.NotebookNode) -> Path:
        return self.folder / f"{self.key(cells_of(notebook))}.ipynb"

    def load(self, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
        """Return the notebook with its outputs, if they are kept."""
        path = self.path(notebook)
        if not path.is_file():
            return None
        os.utime(path)
        kept: nbformat.NotebookNode = nbformat.read(path, as_version=4)
        return kept

    def save(self, notebook: nbformat.NotebookNode, path: Path) -> None:
        """Keep a notebook with its outputs where `path` said before it was executed."""
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        nbformat.write(notebook, temporary)
        temporary.replace(path)  # whole or not at all, whenever the build is interrupted
