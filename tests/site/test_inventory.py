"""Every place of the inventory exists on the built page."""

from __future__ import annotations

from pathlib import Path

import yaml
from parsed import ids

ITEMS = yaml.safe_load(
    (Path(__file__).parents[1] / "book" / "inventory.yml").read_text(encoding="utf8")
)


def test_every_place_is_on_its_page(site: Path) -> None:
    missing = []
    for item, found in ITEMS.items():
        for place in [found] if isinstance(found, str) else found:
            page, _, label = place.partition("#")
            path = site / f"{page}.html"
            if not path.is_file() or label not in ids(path):
                missing.append(f"{item}: {place}")
    assert not missing
