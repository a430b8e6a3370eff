"""One test for many files, lines or words of text: it goes through all, and lists what fails."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Each = TypeVar("Each")


def no_offenders(check: Callable[[Each], object], cases: Iterable[Each]) -> None:
    """Check every case by its assertions; fail with a line for each that does not pass."""
    found, count = [], 0
    for count, case in enumerate(cases, start=1):  # noqa: B007
        try:
            check(case)
        except AssertionError as error:
            lines = str(error).strip().splitlines()
            found.append(f"{case}: {lines[0] if lines else 'an assertion'}")
    assert count, "nothing to check"
    assert not found, f"{len(found)} of {count}:\n" + "\n".join(found)
