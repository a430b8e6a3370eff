"""Execute the cells that could give another result than last time, and no others.

The outputs of a notebook are kept under a key of everything that can change them: the package's
source and fonts, the pinned versions, the data, Python, and the code of the notebook's own cells.
Prose and captions are not part of it. Notebooks without kept outputs are executed side by side
(``BOOK_JOBS`` kernels, at most 4 unless told otherwise) before Sphinx reads the pages.

A notebook with a failing cell is never kept: each build executes it again, reports every failure
and shows what the cells wrote (strict_build then fails the build).
"""

import hashlib
import json
import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nbformat
from fresh_pages import digest_of_files
from myst_nb import sphinx_ as myst_nb_sphinx
from myst_nb.core.execute import NotebookClientBase
from myst_nb.core.read import create_nb_reader
from notebook_runner import Problem, Run, execute_all, kernel_environment
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

logger = logging.getLogger(__name__)

#: Files, relative to the repository, that can change a result.
INPUTS = ("src/**/*", "constraints.txt", "book/data/**/*")

#: Packages whose versions can change a result.
PACKAGES = (
    *("torch", "numpy", "matplotlib", "contourpy", "jaxtyping"),
    *("sacrebleu", "tokenizers", "safetensors", "statsmodels", "scikit-learn"),
    *("ipykernel", "ipython", "matplotlib-inline", "nbclient"),
)

#: Tells the package where this build keeps its trained models: under the same key as the
#: outputs, so that a model never outlives the code that trained it.
TRAINED_VARIABLE = "ATTENTION_BOOK_TRAINED"
TRAINED = "trained"

#: How many sets of outputs are kept, so that switching between two branches executes nothing.
KEPT_KEYS = 4


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def results_key(root: Path, patterns: list[str]) -> str:
    """Return the key of everything outside the notebooks that can change their results."""
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()}\n".encode())
    for package in PACKAGES:
        digest.update(f"{package}=={installed_version(package)}\n".encode())
    for file in ("notebook_runner.py", "keyed_execution.py"):
        digest.update((Path(__file__).parent / file).read_bytes())
    files = {p for pattern in patterns for p in root.glob(pattern) if p.is_file()}
    files = {p for p in files if "__pycache__" not in p.parts and ".egg-info" not in str(p)}
    digest.update(digest_of_files(files, root).encode())
    return digest.hexdigest()[:16]


def trained_folder(root: Path) -> Path:
    """Return where a build of the present sources in ``root`` keeps its trained models."""
    key = results_key(root, list(INPUTS))
    return root / "book" / "_build" / ".jupyter_cache" / key / TRAINED


def notebook_key(notebook: nbformat.NotebookNode) -> str:
    """Return the key of a notebook's own code."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:32]


def requests_for_models(notebook: nbformat.NotebookNode) -> int:
    """Return how often a notebook asks for trained models, about: the most will take longest."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    if not any("attention_book.recipes" in source for source in cells):
        return 0
    return sum(source.count("trained") + source.count("held_out") for source in cells)


