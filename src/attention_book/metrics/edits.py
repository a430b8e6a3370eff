"""Edit distance (Levenshtein distance) between two sentences, in words."""

from collections.abc import Sequence


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many words to insert, drop or replace to turn one sentence into the other.

    Levenshtein (1966), with words in the place of letters.

    >>> edit_distance(("he's", "calm", "."), ("he's", "rich", "."))
    1
    """
    row = list(range(len(second) + 1))
    for i, word in enumerate(first, start=1):
        above, row = row, [i]
        for j, other in enumerate(second):
            row.append(min(row[j] + 1, above[j + 1] + 1, above[j] + (word != other)))
    return row[-1]
