"""The package's public names, read from its source without importing it.

A build in which nothing changed must not load torch, and the names are needed then: to link
the chapters to the reference, and to check that the reference is complete.
"""

import ast
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

#: Public modules that are neither packages nor at the top level.
DEEPER_MODULES = (
    "conformance.reference",
    "course.configs",
    "course.datasets",
    "course.notebook",
    "course.questions",
    "course.recorded",
    "foundations.shapes",
)


@dataclass(frozen=True)
class Definition:
    """Where a public name is written down."""

    file: Path
    node: ast.stmt

    @property
    def kind(self) -> str:
        if isinstance(self.node, ast.ClassDef):
            return "class"
        return "function" if isinstance(self.node, ast.FunctionDef) else "data"

    def value(self) -> str:
        """Return what is assigned to the name, as it is written; "" for a class or function."""
        assigned = getattr(self.node, "value", None)
        return ast.unparse(assigned) if assigned is not None else ""

    def first_line(self) -> str:
        """Return the docstring's first line, or the line of the ``#:`` comment above."""
        if isinstance(self.node, ast.ClassDef | ast.FunctionDef):
            return (ast.get_docstring(self.node) or "").partition("\n")[0]
        lines = self.file.read_text(encoding="utf8").splitlines()
        above = takewhile(
            lambda line: line.startswith("#:"), reversed(lines[: self.node.lineno - 1])
        )
        return " ".join(line.removeprefix("#:").strip() for line in reversed(list(above)))


def module_tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf8"))


def listed_names(tree: ast.Module) -> list[str]:
    """Return the names in ``__all__``; without one, the public classes and functions."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and _targets(node) == ["__all__"]:
            return list(ast.literal_eval(node.value or ast.List([])))
    defined = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    return [name for name in defined if not name.startswith("_")]


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def find_definition(file: Path, name: str, source: Path) -> Definition:
    """Return where ``name``, which ``file`` offers, is defined; follow its imports."""
    for node in module_tree(file).body:
        if getattr(node, "name", None) == name or name in _targets(node):
            return Definition(file, node)
        if isinstance(node, ast.ImportFrom) and name in [a.asname or a.name for a in node.names]:
            return find_definition(module_file(node.module or "", source), name, source)
    raise LookupError(f"{name} is in __all__ of {file} but not defined there")


def module_file(module: str, source: Path) -> Path:
    """Return the file of a module of the package that lies in ``source``."""
    path = source.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def public_modules(package: str, source: Path) -> list[str]:
    """Return the package, its packages and top-level modules, and the listed deeper ones."""
    root = source / package
    packages = [p.parent for p in root.rglob("__init__.py")]
    names = [".".join(p.relative_to(source).parts) for p in packages]
    names += [f"{package}.{p.stem}" for p in root.glob("*.py") if p.stem != "__init__"]
    names += [f"{package}.{m}" for m in DEEPER_MODULES]
    return sorted(n for n in names if module_file(n, source).is_file())


def public_names(package: str, source: Path) -> dict[str, Definition]:
    """Return each public object once, under the shortest name that it is offered by."""
    found: dict[str, Definition] = {}
    homes: dict[tuple[Path, str], str] = {}
    for module in sorted(public_modules(package, source), key=lambda m: (m.count("."), m)):
        file = module_file(module, source)
        for name in listed_names(module_tree(file)):
            definition = find_definition(file, name, source)
            if homes.setdefault((definition.file, name), module) == module:
                found[f"{module}.{name}"] = definition
    return found


def written_signature(node: ast.stmt) -> tuple[str, str] | None:
    """Return a function's or a class's signature as it stands in the source.

    At run time a shape's name is gone: ``Scores`` and ``Weights`` are the same object.
    """
    if isinstance(node, ast.ClassDef):
        return _class_signature(node)
    if not isinstance(node, ast.FunctionDef):
        return None
    arguments = node.args
    for group in (arguments.posonlyargs, arguments.args):
        if group and group[0].arg in ("self", "cls"):
            del group[0]
            break
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(arguments)})", returns.removeprefix(" -> ")


def _class_signature(node: ast.ClassDef) -> tuple[str, str]:
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            signature = written_signature(member)
            return (signature[0], "") if signature else ("()", "")
    if any("Protocol" in ast.unparse(base) for base in node.bases):
        return "", ""
    fields = [ast.unparse(m) for m in node.body if isinstance(m, ast.AnnAssign)]
    decorators = [ast.unparse(each) for each in node.decorator_list]
    is_dataclass = any("dataclass" in each for each in decorators)
    if any("dataclass" in each and "kw_only=True" in each for each in decorators):
        fields.insert(0, "*")
    return (f"({', '.join(fields)})" if is_dataclass else "()"), ""
