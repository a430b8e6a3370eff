"""Notebooks are executed in parallel kernels, and cells that went wrong are found.

This module knows nothing of Sphinx: it takes notebooks and returns problems. ``keyed_execution``
uses it for the book, and the tests call it directly.

The cells after a failing one run as well, so that every law that fails is found in one go; errors
that only follow from the first one are not reported.
"""

import asyncio
import atexit
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from evidence.execution.forked_kernels import SUPPORTED, KernelServer

ANSI = re.compile("\x1b\\[[0-9;]*m")
#: The line that IPython points at, in the cell itself (the first frame of its traceback).
FAILING_LINE = re.compile(r"^-+> *(\d+) (.*)$", re.M)

#: What makes a result depend on the machine is fixed: threads, hashing, the reader's settings.
FIXED_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "ATTENTION_BOOK_BUILD": "1",
    "ATTENTION_BOOK_STRICT": "1",  # the package checks the data too, not only their shapes
}

#: The type of output under which ``notebook.measure`` leaves a measurement.
MEASUREMENT_TYPE = "application/vnd.attention-book.measurement"

#: So many notebooks are worth a process that imports torch once for all of them.
FEWEST_TO_FORK = 3

#: Whether zmq has sockets that are files.
WITH_SOCKETS = sys.platform != "win32"

#: Each kernel would otherwise print a warning that it talks over a socket of this machine.
QUIETLY = ("--IPKernelApp.log_level=CRITICAL",)


#: What a reader of the notebooks has installed. What else the build and the tests have, no cell
#: may import.
READERS = ("attention-book[all]", "ipykernel")
#: Python reads a `sitecustomize` before anything else: here the hidden packages are not there.
HIDE = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {hidden!r}
        return None if hidden else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""


@dataclass(frozen=True)
class Problem:
    """What went wrong in one cell."""

    cell: int  # counted from 1, code cells only
    code: str  # the line it came from where that is known, else the cell's first line
    error: str
    line: int = 0  # within the cell, counted from 1; 0: not known

    def __str__(self) -> str:
        return f"cell {self.cell} ({self.code!r}): {self.error}"


@dataclass
class Run:
    """One notebook to execute in ``folder``; once it has ended, its seconds and problems."""

    name: str
    notebook: NotebookNode
    folder: Path
    timeout: int = 1800
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)
    ended: Event = field(default_factory=Event)


def required(wanted: Iterable[str]) -> set[str]:
    """Return what some requirements bring, by the metadata of what is installed: these included."""
    waiting = [Requirement(each) for each in wanted]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        one = waiting.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for each in map(Requirement, requirements_of(name)):
            asked = [{"extra": extra} for extra in extras or {""}]
            if each.marker is None or any(map(each.marker.evaluate, asked)):
                waiting.append(each)
    return {name for name, _ in seen}


def requirements_of(name: str) -> list[str]:
    """Return what an installed distribution asks for; nothing of one that is not installed."""
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        return []


