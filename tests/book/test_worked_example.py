"""The worked example: what its page tells of a station, the station's chapter tells as well."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
PAGE = (BOOK / "worked-example.md").read_text(encoding="utf8")
ROW = re.compile(r"^\| \{ref\}`(\d+) <ch-([a-z0-9-]+)>` \|.*\|(.*)\|$", re.M)
#: A decimal, a fraction or a signed number, as the page prints them; single digits say too little.
NUMBER = re.compile(r"[+−]?\d+\.\d+|[+−]?\d/\d")

STATIONS = {int(number): (slug, told) for number, slug, told in ROW.findall(PAGE)}


def test_the_page_lists_fourteen_stations_in_order():
    assert list(STATIONS) == list(range(1, 15))


@pytest.mark.parametrize("station", STATIONS)
def test_both_languages_of_the_page_give_the_same_numbers(station):
    _, told = STATIONS[station]
    zh, en = (re.findall(rf"\{{{language}\}}`([^`]*)`", told) for language in ("zh", "en"))
    assert len(zh) == len(en) == 1
    assert sorted(NUMBER.findall(zh[0])) == sorted(NUMBER.findall(en[0]))


@pytest.mark.parametrize("station", STATIONS)
def test_the_chapter_of_a_station_recomputes_it_and_prints_its_numbers(station):
    slug, told = STATIONS[station]
    chapter = (BOOK / f"{slug}.md").read_text(encoding="utf8")
    assert re.search(rf"# worked example, station {station}\b", chapter)
    missing = [number for number in set(NUMBER.findall(told)) if not _prints(chapter, number)]
    assert not missing


def _prints(chapter, number):
    """Whether the chapter has the number; a fraction may also be set as a formula."""
    top, slash, bottom = number.lstrip("+−").partition("/")
    if not slash:
        return number.lstrip("+−") in chapter
    fraction = rf"\\[td]?frac\{{?{top}\}}?\{{?{bottom}\}}?|\\[td]frac{top}{bottom}"
    return f"{top}/{bottom}" in chapter or bool(re.search(fraction, chapter))