class Outputs:
    """The kept outputs: one folder for each results key, one file for each notebook."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder / key
        self.folder.mkdir(parents=True, exist_ok=True)
        os.utime(self.folder)  # `prune` keeps what was used last
        self.prune(folder)

    @staticmethod
    def prune(folder: Path) -> None:
        newest = sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in newest[KEPT_KEYS:]:
            shutil.rmtree(old, ignore_errors=True)

    def path(self, notebook: nbformat.NotebookNode) -> Path:
        return self.folder / f"{notebook_key(notebook)}.ipynb"

    def load(self, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
        path = self.path(notebook)
        return nbformat.read(path, as_version=4) if path.is_file() else None

    def save(self, notebook: nbformat.NotebookNode) -> None:
        path = self.path(notebook)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        nbformat.write(notebook, temporary)
        temporary.replace(path)  # whole or not at all, whenever the build is interrupted


class KeptClient(NotebookClientBase):
    """Gives myst-nb the outputs that are already there instead of executing."""

    executed: nbformat.NotebookNode | None = None

    def start_client(self) -> None:
        if self.executed is None:
            return
        code = [cell for cell in self.executed.cells if cell.cell_type == "code"]
        own = [cell for cell in self.notebook.cells if cell.cell_type == "code"]
        for cell, done in zip(own, code, strict=True):
            cell.outputs = done.outputs
            cell.execution_count = done.execution_count
        self.notebook.metadata["language_info"] = self.executed.metadata.get("language_info", {})


class Executor:
    """Executes what is missing; remembers what failed for the pages of this build."""

    def __init__(self, app: Sphinx) -> None:
        self.app = app
        build = Path(app.outdir).parent
        self.root = Path(app.srcdir).parent
        self.key = results_key(self.root, app.config.keyed_execution_inputs)
        self.outputs = Outputs(build / ".jupyter_cache", self.key)
        self.environment = kernel_environment(build / ".kernels", self.root / "src")
        self.environment[TRAINED_VARIABLE] = str(self.outputs.folder / TRAINED)
        self.failed: dict[str, nbformat.NotebookNode] = {}

    def notebook(self, docname: str) -> nbformat.NotebookNode | None:
        """Return the page as a notebook; None if it is a page without cells."""
        env = self.app.env
        path = env.doc2path(docname)
        text = Path(path).read_text(encoding="utf8")
        reader = create_nb_reader(path, env.myst_config, env.mystnb_config, text)  # type: ignore[attr-defined]
        notebook = reader and reader.read(text)
        return notebook if notebook and any(c.cell_type == "code" for c in notebook.cells) else None

    def execute(self, docnames: list[str]) -> None:
        """Execute those of the pages that have no kept outputs."""
        runs = []
        for docname in docnames:
            notebook = self.notebook(docname)
            if notebook is not None and self.outputs.load(notebook) is None:
                folder = Path(self.app.env.doc2path(docname)).parent
                timeout = self.app.config.nb_execution_timeout
                runs.append(Run(docname, notebook, folder, timeout))
        if not runs:
            return
        # Chapters that train models share the work with whoever runs beside them: not last, alone.
        runs.sort(key=lambda run: -requests_for_models(run.notebook))
        jobs = min(int(os.environ.get("BOOK_JOBS") or min(os.cpu_count() or 1, 4)), len(runs))
        names = ", ".join(run.name for run in runs)
        logger.info("executing %d chapters, %d at a time: %s", len(runs), jobs, names)
        done = Progress(runs, jobs, self.outputs)
        execute_all(runs, self.environment, jobs=jobs, done=done)
        for run in runs:
            if run.problems:
                self.failed[run.name] = run.notebook
            for problem in run.problems:
                self.report(run.name, problem)

    def report(self, docname: str, problem: Problem) -> None:
        logger.error("%s: %s", docname, problem, location=docname, type="keyed_execution")


class Progress:
    """Keeps each good result at once and says how far the execution has come."""

    def __init__(self, runs: list[Run], jobs: int, outputs: Outputs) -> None:
        self.waiting = [run.name for run in runs]
        self.total, self.jobs, self.outputs = len(runs), jobs, outputs

    def __call__(self, run: Run) -> None:
        if not run.problems:
            self.outputs.save(run.notebook)
        self.waiting.remove(run.name)
        count, left = self.total - len(self.waiting), len(self.waiting)
        state = "FAILED after" if run.problems else ""
        running = f" (running: {', '.join(self.waiting[: self.jobs])})" if left else ""
        line = (
            f"[{count}/{self.total}] {run.name} {state} {run.seconds:.1f} s, {left} left{running}"
        )
        logger.info(" ".join(line.split()))


def turn_off_myst_nb(app: Sphinx, config: Config) -> None:
    """Cells are executed here; ``_config.yml`` says `force`, which is what it amounts to."""
    config.nb_execution_mode = "off"  # type: ignore[attr-defined]


def start(app: Sphinx) -> None:
    """Plug in: myst-nb asks ``create_client`` for a notebook's outputs."""
    executor = app.keyed_execution = Executor(app)  # type: ignore[attr-defined]

    def create_client(
        notebook: Any, source: str, nb_config: Any, client_logger: Any, read_fmt: Any = None
    ) -> NotebookClientBase:
        client = KeptClient(notebook, Path(source), nb_config, client_logger)
        client.executed = executor.failed.get(app.env.docname) or executor.outputs.load(notebook)
        return client

    myst_nb_sphinx.create_client = create_client


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Read the executed pages again when something outside them may have changed the results."""
    keys: dict[str, str] = getattr(env, "results_keys", {})
    return [docname for docname, key in keys.items() if key != app.keyed_execution.key]  # type: ignore[attr-defined]


def execute_pages(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    app.keyed_execution.execute(docnames)  # type: ignore[attr-defined]


def remember_key(app: Sphinx, doctree: Any) -> None:
    if not hasattr(app.env, "results_keys"):
        app.env.results_keys = {}  # type: ignore[attr-defined]
    if "kernelspec" in app.env.metadata.get(app.env.docname, {}):
        app.env.results_keys[app.env.docname] = app.keyed_execution.key  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("fresh_pages")
    app.add_config_value("keyed_execution_inputs", list(INPUTS), "")
    app.connect("config-inited", turn_off_myst_nb, priority=10)
    app.connect("builder-inited", start, priority=900)  # after myst-nb's own
    app.connect("env-get-outdated", outdated)
    app.connect("env-before-read-docs", execute_pages)
    app.connect("doctree-read", remember_key)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
