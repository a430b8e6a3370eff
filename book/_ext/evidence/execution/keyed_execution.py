"""The cells that could give another result than last time are executed, and no others.

The outputs of a notebook are kept under a key of everything that can change them: the code of its
own cells with their tags, the code of the package that these can run (imports followed name by
name, docstrings and comments left out, see code_closure), the package's data, the installed
versions, what readers have installed, Python, and the settings of the environment
that choose seeds and kernels. Prose and captions are not part of it. Notebooks without kept outputs
are executed side by side (``BOOK_JOBS`` kernels, at most 4 unless told otherwise) while Sphinx
reads the pages, each as soon as it has its outputs.

A notebook with a failing cell is never kept: each build executes it again, reports every failure
and shows what the cells wrote (strict_build then fails the build).
"""

import os
from pathlib import Path
from typing import Any, cast

import nbformat
from bilingual.environment import PerBook, PerPage
from myst_nb.core.read import read_myst_markdown_notebook
from myst_nb.sphinx_ import SphinxEnvType
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from evidence.execution.code_closure import Package
from evidence.execution.kept_outputs import (
    INPUTS,
    Outputs,
    Tagged,
    cells_of,
    code_of,
    surroundings_key,
)
from evidence.execution.notebook_runner import (
    MEASUREMENT_TYPE,
    READERS,
    Execution,
    Problem,
    Run,
    kernel_environment,
    measurements_in,
)
from evidence.execution.seconds_table import seconds_table
from evidence.strict_build import failed_pages

logger = logging.getLogger(__name__)

#: Of each page with cells: these, and the key of all that can change their results.
RESULTS_KEYS = PerPage[tuple[list[Tagged], str]]("results_keys")
#: What the cells of each page measured, as they recorded it, with its line in the page.
MEASURED = PerPage[list[dict[str, Any]]]("measurements")
#: The folder in which this build keeps its trained models.
TRAINED = PerBook[str]("trained_models", "")

#: Tells the package where this build keeps its trained models.
TRAINED_VARIABLE = "ATTENTION_BOOK_TRAINED"


def likely_length(notebook: nbformat.NotebookNode) -> tuple[int, int]:
    """Return how often a notebook asks for trained models, about, and how much code it has.

    The most of the first, and then of the second, will take longest.
    """
    cells = code_of(cells_of(notebook))
    length = sum(len(source) for source in cells)
    if not any("attention_book.course.recipes" in source for source in cells):
        return 0, length
    return sum(source.count("trained") + source.count("held_out") for source in cells), length


