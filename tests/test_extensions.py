"""The packages of the book's build, book/_ext: who may import whom, read from the imports."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import yaml
from offenders import no_offenders

ROOT = Path(__file__).resolve().parents[1]
EXTENSIONS = ROOT / "book" / "_ext"

#: Each package, and the others that it may import. None imports the book's own package: a build
#: in which nothing changed loads neither it nor torch.
ARROWS: dict[str, set[str]] = {
    "bilingual": set(),
    "evidence": {"bilingual"},
    "reference": {"bilingual"},
    "website": {"bilingual", "evidence"},
    "lesson": {"bilingual", "evidence"},
    "live": {"bilingual", "evidence"},
    "questions": {"bilingual", "live"},
    "page_python": {"bilingual", "evidence"},
}


def modules() -> dict[str, ast.Module]:
    """Every module below book/_ext by its full name."""
    found = {}
    for path in sorted(EXTENSIONS.rglob("*.py")):
        parts = path.relative_to(EXTENSIONS).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = ast.parse(path.read_text(encoding="utf8"))
    return found


MODULES = modules()


def imported(tree: ast.Module) -> set[str]:
    """What a module imports, with every name after `from a import` as a.name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the import out from the package on"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def of_ours(name: str) -> str | None:
    """The module of ours that an imported name is, or stands in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def package(name: str) -> str:
    return name.partition(".")[0]


def test_the_packages_are_those_of_the_settings() -> None:
    config = yaml.safe_load((ROOT / "book/_config.yml").read_text(encoding="utf8"))
    folders = {path.name for path in EXTENSIONS.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(ARROWS) == set(config["sphinx"]["local_extensions"])
    assert {package(name) for name in MODULES} == set(ARROWS), "a module outside the packages"


def test_imports_follow_the_arrows() -> None:
    def check(name: str) -> None:
        allowed = ARROWS[package(name)] | {package(name)}
        wrong = {each for each in imported(MODULES[name]) if of_ours(each)}
        wrong = {each for each in wrong if package(each) not in allowed}
        wrong |= {each for each in imported(MODULES[name]) if package(each) == "attention_book"}
        assert not wrong, f"imports {sorted(wrong)}, may import from {sorted(allowed)} alone"

    no_offenders(check, MODULES)


def test_imports_run_in_no_circle() -> None:
    arrows = {
        name: {own for each in imported(tree) if (own := of_ours(each)) and own != name}
        for name, tree in MODULES.items()
    }
    assert list(TopologicalSorter(arrows).static_order())  # raises CycleError


def test_a_module_says_what_it_holds_in_one_line() -> None:
    firsts = {
        name: (ast.get_docstring(tree) or "").partition("\n")[0] for name, tree in MODULES.items()
    }
    assert {name: line for name, line in firsts.items() if not line.endswith((".", "?"))} == {}


def test_a_package_tells_its_job() -> None:
    def check(name: str) -> None:
        text, folder = (EXTENSIONS / name / "README.md").read_text("utf8"), EXTENSIONS / name
        assert text.startswith(f"# {name}\n"), "its README begins with its name"
        parts = [path for path in folder.iterdir() if path.suffix == ".py"]
        parts += [path for path in folder.iterdir() if (path / "__init__.py").is_file()]
        missing = [path.stem for path in parts if path.stem != "__init__" and path.stem not in text]
        assert not missing, f"its README does not name {missing}"

    no_offenders(check, ARROWS)
