"""What a run of the tests has skipped, in one line each, for the end of `make test`."""

from collections import Counter
from collections.abc import Iterable

#: How the reasons of pytest begin.
PREFIX = "Skipped: "


def skipped_lines(reasons: Iterable[str]) -> list[str]:
    """Return a line for each reason, with the number of tests: what is skipped most comes first.

    >>> skipped_lines(["Skipped: no chromium", "Skipped: no corpora", "Skipped: no chromium"])
    ['2 tests skipped: no chromium', '1 test skipped: no corpora']
    """
    counts = Counter(reason.removeprefix(PREFIX) for reason in reasons)
    return [f"{n} {'tests' if n > 1 else 'test'} skipped: {why}" for why, n in counts.most_common()]
