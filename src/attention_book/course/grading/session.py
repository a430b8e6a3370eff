"""In the child: a notebook's cells, and the `check` that hands their answers to the parent.

Nothing here is trusted, since a student's code runs in the same process; nothing here decides.
"""

import ast
import asyncio
import inspect
import linecache
import random
import sys
import threading
import time
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any

import torch

from attention_book.course.grading.peer import Peer
from attention_book.course.grading.wire import MOST_TEXT
from attention_book.course.time_limit import LIMIT, within

#: Magics whose line or cell is run as if they were not there.
_TIMERS = ("time", "timeit", "prun", "memit", "capture")


class Session:
    """The conversation with the parent, and where the notebook stands.

    Args:
        peer: The other side.
        package: Folder of the book, whose functions are noted where an answer calls them.
    """

    def __init__(self, peer: Peer, package: str) -> None:
        self.peer = peer
        self._called = peer.handlers["call"]
        peer.handlers.update(run=self.run, call=self._tried)
        self._package = package
        self._own = (f"{package}/course/grading/", f"{package}/course/time_limit.py")
        self._skipped_checks: set[tuple[int, int]] = set()
        self._cell = self._checks = 0
        self._thread = threading.get_ident()
        self._used: set[str] = set()

    def check(self, name: str, answer: Any) -> None:
        """Hand an answer over: it is tried here and judged there, before this returns.

        Raises:
            RuntimeError: if a thread of the notebook calls it.
        """
        if threading.get_ident() != self._thread:
            raise RuntimeError("check: expected a call from the cell itself, got one of a thread")
        place = self._cell, self._checks
        self._checks += 1
        if place in self._skipped_checks:
            return
        given = self.peer.export(answer) if callable(answer) else answer
        numbers, python = torch.get_rng_state(), random.getstate()
        torch.manual_seed(0)
        random.seed(0)
        self.peer.ask("check", str(name)[:100], given, list(place))
        torch.set_rng_state(numbers)
        random.setstate(python)

    def run(
        self, cells: list[str], skipped_cells: list[int], skipped_checks: list[Any]
    ) -> dict[str, Any]:
        """Run cells in order, as "restart and run all" does, but go on after an error."""
        self._skipped_checks = {(cell, number) for cell, number in skipped_checks}
        main = ModuleType("__main__")
        main.__dict__.update(__builtins__=__builtins__)
        sys.modules["__main__"] = main
        shell = Shell(main.__dict__)
        errors: dict[int, str] = {}
        for number, source in enumerate(cells):
            if number in skipped_cells:
                continue
            self._cell, self._checks = number, 0
            self.peer.tell("cell", number)
            try:
                run_cell(source, f"<cell {number}>", main.__dict__, shell)
            except BaseException as error:  # also SystemExit and KeyboardInterrupt
                errors[number] = f"{type(error).__name__}: {_text(error)}"
        return {"errors": errors, "commands": shell.refused[:20], "cpu": time.process_time()}

    def _tried(self, number: int, args: Any, keywords: Any, keep: bool) -> Any:
        """Try an answer within the time limit, and note which of the book's functions it calls."""
        self._used.clear()
        sys.setprofile(self._note)
        try:
            call, result, after, _ = within(
                LIMIT, lambda: self._called(number, args, keywords, keep)
            )
        finally:
            sys.setprofile(None)
        return call, result, after, sorted(self._used)[:10]

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self._package):
            return
        module = str(frame.f_globals.get("__name__", ""))
        if not code.co_name.startswith(("_", "<")) and not code.co_filename.startswith(self._own):
            self._used.add(f"{module}.{code.co_name}")


class Shell:
    """Stands for IPython where a cell asks for a magic or for a command of the system.

    Attributes:
        refused: What was asked for and not carried out.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        self.user_ns = space
        self.refused: list[str] = []

    def system(self, command: str) -> None:
        """Refuse a command of the system."""
        self.refused.append(f"!{command}"[:200])

    getoutput = system

    def run_line_magic(self, name: str, line: str, *_: Any, **__: Any) -> None:
        """Run what a timer would time; refuse the rest."""
        if name in _TIMERS:
            exec(compile(line, "<magic>", "exec"), self.user_ns)
        else:
            self.refused.append(f"%{name} {line}"[:200])

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """Run what a timer would time; refuse the rest."""
        if name in _TIMERS:
            run_cell(cell, "<magic cell>", self.user_ns, self)
        else:
            self.refused.append(f"%%{name} {line}"[:200])

    def __getattr__(self, name: str) -> Any:
        """Refuse the rest of IPython."""
        raise AttributeError(f"{name}: not while a notebook is graded")


def run_cell(source: str, name: str, space: dict[str, Any], shell: Shell) -> None:
    """Run one cell as a notebook does; the value of the last line is printed."""
    if _has_magic(source):
        source = _without_magics(source)
        space["get_ipython"] = lambda: shell
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    _finished(eval(_compiled(tree, name, "exec"), space))
    if isinstance(last, ast.Expr):
        value = _finished(eval(_compiled(ast.Expression(last.value), name, "eval"), space))
        if value is not None:
            print(repr(value)[:MOST_TEXT])


def _has_magic(source: str) -> bool:
    lines = source.splitlines()
    return any(
        line.lstrip()[:1] in ("%", "!", "?") or line.rstrip()[-1:] == "?" for line in lines
    ) or any(sign in source for sign in ("= !", "=!", "= %"))


def _compiled(tree: Any, name: str, mode: str) -> Any:
    return compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _finished(value: Any) -> Any:
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _without_magics(source: str) -> str:
    manager = import_module("IPython.core.inputtransformer2").TransformerManager()
    return str(manager.transform_cell(source))


def _text(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:
        return "?"


#: The session of this process; the parent's process has none.
current: Session | None = None
