"""What the pages' code leaves unmarked has no color of its own, in either mode."""

import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_unmarked_tokens_look_like_plain_text(site: Path, mode: str) -> None:
    css = (site / "_static" / "pygments.css").read_text(encoding="utf8")
    base = f'html[data-theme="{mode}"] .highlight'
    (plain,) = re.findall(re.escape(base) + r" \{[^}]*?;?\s*color: (#\w+)", css)
    for token in ("n", "p", "w"):
        rules = re.findall(re.escape(f"{base} .{token} ") + r"\{([^}]*)\}", css)
        assert [rule.strip() for rule in rules] in ([], [f"color: {plain}"]), token
