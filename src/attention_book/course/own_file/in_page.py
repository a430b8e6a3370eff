"""Holds the reader's own file to its steps. Its text comes from the page, and is kept there."""

import html
import json
from pathlib import Path

from attention_book.course.own_file.checking import FILE, check_file
from attention_book.course.own_file.verdict import FileVerdict


class Shown:
    """A verdict as the page shows it, with what its script has to know of it."""

    def __init__(self, verdict: FileVerdict) -> None:
        self.verdict = verdict

    def _repr_html_(self) -> str:
        known = {name: getattr(self.verdict, name) for name in ("passed", "step", "broken", "line")}
        data = html.escape(json.dumps(known))
        return f'{self.verdict._repr_html_()}<template data-verdict="{data}"></template>'


def check(text: str, step: int, held_step: int, held_text: str, seconds: float) -> Shown:
    """Check a text, as :func:`check_file` does a file.

    Args:
        text: the reader's file.
        step: up to which step; 0: the last one of which the text has anything.
        held_step: up to which step a text held before; 0: none did.
        held_text: that text.
        seconds: after so many the page ends a check.
    """
    path = Path(FILE)  # in the page's own file system, which ends with it
    memory = {"step": held_step, "source": held_text}
    path.write_text(text, encoding="utf8")
    path.with_name(f".{path.stem}.json").write_text(json.dumps(memory), encoding="utf8")
    return Shown(check_file(step or None, path, remember=False, limit=seconds))