@cache
def hidden_packages(readers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the packages that are installed here and that readers don't have, by import name."""
    theirs = required(readers)
    return tuple(
        package
        for package, distributions in sorted(packages_distributions().items())
        if theirs.isdisjoint(map(canonicalize_name, distributions))
    )


def kernel_environment(
    scratch: Path, source: Path, readers: Iterable[str] = READERS
) -> dict[str, str]:
    """Return the kernels' environment: nothing of the user's IPython or matplotlib settings.

    Args:
        scratch: a folder for the kernels' own files.
        source: the folder that holds the package; it is imported from there, not from another
            installed copy, so that what runs is what was hashed.
        readers: the requirements of whoever runs the notebooks; the cells can import what
            these bring and nothing else, so that what runs here runs for them.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    settings = scratch / "matplotlibrc"
    settings.touch()
    without = HIDE.replace("{hidden!r}", repr(set(hidden_packages(tuple(readers)))))
    (scratch / "sitecustomize.py").write_text(without, encoding="utf8")
    folders = (str(scratch), str(source), os.environ.get("PYTHONPATH"))
    path = os.pathsep.join(folder for folder in folders if folder)
    return {
        **os.environ,
        **FIXED_ENVIRONMENT,
        "PYTHONPATH": path,
        "IPYTHONDIR": str(scratch / "ipython"),
        "MATPLOTLIBRC": str(settings),
    }


def first_line(source: str) -> str:
    """Return a cell's first line of code."""
    lines = (line.strip() for line in source.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def problem_of_error(cell: int, source: str, output: NotebookNode) -> Problem:
    """Return an error's type, message and the cell's line that it came from."""
    error = f"{output.ename}: {output.evalue}".removesuffix(": ")
    line = FAILING_LINE.search(ANSI.sub("", "\n".join(output.traceback)))
    if line is None:
        return Problem(cell, first_line(source), ANSI.sub("", error))
    return Problem(cell, line[2].strip(), ANSI.sub("", error), int(line[1]))


def problems_in_outputs(notebook: NotebookNode) -> list[Problem]:
    """Find the cells that raised, that wrote to stderr, or whose output could not be displayed."""
    problems = []
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code_cells, start=1):
        for output in cell.get("outputs", []):
            if output.output_type == "error" and not may_raise(cell):
                # Also a failing repr: IPython reports it beside a cell that "succeeded".
                problems.append(problem_of_error(number, cell.source, output))
            elif output.output_type == "stream" and output.name == "stderr":
                error = f"wrote to stderr: {ANSI.sub('', output.text).strip()}"
                problems.append(Problem(number, first_line(cell.source), error))
    return without_consequences(problems)


def may_raise(cell: NotebookNode) -> bool:
    return "raises-exception" in cell.metadata.get("tags", [])


def without_consequences(problems: list[Problem]) -> list[Problem]:
    """Leave out the errors that may only be there because an earlier cell failed.

    A cell that failed leaves its names unset: what raises after it tells nothing new, unless it
    is an assertion of its own.
    """
    first = problems[0].cell if problems else 0
    return [p for p in problems if p.cell == first or p.error.startswith("AssertionError")]


def measurements_in(notebook: NotebookNode) -> list[dict[str, Any]]:
    """Return the measurements that the cells recorded, each with its cell, counted from 1."""
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        {"cell": number, **json.loads(output.data[MEASUREMENT_TYPE])}
        for number, cell in enumerate(code_cells, start=1)
        for output in cell.get("outputs", [])
        if MEASUREMENT_TYPE in output.get("data", {})
    ]


@asynccontextmanager
async def started_kernel(
    run: Run, environment: dict[str, str], server: KernelServer | None
) -> AsyncIterator[NotebookClient]:
    """Start a kernel for one notebook, yield what executes it there, end the kernel."""
    manager = AsyncKernelManager(kernel_name="python3")
    # Not beside the book: a socket's path has at most a hundred characters.
    with TemporaryDirectory(prefix="kernel-") as sockets:
        if WITH_SOCKETS:  # a port that is free now may be taken when the kernel asks for it
            manager.transport = "ipc"
            manager.ip = str(Path(sockets) / "kernel")
        if server:
            server.adopt(manager)
        channels = None
        try:
            await manager.start_kernel(
                cwd=str(run.folder), env=environment, extra_arguments=list(QUIETLY)
            )
            channels = manager.client()
            channels.start_channels()
            await channels.wait_for_ready(timeout=60)
            channels.allow_stdin = False
            client = NotebookClient(
                run.notebook, km=manager, timeout=run.timeout, allow_errors=True
            )
            client.kc = channels
            yield client
        finally:
            if channels:
                channels.stop_channels()
            await manager.shutdown_kernel(now=True)


