"""Execute notebooks in parallel kernels and say which of their cells went wrong.

Knows nothing of Sphinx: notebooks in, executed notebooks and problems out. ``keyed_execution``
uses it for the book, and the tests call it directly.
"""

import asyncio
import atexit
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

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
}

#: Each kernel would otherwise print a warning that it talks over a socket of this machine.
QUIETLY = ("--IPKernelApp.log_level=CRITICAL",)


@dataclass(frozen=True)
class Problem:
    """What went wrong in one cell."""

    cell: int  # counted from 1, code cells only
    first_line: str
    error: str

    def __str__(self) -> str:
        return f"cell {self.cell} ({self.first_line!r}): {self.error}"


@dataclass
class Run:
    """One notebook to execute in ``folder``; afterwards its seconds and problems."""

    name: str
    notebook: NotebookNode
    folder: Path
    timeout: int = 1800
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)


def kernel_environment(scratch: Path, source: Path) -> dict[str, str]:
    """Return the kernels' environment: nothing of the user's IPython or matplotlib settings.

    Args:
        scratch: a folder for the kernels' own files.
        source: the folder that holds the package; it is imported from there, not from another
            installed copy, so that what runs is what was hashed.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    settings = scratch / "matplotlibrc"
    settings.touch()
    path = os.pathsep.join(p for p in (str(source), os.environ.get("PYTHONPATH")) if p)
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


def describe_error(output: NotebookNode) -> str:
    """Return an error's type and message, and the cell's line that it came from."""
    error = f"{output.ename}: {output.evalue}".removesuffix(": ")
    line = FAILING_LINE.search(ANSI.sub("", "\n".join(output.traceback)))
    return f"{error} (line {line[1]}: {line[2].strip()})" if line else error


def problems_in_outputs(notebook: NotebookNode) -> list[Problem]:
    """Find the cells that raised, that wrote to stderr, or whose output could not be displayed."""
    problems = []
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code_cells, start=1):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                # Also a failing repr: IPython reports it beside a cell that "succeeded".
                error = describe_error(output)
            elif output.output_type == "stream" and output.name == "stderr":
                error = f"wrote to stderr: {output.text.strip()}"
            else:
                continue
            problems.append(Problem(number, first_line(cell.source), ANSI.sub("", error)))
    return problems


async def execute(run: Run, environment: dict[str, str]) -> None:
    """Execute one notebook in a kernel of its own; fill in its seconds and problems."""
    start = time.perf_counter()
    client = NotebookClient(
        run.notebook, timeout=run.timeout, kernel_name="python3", extra_arguments=list(QUIETLY)
    )
    other = []
    try:
        await client.async_execute(cwd=str(run.folder), env=environment)
    except CellExecutionError:
        pass  # the error stands among the outputs
    except Exception as error:  # a dead kernel, a timeout, no kernel at all
        number = max(1, client.code_cells_executed)
        code = [c.source for c in run.notebook.cells if c.cell_type == "code"]
        source = code[number - 1] if number <= len(code) else ""
        message = f"{type(error).__name__}: {str(error).strip() or 'the kernel did not answer'}"
        other = [Problem(number, first_line(source), message)]
    finally:
        # nbclient leaves this behind if the kernel never answered; at exit it would fail
        atexit.unregister(client._cleanup_kernel)
    run.seconds = time.perf_counter() - start
    beside = {problem.cell for problem in other}
    found = [p for p in problems_in_outputs(run.notebook) if p.cell not in beside]
    run.problems = found + other


async def _execute_all(
    runs: list[Run], environment: dict[str, str], jobs: int, done: Callable[[Run], None]
) -> None:
    places = asyncio.Semaphore(jobs)

    async def one(run: Run) -> None:
        async with places:
            await execute(run, environment)
            done(run)

    await asyncio.gather(*(one(run) for run in runs))


def execute_all(
    runs: list[Run], environment: dict[str, str], *, jobs: int, done: Callable[[Run], None]
) -> None:
    """Execute the notebooks, ``jobs`` at a time; call ``done`` as each finishes.

    The event loop lives in a thread: there nbclient leaves Ctrl-C alone, and the main thread can
    stop every kernel before it passes the interruption on.
    """
    loop = asyncio.SelectorEventLoop() if sys.platform == "win32" else asyncio.new_event_loop()
    task = loop.create_task(_execute_all(runs, environment, jobs, done))

    def work() -> None:
        with suppress(asyncio.CancelledError, Exception):  # raised again below, by task.result()
            loop.run_until_complete(task)

    thread = Thread(target=work, name="kernels")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(timeout=0.2)
    except BaseException:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    finally:
        loop.close()
    task.result()
