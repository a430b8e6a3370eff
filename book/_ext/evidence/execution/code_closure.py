"""The code of the package that a piece of code can run, found by following its imports.

``from attention_book.attention import DotProductAttention`` leads to the module that defines the
class, to what that module imports, and so on; not to the rest of the folder. The digest of what
was reached leaves out docstrings and comments: to change them executes nothing again.
This module knows nothing of Sphinx.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

#: A training's own code. The recipes' settings don't count: each model's file is named by them.
TRAINING = "from attention_book.course.recipes import trained"
SETTINGS = ("attention_book.course.recipes.named",)

#: What makes a label of a figure, in two languages.
LABEL = "L"

#: Cells that use one of these may show a docstring: for them the text of the code counts.
SHOWS_SOURCE = ("show_source", "getsource", "__doc__", "help(")


class Name(NamedTuple):
    """A name in a module; None stands for all that the module has."""

    module: str
    attribute: str | None


class Module:
    """One source file: its imports and its digests."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf8")
        self.is_package = path.name == "__init__.py"
        self.tree = ast.parse(self.text)

    @cached_property
    def code(self) -> str:
        """The syntax without docstrings and comments; of a package also without its imports."""
        tree = ast.parse(self.text)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and is_text(body[0]):
                body[0] = ast.Pass()
        if self.is_package:
            tree.body = [node for node in tree.body if not is_front_door(node)]
        return ast.dump(tree)

    @cached_property
    def names(self) -> set[str]:
        """What the module itself defines or assigns at its top level."""
        found = set()
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            for target in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign) else ():
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    found.add(target.id)
        return found


def digest_of_cells(cells: Iterable[str]) -> str:
    """Return a digest of what a page's cells do.

    Comments, docstrings, line breaks, the words of a figure's labels, ``L("…", "…")``, where its
    legend stands, ``legend="…"``, and the places from which names are imported don't count: a
    module that moves changes no experiment, nor does a legend that says it better or elsewhere.
    """
    return hashlib.sha256("\n\0".join(map(_deeds, cells)).encode()).hexdigest()[:12]


def _deeds(cell: str) -> str:
    try:
        body = ast.parse(cell).body
    except SyntaxError:  # a cell's magic
        return cell
    kept = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.unparse(_WithoutWords().visit(ast.Module(kept, type_ignores=[])))


class _WithoutWords(ast.NodeTransformer):
    """Empties every label in two languages and every docstring; takes away a legend's place."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if is_text(node.body[0]):
            node.body[0] = ast.Pass()
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.keywords = [each for each in node.keywords if each.arg != "legend"]
        if isinstance(node.func, ast.Name) and node.func.id == LABEL:
            node.args = [each for each in node.args if not isinstance(each, ast.Constant)]
        return node


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a string alone, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def is_front_door(node: ast.stmt) -> bool:
    """Whether a statement only lists what a package offers."""
    if isinstance(node, ast.Assign):
        return any(isinstance(name, ast.Name) and name.id == "__all__" for name in node.targets)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)


class Package:
    """The modules below a source folder, and what can be reached from a piece of code."""

    def __init__(self, source: Path) -> None:
        self.modules: dict[str, Module] = {}
        self.arrows: dict[str, tuple[Name, ...]] = {}  # found so far
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            if parts[-1] == "__init__":
                parts = parts[:-1]
            self.modules[".".join(parts)] = Module(path)

    def key(self, code: Iterable[str], *, without: Iterable[str] = ()) -> str:
        """Return the digest of all that some code, such as a notebook's cells, can run.

        Code that is no plain Python (a cell's magic) may run everything. ``without``: modules
        that don't count.
        """
        pieces = list(code)
        reached: set[str] = set()
        for piece in pieces:
            try:
                reached |= self.reached(ast.parse(piece))
            except SyntaxError:
                reached = set(self.modules)
        as_text = any(sign in piece for piece in pieces for sign in SHOWS_SOURCE)
        digest = hashlib.sha256()
        for name in sorted(reached - set(without)):
            module = self.modules[name]
            digest.update(f"{name}\0{module.text if as_text else module.code}\0".encode())
        return digest.hexdigest()

    @property
    def training_key(self) -> str:
        """The digest of all that the training of a recipe can run."""
        return self.key([TRAINING], without=SETTINGS)

    def reached(self, tree: ast.AST) -> set[str]:
        """Return the modules that a piece of code can run, by name."""
        waiting = list(self.imports(tree))
        seen: set[Name] = set()
        modules: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen or name.module not in self.modules:
                continue
            seen.add(name)
            parts = name.module.split(".")
            modules |= {".".join(parts[: n + 1]) for n in range(len(parts))} & set(self.modules)
            waiting += self.behind(name)
        return modules

    def behind(self, name: Name) -> Iterator[Name]:
        """Yield what a name of a module leads to."""
        module = self.modules[name.module]
        submodule = f"{name.module}.{name.attribute}"
        if not module.is_package or name.attribute is None or name.attribute in module.names:
            if name.module not in self.arrows:
                self.arrows[name.module] = tuple(self.imports(module.tree))
            yield from self.arrows[name.module]
        elif submodule in self.modules:
            yield Name(submodule, None)
        else:
            for node in module.tree.body:
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        if (alias.asname or alias.name) == name.attribute:
                            yield Name(str(node.module), alias.name)

    def imports(self, tree: ast.AST) -> Iterator[Name]:
        """Yield the package's names that some code imports, wherever in it."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self.used(tree, alias.asname or "", alias.name)
            elif isinstance(node, ast.ImportFrom) and node.module in self.modules:
                for alias in node.names:
                    module = f"{node.module}.{alias.name}"
                    if alias.name == "*":
                        yield Name(str(node.module), None)
                    elif module in self.modules:
                        yield from self.used(tree, alias.asname or alias.name, module)
                    else:
                        yield Name(str(node.module), alias.name)

    def used(self, tree: ast.AST, name: str, module: str) -> Iterator[Name]:
        """Yield what is used of an imported module: its attributes, or all of it."""
        if module not in self.modules:
            return
        attributes = [
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        ]
        uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
        if not self.modules[module].is_package or uses > len(attributes) or not attributes:
            yield Name(module, None)
        for attribute in attributes:
            yield Name(module, attribute)
