"""``%%own_file 3``: a cell of a notebook whose definitions go into the reader's own file.

``%load_ext attention_book.course.own_file.in_notebook`` brings it. What stands in the cell comes
into ``my_attention.py``, each definition in the place of the one with its name, and the file is
checked. Whoever runs a chapter again loses nothing: an empty cell only checks, a file that has
gone beyond the step keeps its own definitions, and what was replaced stands in
``my_attention.before.py``.
"""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attention_book.course.exercises.verdict import reader_language
from attention_book.course.own_file.checking import FILE, check_file, reached
from attention_book.course.own_file.loading import Unreadable, load_tree
from attention_book.course.own_file.source import LAST
from attention_book.course.own_file.verdict import FileVerdict, verdict_on
from attention_book.foundations.bilingual import Bilingual

#: Where the file is kept as it was before the last change.
BEFORE = "my_attention.before.py"
#: What stands in a cell in which nothing has been written yet.
STUB = Bilingual(
    "# 写在这里再运行：这些定义会进入 my_attention.py（同名的被换掉，其余不动），然后检查。\n"
    "# 也可以直接改那份文件；这一格空着运行，就只检查。",
    "# Write here and run: the definitions go into my_attention.py (those with the same name are\n"
    "# replaced, nothing else is touched), and the file is checked. Or edit the file itself: an\n"
    "# empty cell only checks it.",
)


@dataclass
class Merged:
    """A file into which a cell has come.

    Attributes:
        text: the file.
        replaced: the definitions that took the place of others.
        kept: the definitions of the file that were left in the place of the cell's.
    """

    text: str
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def merge(file: str, cell: str, *, replace: bool = True) -> Merged:
    """Bring the imports, definitions and assignments of a cell into a file.

    Args:
        file: the file's text.
        cell: the cell's; what it does besides is no part of the file.
        replace: whether a definition takes the place of another one with its name.

    Raises:
        Unreadable: if one of the two is no Python.
    """
    lines = cell.splitlines()
    found, end = Merged(file), 0
    for node in load_tree(cell).body:
        first, last = _span(node)
        comments = [line for line in lines[end:first] if line.strip()]
        own, end = "\n".join([*comments, *lines[first:last]]), last
        name = _name(node)
        if name is not None:
            _bring(found, name, own, isinstance(node, ast.Import | ast.ImportFrom), replace)
    return found


def _bring(found: Merged, name: str, own: str, is_import: bool, replace: bool) -> None:
    """Bring one definition, with the comments above it, into the file."""
    body = load_tree(found.text).body
    lines = found.text.rstrip().splitlines()
    there = next((node for node in body if _name(node) == name), None)
    if there is None:
        imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        if is_import and (imports or body):
            place = _span(imports[-1])[1] if imports else _span(body[0])[0]
            lines[place:place] = [own] if imports else [own, "", ""]
        else:
            gap = [] if not lines else [""] if is_import else ["", ""]
            lines += [*gap, own]
    else:
        first, last = _span(there)
        old = "\n".join(lines[first:last])
        if old == own or ast.dump(ast.parse(old)) == ast.dump(ast.parse(own)):
            return
        if not replace:
            found.kept.append(name)
            return
        found.replaced.append(name)
        lines[first:last] = own.splitlines()
    found.text = "\n".join(lines) + "\n"


def _name(node: ast.stmt) -> str | None:
    """Return what a statement defines, as text that tells it from others; None: nothing."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Import | ast.ImportFrom):
        return ast.unparse(node)
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else None


def _span(node: ast.stmt) -> tuple[int, int]:
    """Return where a statement stands among the lines, its decorators with it."""
    above = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in above)])
    return first - 1, node.end_lineno or node.lineno


def own_file(line: str, cell: str) -> FileVerdict | None:
    """Bring a cell into the reader's own file, and check it up to a step.

    Args:
        line: the step, and ``--replace`` to change definitions of a file that has gone beyond it.
        cell: what the reader wrote.

    Returns:
        The verdict on the file; None if there is no file yet.

    Raises:
        ValueError: if the line names no step.
    """
    words = line.split()
    number = words[0] if words else ""
    if words[1:] not in ([], ["--replace"]) or not number.isascii() or not number.isdigit():
        raise ValueError(f"%%own_file: expected a step from 1 to {LAST}, got {line!r}")
    step, path = int(number), Path(FILE)
    if not 1 <= step <= LAST:
        raise ValueError(f"%%own_file: expected a step from 1 to {LAST}, got {step}")
    is_empty = not re.sub(r"^\s*#.*$", "", cell, flags=re.M).strip()
    if not is_empty:
        refusal = _write(path, cell, step, replace="--replace" in words)
        if refusal is not None:
            return refusal
    if not path.exists():
        _say(
            f"还没有 `{FILE}`。在这一格写下第 {step} 步再运行；跳过了前面，就先运行"
            f" `!attention-book course step {max(step - 1, 1)} --out {FILE}`。",
            f"There is no `{FILE}` yet. Write step {step} in this cell and run it; if you skipped"
            f" what comes before, first run"
            f" `!attention-book course step {max(step - 1, 1)} --out {FILE}`.",
        )
        return None
    return check_file(step, path)


def _write(path: Path, cell: str, step: int, *, replace: bool) -> FileVerdict | None:
    """Bring a cell into the file; return a verdict where one of the two cannot be read."""
    old = path.read_text(encoding="utf-8").removeprefix("\ufeff") if path.exists() else ""
    beyond = reached(old) > step
    name = FILE
    try:
        load_tree(old)
        name = f"%%own_file {step}"
        found = merge(old, cell, replace=replace or not beyond)
    except Unreadable as error:
        return verdict_on(name, step, 0, error.trouble, None)
    if found.kept:
        names = ", ".join(f"`{each}`" for each in found.kept)
        _say(
            f"`{FILE}` 已经写到第 {reached(old)} 步，里面的 {names} 没有动。"
            f"真要换成这一格里的，第一行写成 `%%own_file {step} --replace`。",
            f"`{FILE}` has reached step {reached(old)}, and the file kept its own {names}. To use"
            f" what this cell has instead, begin the cell with `%%own_file {step} --replace`.",
        )
    if found.text == old:
        return None
    if found.replaced:
        path.with_name(BEFORE).write_text(old, encoding="utf8")
        names = ", ".join(f"`{each}`" for each in found.replaced)
        _say(
            f"{names} 换成了这一格里的；先前的整份文件在 `{BEFORE}`。",
            f"Replaced: {names}. The whole file as it was is in `{BEFORE}`.",
        )
    path.write_text(found.text, encoding="utf8")
    return None


def _say(zh: str, en: str) -> None:
    print(Bilingual(zh, en).text(reader_language()))


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic; called by ``%load_ext``."""
    shell.register_magic_function(own_file, "cell", "own_file")
