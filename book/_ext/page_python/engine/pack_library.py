"""Packs the part of Python's standard library that pages have; runs inside Pyodide (vendor.mjs).

Compiled, without docstrings: as source the start of Python takes twice as long.
"""

import importlib
import importlib.util
import marshal
import sys
import zipfile

LIBRARY = "/lib/python314.zip"
#: What readers may import, and what the book's package and its tensors import.
MODULES = [
    "abc", "array", "ast", "base64", "bisect", "builtins", "cmath", "codecs", "collections",
    "collections.abc", "contextlib", "contextvars", "copy", "csv", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fractions", "functools", "gc", "glob", "gzip", "hashlib",
    "heapq", "html", "importlib", "importlib.util", "inspect", "io", "itertools", "json",
    "keyword", "linecache", "locale", "math", "numbers", "operator", "os", "pathlib", "pickle",
    "platform", "pprint", "queue", "random", "re", "shutil", "signal", "statistics", "string",
    "struct", "sys", "tempfile", "textwrap", "threading", "time", "timeit", "token", "tokenize",
    "tomllib", "traceback", "types", "typing", "unicodedata", "uuid", "warnings",
    "weakref", "zipfile",
]  # fmt: skip
CODECS = ("__init__.py", "aliases.py", "utf_8.py", "ascii.py", "latin_1.py", "cp437.py")


def compiled(source: bytes, name: str) -> bytes:
    """Return a module that is never compared with its source."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=2)
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def needed(names: set[str]) -> set[str]:
    """Return the files of the standard library that have been loaded, and Pyodide's own."""
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    found = {file.removeprefix(f"{LIBRARY}/") for file in files if file.startswith(LIBRARY)}
    found |= {name for name in names if name.startswith(("_pyodide/", "pyodide/"))}
    found |= {f"encodings/{codec}" for codec in CODECS}
    for file in list(found):
        parts = file.split("/")[:-1]
        found |= {"/".join([*parts[:n], "__init__.py"]) for n in range(1, len(parts) + 1)} & names
    return {name for name in found if name.endswith(".py")}


def main() -> None:
    for name in MODULES:
        importlib.import_module(name)
    with zipfile.ZipFile(LIBRARY) as archive:
        names = set(archive.namelist())
        library = {f"{n}c": compiled(archive.read(n), n) for n in sorted(needed(names))}
    with zipfile.ZipFile("/library.zip", "w", zipfile.ZIP_STORED) as packed:
        for name, data in library.items():
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


if __name__ == "__main__":
    main()