async def execute(run: Run, environment: dict[str, str], server: KernelServer | None) -> None:
    """Execute one notebook in a kernel of its own; fill in its seconds and problems.

    Each cell's seconds stand in its metadata, under "seconds".
    """
    start = time.perf_counter()
    executed = 0
    other = []
    try:
        async with started_kernel(run, environment, server) as client:
            try:
                await client.async_execute()
            finally:
                executed = client.code_cells_executed
    except Exception as error:  # a dead kernel, a timeout, no kernel at all
        number = max(1, executed)
        code = [c.source for c in run.notebook.cells if c.cell_type == "code"]
        source = code[number - 1] if number <= len(code) else ""
        message = f"{type(error).__name__}: {str(error).strip() or 'the kernel did not answer'}"
        other = [Problem(number, first_line(source), message)]
    run.seconds = time.perf_counter() - start
    note_seconds(run.notebook)
    beside = {problem.cell for problem in other}
    found = [p for p in problems_in_outputs(run.notebook) if p.cell not in beside]
    run.problems = found + other


def note_seconds(notebook: NotebookNode) -> None:
    """Replace nbclient's four time stamps of each cell by the seconds that it took."""
    for cell in notebook.cells:
        stamps = cell.metadata.pop("execution", {})
        begin, end = stamps.get("iopub.status.busy"), stamps.get("shell.execute_reply")
        if begin and end:
            took = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
            cell.metadata["seconds"] = round(took.total_seconds(), 2)


async def _execute_all(
    runs: list[Run], environment: dict[str, str], jobs: int, done: Callable[[Run], None]
) -> None:
    places = asyncio.Semaphore(jobs)

    async def one(run: Run, server: KernelServer | None) -> None:
        async with places:
            await execute(run, environment, server)
            done(run)
            run.ended.set()

    forks = SUPPORTED and len(runs) >= FEWEST_TO_FORK
    with KernelServer(environment) if forks else nullcontext() as server:
        await asyncio.gather(*(one(run, server) for run in runs))


class Execution:
    """Notebooks that are being executed, ``jobs`` at a time, while the caller does other things.

    The event loop lives in a thread: there nbclient leaves Ctrl-C alone, and the main thread can
    stop every kernel before it passes the interruption on. ``done`` is called in that thread.
    """

    def __init__(
        self,
        runs: list[Run],
        environment: dict[str, str],
        *,
        jobs: int,
        done: Callable[[Run], None],
    ) -> None:
        self.runs = runs
        self.over = Event()  # a thread whose `join` is interrupted looks ended when it is not
        windows = sys.platform == "win32"  # zmq asks for this loop there
        loop = asyncio.SelectorEventLoop if windows else asyncio.new_event_loop
        self.runner = asyncio.Runner(loop_factory=loop)
        self.loop = self.runner.get_loop()
        self.task = self.loop.create_task(_execute_all(runs, environment, jobs, done))
        Thread(target=self._work, name="kernels", daemon=True).start()
        atexit.register(self.stop)

    def _work(self) -> None:
        try:
            with self.runner, suppress(asyncio.CancelledError, Exception):  # raised by `wait`
                self.loop.run_until_complete(self.task)
        finally:
            self.over.set()

    def wait(self, run: Run | None = None) -> None:
        """Return when a notebook, or each, has been executed; Ctrl-C meanwhile stops them all."""
        awaited = run.ended if run else self.over
        try:
            while not awaited.wait(0.1) and not self.over.is_set():
                pass
        except BaseException:
            self.stop()
            raise
        if self.over.is_set():
            atexit.unregister(self.stop)
            self.task.result()

    def stop(self) -> None:
        """End the kernels that still run, and wait for them to have ended."""
        # Before Python 3.12 asyncio can lose a cancellation that meets an answer: ask again.
        while not self.over.is_set():
            with suppress(RuntimeError):  # the loop has just been closed
                self.loop.call_soon_threadsafe(self.task.cancel)
            self.over.wait(10)
        atexit.unregister(self.stop)


def execute_all(
    runs: list[Run], environment: dict[str, str], *, jobs: int, done: Callable[[Run], None]
) -> None:
    """Execute the notebooks, ``jobs`` at a time; call ``done`` as each finishes."""
    Execution(runs, environment, jobs=jobs, done=done).wait()
