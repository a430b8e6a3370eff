"""Trainings that take longer than a build: recorded once, with what it takes to repeat them."""

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from attention_book.foundations.environment import from_extra

#: Where the repository keeps them; ``scripts/record_run.py`` writes them.
RECORDS = Path("book/data/runs")


def recorded_run(name: str, *, start: Path | None = None) -> Mapping[str, Any]:
    """Return what was recorded of a training.

    A chapter finds the file in the repository that it is built in. A notebook elsewhere, such as
    on Colab, fetches it from the repository that the package's metadata name.

    Args:
        name: That of the run, such as "multi30k-en-de".
        start: Where to look for the repository: this folder and all above it; None: the current
            one.

    Returns:
        ``command`` repeats it; ``made`` says where and when (the commit, the machine, the date);
        ``settings`` are those of the run; ``text``, ``log``, ``curve``, ``scores``, ``faults``,
        ``time`` and ``heads`` are what came out.

    Raises:
        FileNotFoundError: if there is no such record, here or there.
        ImportError: if it has to be fetched and pooch is not installed.

    >>> run = recorded_run("multi30k-en-de")  # doctest: +SKIP
    >>> run["command"]  # doctest: +SKIP
    'attention-book train --recipe multi30k-en-de'
    """
    here = (start or Path.cwd()).resolve()
    found = (folder / RECORDS / f"{name}.json" for folder in (here, *here.parents))
    path = next((path for path in found if path.is_file()), None) or _fetched(name)
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _fetched(name: str) -> Path:
    address = f"{_repository()}/raw/main/{RECORDS.as_posix()}/{name}.json"
    with from_extra("text", "pooch"):
        import pooch
    try:
        return Path(pooch.retrieve(address, known_hash=None, path=pooch.os_cache("attention_book")))
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"name: expected the name of a recorded run, got {name!r}: it is neither in "
            f"{RECORDS.as_posix()} near here nor at {address}"
        ) from error


def _repository() -> str:
    """Return the repository's address, as the package's metadata name it."""
    try:
        urls = metadata("attention-book").get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    known: dict[str, str] = dict(url.split(", ", 1) for url in urls)
    return known.get("Repository", "")


__all__ = ("recorded_run",)
