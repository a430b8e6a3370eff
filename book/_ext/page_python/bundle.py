"""Packs the book's package and the page's torch, as the sources that they are, for the page.

A page imports what a reader asks for and nothing else: packages import what they export when it is
asked for, and the exercises of a subject come with the first one that is checked.
"""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Container, Iterator
from pathlib import Path

#: What a page has no use for: the command, trainings in folders, what runs in a page already, the
#: grader.
LEFT_OUT = ("cli", "runs", "live", "conformance", "plotting", "course/grading")
CATALOGUE = "attention_book.course.exercises.catalogue"
CHECKING = "attention_book/course/exercises/checking.py"
INSIDE = Path(__file__).parent / "inside"
#: What the package reads at run time of what a page uses, beside its modules.
DATA = ("course/own_file/steps.toml", "course/own_file/my_attention.txt")

LAZY = """
_WHERE = {where!r}


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    from importlib import import_module

    module, own = _WHERE[name]
    value = globals()[name] = getattr(import_module(module), own)
    return value
"""
REGISTRY = """
class _Exercises(Mapping):
    where = {where!r}

    def __getitem__(self, name):
        from importlib import import_module

        found = import_module("{catalogue}." + self.where[name]).EXERCISES
        return next(each for each in found if each.name == name)

    def __iter__(self):
        return iter(self.where)

    def __len__(self):
        return len(self.where)


EXERCISES = _Exercises()
"""


def bundle(package: Path, torch: Path) -> bytes:
    """Return an archive with the package, the page's torch, and what runs a reader's code."""
    files = {f"attention_book/{name}": text for name, text in sources(package, LEFT_OUT)}
    files |= {name: lazily(name, text, files) for name, text in files.items()}
    files[CHECKING] = with_lazy_registry(files[CHECKING], exercises_of(package))
    files |= {f"attention_book/{name}": (package / name).read_text("utf8") for name in DATA}
    files |= {f"torch/{name}": text for name, text in sources(torch)}
    files |= dict(sources(INSIDE))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sorted(files.items()):  # the same bytes on every day
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text.encode())
    return packed.getvalue()


def paths(package: Path, torch: Path) -> list[Path]:
    """Return all files that the archive is made of."""
    folders = (package, torch, INSIDE)
    found = [path for folder in folders for path in folder.rglob("*.py")]
    return sorted([*found, *(package / name for name in DATA)])


def sources(folder: Path, left_out: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each module below a folder."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if not any(name.is_relative_to(each) for each in left_out):
            yield name.as_posix(), path.read_text(encoding="utf8")


def lazily(name: str, text: str, files: Container[str]) -> str:
    """Return a package's ``__init__`` that imports what it exports when it is asked for.

    A package that does more stays as it is. What is called as the module that it is from is
    imported at once: the module would take its place.
    """
    folder, _, file = name.rpartition("/")
    if file != "__init__.py":
        return text
    lines, where = text.split("\n"), {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attention_book"):
            names = [alias.asname or alias.name for alias in node.names]
            if any(
                f"{folder}/{n}.py" in files or f"{folder}/{n}/__init__.py" in files for n in names
            ):
                continue
            for alias in node.names:
                where[alias.asname or alias.name] = (node.module, alias.name)
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [""] * (last - first)
        elif not isinstance(node, ast.Expr | ast.Assign):
            return text
    return "\n".join(lines) + LAZY.format(where=where) if where else text


def exercises_of(package: Path) -> dict[str, str]:
    """Return the module of the catalogue that each exercise stands in, read from its text."""
    folder = package / "course" / "exercises" / "catalogue"
    found = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "exercise":
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{path.name}:{node.lineno}"
                found[str(name.value)] = path.stem
    return found


def with_lazy_registry(text: str, where: dict[str, str]) -> str:
    """Return the module of ``check`` with a registry that imports a subject when it is asked for.

    Its other lines keep their numbers.
    """
    lines = text.split("\n")
    for node in ast.parse(text).body:
        of_all = isinstance(node, ast.ImportFrom) and node.module == CATALOGUE
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if of_all or getattr(target, "id", "") in ("SUBJECTS", "EXERCISES"):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(lines) + REGISTRY.format(where=where, catalogue=CATALOGUE)
