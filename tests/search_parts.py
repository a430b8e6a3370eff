"""The parts of a built search index, read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PARTS = ("heads", "zh", "en", "both")


def part(html: Path, name: str) -> Any:
    """One part of the index, as the browser gets it."""
    text = (html / "search-index" / f"{name}.js").read_text(encoding="utf8")
    return json.loads(text.removeprefix(f"(window.bookIndex ??= {{}}).{name}=").rstrip(";\n"))


def whole(html: Path) -> dict[str, list[list[Any]]]:
    """Each page's places: anchor, titles, texts in zh, in en, in both; whether it is folded."""
    heads = part(html, "heads")["pages"]
    texts = [part(html, name) for name in PARTS[1:]]
    return {
        address: [
            [*head[:3], *(text[number][row] for text in texts), bool(head[3:4] and head[3])]
            for row, head in enumerate(rows)
        ]
        for number, (address, _, rows) in enumerate(heads)
    }


def text(html: Path) -> str:
    """All that stands in the index."""
    return "".join(path.read_text("utf8") for path in sorted((html / "search-index").glob("*.js")))
