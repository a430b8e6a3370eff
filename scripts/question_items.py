"""Which questions separate nothing, and which options does nobody pick? From readers' progress.

    python scripts/question_items.py FILES … [--site FOLDER]

The files are those that readers save on the page of today's questions. Of each reader the first
answer to each question counts. A question separates if those who do well on the others are more
often right on it: the correlation of being right with how far a reader is above the average on
everything else. One that everybody knows, or nobody, separates nothing either, and an option that
nobody picks is no mistake that anybody makes. What is no progress file is named and left out.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import StatisticsError, correlation, fmean
from typing import Any

SITE = Path(__file__).resolve().parents[1] / "book" / "_build" / "html"
NAME = re.compile(r"[a-z][a-z0-9-]*")
RIGHT = 3  # grades: 1 again, 2 hard, 3 good, 4 easy
FEWEST = 30  # readers of a question, before anything is said about it
SEPARATES, KNOWN = 0.1, 0.95


@dataclass(frozen=True)
class Answer:
    """A reader's first answer to a question: whether it was right, and which item it was."""

    right: bool
    item: int | None


@dataclass(frozen=True)
class Item:
    """What readers made of a question.

    Attributes:
        name: the question.
        readers: how many have answered it.
        right: the share of them whose first answer was right.
        separation: the correlation with how they did elsewhere; None if it cannot be said.
        picked: how often each item was picked.
    """

    name: str
    readers: int
    right: float
    separation: float | None
    picked: Counter[int]

    def complaint(self) -> str:
        """Say why the question separates nothing, "" if it does, or if too few have answered."""
        if self.readers < FEWEST:
            return ""
        if self.right >= KNOWN:
            return f"{self.right:.0%} were right at once: it asks nothing"
        if self.right <= 1 - KNOWN:
            return f"{self.right:.0%} were right: it is a riddle, or its answer is wrong"
        if self.separation is not None and self.separation < SEPARATES:
            return f"it separates nobody from anybody ({self.separation:+.2f})"
        return ""


def answers_in(path: Path) -> dict[str, Answer]:
    """Read a reader's progress.

    Raises:
        ValueError: if it is no progress file.
    """
    try:
        found = json.loads(path.read_text(encoding="utf8"))
    except OSError as error:
        raise ValueError(error.strerror or "cannot be read") from error
    except (ValueError, RecursionError) as error:
        raise ValueError("not a file of JSON") from error
    log = found.get("log") if isinstance(found, dict) and found.get("version") == 1 else None
    if not isinstance(log, list):
        raise ValueError("not a progress file of this book")
    first: dict[str, tuple[int, Answer]] = {}
    for entry in log:
        if not (isinstance(entry, list) and len(entry) in (3, 4)):
            raise ValueError(f"its log has what is no answer: {str(entry)[:60]}")
        name, day, grade, item = (*entry, None)[:4]
        if not (isinstance(name, str) and NAME.fullmatch(name) and is_whole(day)):
            raise ValueError(f"its log has what is no answer: {str(entry)[:60]}")
        if not is_whole(grade) or grade not in (1, 2, 3, 4):
            raise ValueError(f"its log has a grade that is none: {str(entry)[:60]}")
        answer = Answer(grade >= RIGHT, item if is_whole(item) else None)
        if name not in first or day < first[name][0]:
            first[name] = day, answer
    return {name: answer for name, (_, answer) in first.items()}


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def readers_of(paths: Iterable[Path]) -> Iterator[dict[str, Answer]]:
    """Yield the answers of each reader; name what is no progress file, and what was read before."""
    seen: dict[bytes, Path] = {}
    for path in paths:
        try:
            found = answers_in(path)
        except ValueError as error:
            print(f"{path}: {error}; left out", file=sys.stderr)
            continue
        content = path.read_bytes()
        if content in seen:
            print(f"{path}: the same as {seen[content]}; left out", file=sys.stderr)
            continue
        seen[content] = path
        yield found


def analyzed(readers: list[dict[str, Answer]]) -> list[Item]:
    """Return what readers made of each question."""
    by_question: dict[str, list[tuple[dict[str, Answer], Answer]]] = {}
    for reader in readers:
        for name, answer in reader.items():
            by_question.setdefault(name, []).append((reader, answer))
    right = {
        name: fmean(answer.right for _, answer in found) for name, found in by_question.items()
    }

    def elsewhere(reader: dict[str, Answer], name: str) -> float | None:
        """How far a reader is above the average on all but one question."""
        others = [answer.right - right[other] for other, answer in reader.items() if other != name]
        return fmean(others) if len(others) >= 3 else None

    items = []
    for name, found in by_question.items():
        pairs = [(elsewhere(reader, name), answer.right) for reader, answer in found]
        known = [(score, float(is_right)) for score, is_right in pairs if score is not None]
        try:
            separation = correlation(*zip(*known, strict=True)) if known else None
        except StatisticsError:  # all alike
            separation = None
        picked = Counter(answer.item for _, answer in found if answer.item is not None)
        items.append(Item(name, len(found), right[name], separation, picked))
    return items


def options_of(site: Path) -> dict[str, tuple[str, int]]:
    """Return the page of each question with options, and how many of them it has."""
    found = {}
    for path in sorted((site / "_static" / "questions").glob("*.js")):
        script = path.read_text(encoding="utf8")
        read = re.fullmatch(r'attentionBookQuestions\.arrived\("([\w-]+)", (\{.*\})\);\n', script)
        for name, box in json.loads(read[2]).items() if read else ():
            if "ask-choice" in box:
                options = box.partition("<details")[0].partition("<ol")[2]
                found[name] = (read[1], options.count("<li>")) if read else ("", 0)
    return found


def told(items: list[Item], options: dict[str, tuple[str, int]]) -> Iterator[str]:
    """Yield what is to be looked at, the worst questions first."""
    many = [item for item in items if item.readers >= FEWEST]
    yield (
        f"{len(items)} questions answered; {len(many)} by {FEWEST} readers or more,"
        " of which it can be said:"
    )
    complained = [(item, item.complaint()) for item in many if item.complaint()]
    for item, complaint in sorted(complained, key=lambda pair: pair[0].separation or 0):
        yield f"{item.name}: {complaint} ({item.readers} readers)"
    for item in many:
        page, count = options.get(item.name, ("", 0))
        nobody = [chr(ord("A") + n) for n in range(count) if not item.picked[n]]
        if nobody:
            yield f"{item.name} ({page}): nobody picks {', '.join(nobody)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--site", type=Path, default=SITE, metavar="FOLDER")
    options: Any = parser.parse_args()
    readers = list(readers_of(options.files))
    if not readers:
        sys.exit("none of these is a progress file")
    print(f"{len(readers)} readers")
    for line in told(analyzed(readers), options_of(options.site)):
        print(line)


if __name__ == "__main__":
    main()
