"""Builds forked from one process that has already imported what every build imports.

A tiny book is built in a second, and a fresh Python takes two more to import Jupyter Book, Sphinx
and MyST-NB. Run as a script, this module is the process that imports them, once for all tests. It
reads requests from its input, one in a line, forks itself for each, and answers with the exit
status. A fork has nothing of the builds before it: what they changed went with their processes.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

#: Forking after such imports is sound on Linux; elsewhere each build is a process of its own.
SUPPORTED = sys.platform == "linux"
JUPYTER_BOOK = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]

#: What a build imports beside the extensions that Sphinx and Jupyter Book load in any case.
PRELOADED = (
    *("jupyter_book.cli.main", "jupyter_book.sphinx", "sphinx.builders.html", "bs4", "lxml.html"),
    *("myst_nb.sphinx_ext", "myst_parser.sphinx_ext.main", "sphinx_design.extension"),
    *("sphinx_jupyterbook_latex.events", "sphinx_external_toc.events", "linkify_it"),
    *("mdit_py_plugins.colon_fence", "mdit_py_plugins.dollarmath", "mdit_py_plugins.amsmath"),
    *("sphinx.ext.autodoc", "sphinx.ext.napoleon", "xml.sax.expatreader", "nbclient"),
)


def jupyter_book(
    arguments: list[str], folder: Path, environment: dict[str, str]
) -> tuple[int, str]:
    """Run the command `jupyter-book` in a folder; return its exit status and what it printed."""
    if not SUPPORTED:
        done = subprocess.run(
            [*JUPYTER_BOOK, *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr
    with tempfile.TemporaryDirectory() as place:
        files = [f"{place}/stdout", f"{place}/stderr"]
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": environment,
            "files": files,
        }
        status = warm_python().answer(request)
        return status, "".join(Path(file).read_text(encoding="utf8") for file in files)


@cache
def warm_python() -> WarmPython:
    """Return the process of this test session, started when it is first asked for."""
    return WarmPython()


class WarmPython:
    """The process that forks, as its parent sees it; it ends where its input does."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self.process.communicate)

    def answer(self, request: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


def serve() -> None:
    """Import, then fork for each request until there are no more."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # no build reads our input
    os.dup2(2, 1)  # or writes among our answers
    preload()
    gc.freeze()  # no build need search what was imported here for cycles
    for line in requests:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            requests.close()
            answers.close()
            build(request)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def preload() -> None:
    """Import what each build would import, and run none of it."""
    from jupyter_book.config import get_default_sphinx_config
    from sphinx.application import builtin_extensions

    extensions = [*builtin_extensions, *get_default_sphinx_config()["extensions"]]
    for name in (*extensions, *PRELOADED):
        import_module(name)


def build(request: dict[str, Any]) -> NoReturn:
    """Become a build: its folder, its environment, its output, the real command."""
    status: object = 1
    try:
        for number, file in enumerate(request["files"], start=1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv[:] = ["jupyter-book", *request["arguments"]]
        from jupyter_book.cli.main import main

        main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    serve()
