"""How many questions a day come back to a reader of the whole book? A simulation.

    python scripts/question_load.py

The reader goes through the pages in the order of the contents, two chapters a week, answers every
question, and does each day what is due. Right at first in 55 of 100 cases, later as often as the
schedule's own model of memory says. `book/_ext/questions/README.md` has the table for a book with
round numbers of chapters and questions.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

BOOK = Path(__file__).resolve().parents[1] / "book"
sys.path.append(str(BOOK / "_ext"))
#: A book with round numbers: of each chapter its questions.
ROUND = [8] * 35
RETENTIONS = (0.8, 0.85, 0.9, 0.95)
USUAL = 0.85
DAYS_A_CHAPTER, DAYS_AFTER = 3.5, 365
QUESTION = re.compile(r"^:{3,}\{question\} ", re.M)
READER = """
function load(chapters, pace, after, retention, seed) {
  const { asked, interval, remembered } = attentionBookLive.modules["questions/fsrs"];
  const chance = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
  const reading = Math.ceil(chapters.length * pace), cards = [], counts = [];
  for (let day = 0; day < reading + after; day++) {
    let count = 0;
    cards.forEach((card, i) => {
      if (card.last + interval(card.s, retention) > day) return;
      cards[i] = asked(card, chance() < remembered(card, day) ? 3 : 1, day);
      count += 1;
    });
    chapters.forEach((questions, i) => {
      if (Math.floor(i * pace) !== day) return;
      for (let n = 0; n < questions; n++) cards.push(asked(null, chance() < 0.55 ? 3 : 1, day));
    });
    counts.push(count);
  }
  const mean = (days) => days.reduce((sum, n) => sum + n, 0) / days.length;
  return [mean(counts.slice(0, reading)), mean(counts.slice(reading))];
}
"""


def questions() -> list[int]:
    """Return how many questions each page has, as the contents list the pages that have some."""
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf8"))
    counts = (
        len(QUESTION.findall((BOOK / f"{page}.md").read_text(encoding="utf8")))
        for page in pages(contents)
    )
    return [count for count in counts if count]


def pages(contents: object) -> Iterator[str]:
    if isinstance(contents, dict):
        if isinstance(contents.get("file"), str):
            yield contents["file"]
        for value in contents.values():
            yield from pages(value)
    elif isinstance(contents, list):
        for value in contents:
            yield from pages(value)


def simulated(chapters: list[int], seeds: int = 5) -> dict[float, tuple[float, float]]:
    """Return the questions a day, while reading and in the year after, by the share to remember."""
    from live.bundler import bundler
    from py_mini_racer import MiniRacer
    from questions.scripts import MODULES

    engine = MiniRacer()
    engine.eval(bundler(MODULES).script(["questions/fsrs"]) + READER)
    found = {}
    for retention in RETENTIONS:
        given = f"{chapters}, {DAYS_A_CHAPTER}, {DAYS_AFTER}, {retention}"
        runs = [
            json.loads(str(engine.eval(f"JSON.stringify(load({given}, {seed}))")))
            for seed in range(1, seeds + 1)
        ]
        reading, after = (sum(run[place] for run in runs) / seeds for place in (0, 1))
        found[retention] = reading, after
    engine.close()
    return found


def table(found: dict[float, tuple[float, float]]) -> str:
    """Return the table of the README."""
    lines = ["| to remember | a day while reading | a day in the year after |", "|---|---|---|"]
    for retention, (reading, after) in found.items():
        share = f"{retention:.0%}"
        share = f"**{share}**, unless set" if retention == USUAL else share
        lines.append(f"| {share} | {reading:.1f} | {after:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    chapters = questions()
    print(f"{sum(chapters)} questions on {len(chapters)} pages\n")
    print(table(simulated(chapters)))
