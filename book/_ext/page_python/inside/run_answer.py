"""Runs what a reader wrote in the page's Python, as a notebook runs a cell.

The value of the last line is shown, errors are told with the reader's own line. When the time is
up, the worker interrupts Python (worker.js), as Ctrl+C does in a terminal.
"""

import ast
import builtins
import html
import importlib
import io
import linecache
import os
import sys
import time
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

#: What the reader's code is called in tracebacks.
FILE = "<answer>"
#: Stands ready in every cell, as in the chapters' first one.
PRELUDE = """
import math
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from attention_book.course.exercises import check
"""
#: Characters that are shown of what a cell prints; the rest is counted.
SHOWN = 20_000
#: Columns of a value's text, as in a notebook.
COLUMNS = 80
#: Seconds between two messages to the page.
PAUSE = 0.1
#: Names that a page hands over: where each is imported from.
Names = Mapping[str, tuple[str, str]]

_space: dict[str, Any] = {}


def warm_up() -> None:
    """Import what every answer needs."""
    os.environ["ATTENTION_BOOK_BUILD"] = "1"  # verdicts in both languages at once
    sys.setrecursionlimit(600)  # Python's own error comes before the browser's stack ends
    exec(PRELUDE, _space)


class Printed(io.TextIOBase):
    """What a cell prints: handed over every tenth of a second, and no more than anybody reads."""

    def __init__(self, send: Callable[[str], Any]) -> None:
        self.send, self.waiting, self.sent_at = send, "", 0.0
        self.count = 0

    def write(self, text: str) -> int:
        if self.count < SHOWN:
            self.waiting += text[: SHOWN - self.count]
            if time.perf_counter() - self.sent_at > PAUSE:
                self.hand_over()
        self.count += len(text)
        return len(text)

    def hand_over(self) -> None:
        if self.waiting:
            self.send(self.waiting)
        self.waiting, self.sent_at = "", time.perf_counter()

    def writable(self) -> bool:
        return True


def run(source: str, names: Names, send: Callable[[str], Any], first: str = "") -> dict[str, Any]:
    """Run a cell; return what the page is to show.

    Args:
        source: the cell.
        names: what the cells of its page import, by name; what the cell uses of it is imported.
        send: is called with what the cell prints.
        first: how the page's first cell has tensors printed, a line of code; "" if as PyTorch does.

    Returns:
        `html`, the value of the last line; `error` with `kind`, `message`, `line` and `lines`, the
        reader's own on the way to it, and with `zh` and `en`, if it speaks both languages;
        `missing`, what of PyTorch the page lacks and was asked for; `left_out`, how many printed
        characters are not shown. An error of the kind KeyboardInterrupt means that the time was up.
    """
    asked: list[str] = sys.modules["torch._missing"].asked
    asked.clear()
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    found: dict[str, Any] = {"html": "", "error": None}
    printed, usual = Printed(send), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = printed
    try:
        sys.modules["torch"].set_printoptions(profile="default")
        exec(first, dict(_space))
        body, last = parts(source)
        space = {"__name__": "__main__", "__builtins__": builtins, **_space}
        space |= imported(source, names)
        if body is not None:
            exec(body, space)
        if last is not None:
            value = eval(last, space)
            found["html"] = shown(value)
    except BaseException as error:  # KeyboardInterrupt (time is up) and SystemExit as well
        found["error"] = told(error)
    finally:
        printed.hand_over()
        sys.stdout, sys.stderr = usual
    found["left_out"] = max(0, printed.count - SHOWN)
    found["missing"] = list(dict.fromkeys(asked))
    return found


def parts(source: str) -> tuple[CodeType | None, CodeType | None]:
    """Compile all but the last expression, and that one apart, as a notebook does."""
    tree, last = ast.parse(source, FILE), None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        expression = tree.body.pop()
        assert isinstance(expression, ast.Expr)
        last = compile(ast.Expression(expression.value), FILE, "eval")
    return compile(tree, FILE, "exec") if tree.body else None, last


def imported(source: str, names: Names) -> dict[str, Any]:
    """Import those of the page's names that a cell uses, and that there are in a page."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in names and node.id not in _space:
            module, name = names[node.id]
            try:
                value = importlib.import_module(module)
                found[node.id] = getattr(value, name) if name else value
            except (ImportError, AttributeError):
                sys.modules["torch._missing"].asked.append(f"{module}.{name}".strip("."))
    return found


def shown(value: Any) -> str:
    """Return a value as HTML: a verdict as in a notebook, anything else as text."""
    if value is None:
        return ""
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    return f"<pre tabindex='0'>{html.escape(written(value)[:SHOWN])}</pre>"


def written(value: Any) -> str:
    """Return a value as the book's cells show it: six digits; what is too long, an item a line."""
    if isinstance(value, float):
        return repr(float(f"{value:.6g}"))
    if type(value) not in (tuple, list) or not value:
        return repr(value)
    items = [written(each) for each in value]
    text = ", ".join(items)
    if len(text) + 2 > COLUMNS or "\n" in text:
        text = ",\n ".join(each.replace("\n", "\n ") for each in items)
    if isinstance(value, list):
        return f"[{text}]"
    return f"({text},)" if len(items) == 1 else f"({text})"


def told(error: BaseException) -> dict[str, Any]:
    """Return an error with the reader's own lines on the way to it."""
    if isinstance(error, SyntaxError) and error.filename == FILE:
        text = (error.text or "").rstrip("\n")
        mark = " " * max(0, (error.offset or 1) - 1) + "^"
        return {
            "kind": type(error).__name__,
            "message": error.msg,
            "line": error.lineno,
            "lines": f"{text}\n{mark}",
        }
    numbers, step = [], error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == FILE:
            numbers.append(step.tb_lineno)
        step = step.tb_next
    lines = dict.fromkeys(f"{n:>4}: {linecache.getline(FILE, n).rstrip()}" for n in numbers)
    message = "" if isinstance(error, KeyboardInterrupt) else str(error)
    of_ours = {name: getattr(error, name) for name in ("zh", "en") if hasattr(error, name)}
    return {
        "kind": type(error).__name__,
        **of_ours,
        "message": message[:2000],
        "line": numbers[-1] if numbers else None,
        "lines": "\n".join(lines),
    }