def give_outputs(notebook: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> None:
    """Give a notebook the outputs of its executed copy; a glued value notes its cell."""
    code = iter(cell for cell in executed.cells if cell.cell_type == "code")
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            done = next(code)
            # Measurements are shown by an extension of their own.
            cell.outputs = [o for o in done.outputs if MEASUREMENT_TYPE not in o.get("data", {})]
            cell.execution_count = done.execution_count
            for output in cell.outputs:
                if "scrapbook" in output.get("metadata", {}):
                    output.metadata["scrapbook"]["cell"] = index
    notebook.metadata["language_info"] = executed.metadata.get("language_info", {})


class Executor:
    """Executes what is missing; remembers what failed for the pages of this build."""

    def __init__(self, app: Sphinx) -> None:
        self.app = app
        build = Path(app.outdir).parent
        self.root = Path(app.srcdir).parent
        readers = app.config.keyed_execution_readers
        surroundings = surroundings_key(self.root, app.config.keyed_execution_inputs, readers)
        self.outputs = Outputs(build / ".jupyter_cache", surroundings, Package(self.root / "src"))
        self.environment = kernel_environment(build / ".kernels", self.root / "src", readers)
        self.environment[TRAINED_VARIABLE] = str(self.outputs.trained)
        self.execution: Execution | None = None
        self.waiting: dict[str, Run] = {}  # executed, or about to be; their pages are not read yet
        self.failed: dict[str, nbformat.NotebookNode] = {}

    def notebook(self, docname: str) -> nbformat.NotebookNode | None:
        """Return the page as a notebook; None if it is a page without cells."""
        text = Path(self.app.env.doc2path(docname)).read_text(encoding="utf8")
        return self.parsed(docname, text) if "{code-cell}" in text else None

    def parsed(self, docname: str, text: str) -> nbformat.NotebookNode:
        """Return a text in MyST as a notebook."""
        env = cast(SphinxEnvType, self.app.env)
        path = env.doc2path(docname)
        found: nbformat.NotebookNode = read_myst_markdown_notebook(
            text, env.myst_config, add_source_map=True, path=path
        )
        return found

    def executed(
        self, docname: str, notebook: nbformat.NotebookNode
    ) -> nbformat.NotebookNode | None:
        """Return the page's notebook with its outputs, those of a failed run included."""
        if docname in self.waiting:
            self.settle(docname)
        return self.failed.get(docname) or self.outputs.load(notebook)

    def settle(self, docname: str) -> None:
        """Wait until a page has been executed; report what failed."""
        assert self.execution is not None
        run = self.waiting.pop(docname)
        self.execution.wait(run)
        if run.problems:
            self.failed[docname] = run.notebook
            failed_pages(self.app).add(docname)
        for problem in run.problems:
            self.report(run, problem)

    def execute(self, docnames: list[str]) -> None:
        """Begin to execute those of the pages that have no kept outputs; have them read last."""
        runs = []
        for docname in docnames:
            notebook = self.notebook(docname)
            if notebook is not None and self.outputs.load(notebook) is None:
                folder = Path(self.app.env.doc2path(docname)).parent
                timeout = self.app.config.nb_execution_timeout
                runs.append(Run(docname, notebook, folder, timeout))
        if not runs:
            return
        # The long ones first, so that none runs last, alone.
        runs.sort(key=lambda run: likely_length(run.notebook), reverse=True)
        jobs = min(int(os.environ.get("BOOK_JOBS") or min(os.cpu_count() or 1, 4)), len(runs))
        names = ", ".join(run.name for run in runs)
        logger.info("executing %d chapters, %d at a time: %s", len(runs), jobs, names)
        done = Progress(runs, jobs, self.outputs)
        self.execution = Execution(runs, self.environment, jobs=jobs, done=done)
        self.waiting = {run.name: run for run in runs}
        # Sphinx reads the pages in this order.
        docnames[:] = [*(name for name in docnames if name not in self.waiting), *self.waiting]

    def execute_pages(self, app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        """Execute the pages that will be read."""
        self.execute(docnames)
        if app.parallel > 1:  # the processes that read the pages know nothing of the kernels
            self.finish()

    def finish(self, *_: object) -> None:
        """Wait for every page, and write down where the time went."""
        if self.execution is None:
            return
        for docname in list(self.waiting):
            self.settle(docname)
        self.execution.wait()
        runs, self.execution = self.execution.runs, None
        table = Path(self.app.outdir).parent / "seconds.md"
        table.write_text(seconds_table(runs, self.outputs.trained), encoding="utf8")
        logger.info("where the time went: %s", table.relative_to(self.root))

    def stop(self, *_: object) -> None:
        """End the kernels of a build that ends early."""
        if self.execution is not None:
            self.execution.stop()

    def outdated(self, app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
        """Read the pages again whose results may be others, though they are the same."""
        keys = RESULTS_KEYS.of(env)
        return [page for page, (cells, key) in keys.items() if self.outputs.key(cells) != key]

    def with_outputs(self, text: str) -> nbformat.NotebookNode:
        """Return the page that is being read as a notebook with its outputs."""
        page = self.app.env.docname
        notebook = self.parsed(page, text)
        if cells_of(notebook):
            if (executed := self.executed(page, notebook)) is not None:
                give_outputs(notebook, executed)
            remember(self.app.env, notebook, executed, self.outputs)
        return notebook

    def report(self, run: Run, problem: Problem) -> None:
        path = self.app.env.doc2path(run.name)
        place = f"{path}:{line_in_file(run.notebook, Path(path), problem)}"
        logger.error("%s", problem, location=place, type="keyed_execution")


def line_of_cell(notebook: nbformat.NotebookNode, path: Path, cell: int) -> int:
    """Return the line of a page's file, counted from 1, at which a cell's code begins."""
    codes = [
        (start, each.source)
        for start, each in zip(notebook.metadata["source_map"], notebook.cells, strict=True)
        if each.cell_type == "code"
    ]
    fence, source = codes[cell - 1]
    lines = path.read_text(encoding="utf8").splitlines()
    first = source.split("\n")[0]
    return next((n for n in range(fence + 1, len(lines) + 1) if lines[n - 1] == first), fence)


def line_in_file(notebook: nbformat.NotebookNode, path: Path, problem: Problem) -> int:
    """Return the line of a page's file that a problem came from, or that its cell begins at."""
    return line_of_cell(notebook, path, problem.cell) + max(problem.line - 1, 0)


class Progress:
    """Keeps each good result at once and says how far the execution has come.

    It is called in the kernels' thread, where no code is parsed: in Python 3.11 two threads that
    parse at once can raise a SystemError.
    """

    def __init__(self, runs: list[Run], jobs: int, outputs: Outputs) -> None:
        self.waiting = [run.name for run in runs]
        self.paths = {run.name: outputs.path(run.notebook) for run in runs}
        self.total, self.jobs, self.outputs = len(runs), jobs, outputs

    def __call__(self, run: Run) -> None:
        if not run.problems:
            self.outputs.save(run.notebook, self.paths[run.name])
        self.waiting.remove(run.name)
        count, left = self.total - len(self.waiting), len(self.waiting)
        state = "FAILED after" if run.problems else ""
        running = f" (running: {', '.join(self.waiting[: self.jobs])})" if left else ""
        line = (
            f"[{count}/{self.total}] {run.name} {state} {run.seconds:.1f} s, {left} left{running}"
        )
        logger.info(" ".join(line.split()))


#: The executor of the running build, last: MyST-NB calls `read` with a text and nothing else.
RUNNING: list[Executor] = []


def read(text: str) -> nbformat.NotebookNode:
    """Return a page as a notebook with its outputs, for MyST-NB."""
    return RUNNING[-1].with_outputs(text)


def plug_in(app: Sphinx, config: Config) -> None:
    """Be the reader of MyST-NB; ``_config.yml`` says `force`, which is what it amounts to."""
    config["nb_execution_mode"] = "off"
    config["nb_custom_formats"] = {".md": [f"{__name__}.read", {}, False]}


def start(app: Sphinx) -> None:
    executor = Executor(app)
    RUNNING.append(executor)
    TRAINED.update(app.env, str(executor.outputs.trained))
    app.connect("env-get-outdated", executor.outdated)
    app.connect("env-before-read-docs", executor.execute_pages)
    app.connect("env-updated", executor.finish, priority=100)  # before whoever reads the results
    app.connect("build-finished", executor.stop)


def remember(
    env: BuildEnvironment,
    notebook: nbformat.NotebookNode,
    executed: nbformat.NotebookNode | None,
    outputs: Outputs,
) -> None:
    """Remember the page's key, to see when it is outdated, and what its cells measured."""
    cells = cells_of(notebook)
    RESULTS_KEYS.of(env)[env.docname] = (cells, outputs.key(cells))
    path = Path(env.doc2path(env.docname))
    for cell in notebook.cells:
        if "load" in cell.metadata:  # its code stands in a file
            env.note_dependency(str(path.parent / cell.metadata["load"]))
    found = measurements_in(executed) if executed is not None else []
    MEASURED.of(env)[env.docname] = [
        {**each, "line": line_of_cell(notebook, path, each["cell"])} for each in found
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("evidence.fresh_pages")
    app.add_config_value("keyed_execution_inputs", list(INPUTS), "")
    app.add_config_value("keyed_execution_readers", list(READERS), "")
    app.connect("config-inited", plug_in, priority=10)
    app.connect("builder-inited", start, priority=900)  # after myst-nb's own
    for remembered in (RESULTS_KEYS, MEASURED):
        remembered.connect(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
