"""What is packed for the page: the same bytes each time, lazily imported, nothing too large."""

import ast
import gzip
import io
import sys
import zipfile

import pytest
from page_python import bundle, files

from attention_book.course.exercises import EXERCISES

LIMIT = 6e6
#: Modules in C that the book imports.
IN_THE_ENGINE = {*sys.builtin_module_names, "_random", "array", "math", "unicodedata", "zlib"}
#: A page downloads no corpus.
OF_NO_USE = {"http", "urllib"}
INIT = """\
from attention_book.a.b import (
    one,
    two as three,
)

__all__ = ["one"]
"""


@pytest.fixture(scope="module")
def packed():
    return bundle.bundle(files.PACKAGE, files.TORCH)


@pytest.fixture(scope="module")
def modules(packed):
    archive = zipfile.ZipFile(io.BytesIO(packed))
    names = [name for name in archive.namelist() if name.endswith(".py")]
    return {name: archive.read(name).decode() for name in names}


def test_a_second_time_gives_the_same_bytes(packed):
    assert bundle.bundle(files.PACKAGE, files.TORCH) == packed


def test_the_registry_of_the_page_knows_every_exercise(modules):
    found = bundle.exercises_of(files.PACKAGE)
    assert sorted(found) == sorted(EXERCISES)
    tree = ast.parse(modules[bundle.CHECKING])
    assert [n.name for n in tree.body if isinstance(n, ast.ClassDef)][-1] == "_Exercises"
    assert not [n for n in tree.body if getattr(n, "module", "") == bundle.CATALOGUE]


def test_a_package_gives_what_it_exports_when_it_is_asked():
    lazy = bundle.lazily("attention_book/a/__init__.py", INIT, {"attention_book/a/b.py": ""})
    space = {}
    exec(lazy, space)
    assert space["_WHERE"] == {
        "one": ("attention_book.a.b", "one"),
        "three": ("attention_book.a.b", "two"),
    }
    assert lazy.split("\n")[5] == '__all__ = ["one"]'  # lines keep their numbers
    with pytest.raises(AttributeError, match="'other'"):
        space["__getattr__"]("other")


def test_what_is_called_as_its_module_is_imported_at_once():
    init = "from attention_book.a.one import one\nfrom attention_book.a.b import two\n"
    files = {"attention_book/a/one.py": "", "attention_book/a/b.py": ""}
    lazy = bundle.lazily("attention_book/a/__init__.py", init, files)
    assert lazy.startswith("from attention_book.a.one import one\n\n")
    assert "_WHERE = {'two': ('attention_book.a.b', 'two')}" in lazy


def test_a_package_that_does_more_stays_as_it_is():
    init = "from attention_book.a.b import one\n\ndef two(): ...\n"
    assert bundle.lazily("attention_book/a/__init__.py", init, {}) == init


def test_what_modules_import_of_the_standard_library_is_in_the_page(modules):
    packed = gzip.decompress((files.ENGINE / "library.zip.gz").read_bytes())
    library = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    there = {name.partition("/")[0].removesuffix(".pyc") for name in library} | IN_THE_ENGINE
    lacking = {}
    for name, text in modules.items():
        for node in ast.parse(text).body:
            found = [
                each.name for each in getattr(node, "names", ()) if isinstance(node, ast.Import)
            ]
            found += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {each.partition(".")[0] for each in found} & sys.stdlib_module_names
            lacking |= dict.fromkeys(tops - there - OF_NO_USE, name)
    assert not lacking


def test_a_page_loads_six_megabytes_at_most(tmp_path):
    for folder in ("python", "page_python"):
        (tmp_path / folder).mkdir()
    files.write_files(tmp_path)
    sizes = {path.stem: path.stat().st_size for path in (tmp_path / "python").glob("*.bin")}
    assert set(sizes) == {"engine", "library", "worker", "book"}
    assert sum(sizes.values()) < LIMIT, sizes
    assert f'"bytes": {sum(sizes.values())}' in (tmp_path / "page_python" / "box.js").read_text(
        "utf8"
    )
    first = {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")}
    files.write_files(tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")}


def test_a_build_without_the_engine_says_what_is_missing(monkeypatch):
    assert files.missing() == ""
    gone = files.ENGINE / "nowhere.gz"
    monkeypatch.setattr(files, "NEEDED", {gone: "it is in the repository; see engine/README.md"})
    assert files.missing() == (
        "book/_ext/page_python/engine/nowhere.gz is missing"
        " (it is in the repository; see engine/README.md)"
    )
