"""Everything that the book must contain stands in it: each item has a place, each place exists."""

import re
from functools import cache

import yaml
from offenders import no_offenders
from tiny import ROOT

#: The items of each series, first to last.
SERIES = {"S0": 75, "S1": 12, "S2": 16, "S3": 21, "S4": 24, "E": 55}
BOOK = ROOT / "book"
INVENTORY = yaml.safe_load((ROOT / "tests" / "book" / "inventory.yml").read_text(encoding="utf8"))
#: (label)=, :label: label, :name: label, and name: label in the header of a cell.
LABEL = re.compile(
    r"^(?:\((?P<target>[\w-]+)\)=|:(?:label|name): (?P<option>\S+)|\s+name: (?P<figure>\S+))$", re.M
)


def places(item: str) -> list[str]:
    found = INVENTORY[item]
    return [found] if isinstance(found, str) else found


@cache
def labels(page: str) -> set[str]:
    text = (BOOK / f"{page}.md").read_text(encoding="utf8")
    return {match[match.lastgroup] for match in LABEL.finditer(text)}


def test_every_item_has_its_place() -> None:
    wanted = [f"{series}-{n:02}" for series, last in SERIES.items() for n in range(1, last + 1)]
    assert sorted(INVENTORY) == sorted(wanted)


def test_no_item_stands_twice() -> None:
    text = (ROOT / "tests" / "book" / "inventory.yml").read_text(encoding="utf8")
    items = re.findall(r"^([SE]\d?-\d\d):", text, re.M)
    assert len(items) == len(set(items)) == len(INVENTORY)


def test_each_place_is_in_the_source() -> None:
    def check(item: str) -> None:
        for place in places(item):
            page, _, label = place.partition("#")
            assert (BOOK / f"{page}.md").is_file(), f"no chapter {page}"
            assert label in labels(page), f"{page}.md has no label {label}"

    no_offenders(check, INVENTORY)


def test_each_mistake_has_an_entry_and_a_place_that_shows_it() -> None:
    def check(item: str) -> None:
        entry, place = places(item)
        assert entry.startswith("mistakes#mistake-"), f"its entry is {entry}"
        assert not place.startswith("mistakes#"), f"its place is {place}"

    no_offenders(check, (item for item in INVENTORY if item.startswith("E")))


def test_every_entry_of_the_index_leads_to_a_place() -> None:
    text = (BOOK / "mistakes.md").read_text(encoding="utf8")
    entries = re.split(r"^\((mistake-[\w-]+)\)=$", text, flags=re.M)[1:]
    pairs = dict(zip(entries[::2], entries[1::2], strict=True))
    assert len(pairs) > 80
    for name, entry in pairs.items():
        for language in ("zh", "en"):
            block = re.search(rf"^:::\{{{language}\}}\n(.*?)^:::$", entry, re.M | re.S)
            assert block, f"{name}: no :::{{{language}}}"
            assert re.search(r"\{ref\}`(sec|ex|fig)-", block[1]), (
                f"{name}: {language} shows nothing"
            )


def test_readers_never_see_the_numbers() -> None:
    number = re.compile(r"\b(?:S[0-4]|E)-\d\d\b")
    for path in [*BOOK.rglob("*.md"), *(ROOT / "src").rglob("*.py")]:
        if "_build" not in path.parts:
            assert not number.search(path.read_text(encoding="utf8")), path
