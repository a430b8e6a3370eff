"""What a wrong name may have meant: the nearest of those that there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sphinx.environment import BuildEnvironment


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what to add to a message; nothing where no name is near.

    >>> nearest("imagez", ["images", "masks"])
    ' (did you mean images?)'
    """
    found = get_close_matches(name, sorted(set(known)), n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def data_of(env: BuildEnvironment, domain: str) -> dict[str, Any]:
    return env.get_domain(domain).data


def labels(env: BuildEnvironment, name: str) -> Iterable[str]:
    return list(data_of(env, "std")["anonlabels"])


def equations(env: BuildEnvironment, name: str) -> Iterable[str]:
    return list(data_of(env, "math")["objects"])


def terms(env: BuildEnvironment, name: str) -> Iterable[str]:
    return (found for kind, found in data_of(env, "std")["objects"] if kind == "term")


def pages(env: BuildEnvironment, name: str) -> Iterable[str]:
    return env.found_docs


def python_names(env: BuildEnvironment, name: str) -> Iterable[str]:
    return list(data_of(env, "py")["objects"])


def sources(env: BuildEnvironment, name: str) -> Iterable[str]:
    return list(data_of(env, "cite")["bibdata"].data.entries)


def files(env: BuildEnvironment, name: str) -> Iterable[str]:
    """Return the files beside the one that is named, named as it is."""
    folder = Path(name).parent
    beside = Path(env.srcdir, folder)
    return [str(folder / each.name) for each in beside.iterdir()] if beside.is_dir() else []


#: What is said of a wrong name, and where the right ones are.
MESSAGES: dict[str, Callable[[BuildEnvironment, str], Iterable[str]]] = {
    r"undefined label: '([^']+)'": labels,
    r"equation not found: (\S+)": equations,
    r"term not in glossary: '([^']+)'": terms,
    r"unknown document: '([^']+)'": pages,
    r"py:\w+ reference target not found: ([\w.]+)": python_names,
    r'could not find bibtex key "([^"]+)"': sources,
    r"image file not readable: (\S+)": files,
    r"Include file '([^']+)' not found": files,
}


def with_nearest(message: str, env: BuildEnvironment) -> str:
    """Return a message with the nearest of the names that there are."""
    for pattern, known in MESSAGES.items():
        if found := re.search(pattern, message):
            return message + nearest(found[1], known(env, found[1]))
    return message


def line_of_name(message: str, file: Path) -> int | None:
    """Return the first line of a page that holds the name that a message complains of."""
    names = (found[1] for each in MESSAGES if (found := re.search(each, message)))
    name = next(names, None)
    lines = file.read_text(encoding="utf8").splitlines() if name else []
    return next((n for n, line in enumerate(lines, start=1) if name and name in line), None)
