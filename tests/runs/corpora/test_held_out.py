"""A source sentence says by itself where it belongs: the same place each time, and evenly."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs.corpora import SPLITS, part_of


def test_each_part_gets_its_share():
    share, size = 0.05, 20_000
    counts = Counter(part_of(f"Sentence {number}", share) for number in range(size))
    deviation = (size * share * (1 - share)) ** 0.5
    for part in ("validation", "test"):
        assert abs(counts[part] - size * share) < 4 * deviation


def test_the_place_is_the_same_on_every_machine_and_in_every_version():
    sources = ["Go.", "Two cats sleep.", "Où est-elle ?", "北京", "नमस्ते", "?!"]
    found = [part_of(source, 0.25) for source in sources]
    assert found == ["validation", "validation", "test", "train", "validation", "train"]


@given(st.text(), st.floats(0, 0.5))
def test_every_text_has_a_place_even_half_a_character(source, share):
    assert part_of(source, share) in SPLITS
    assert part_of(source + "\ud800", share) in SPLITS


@given(st.text(st.characters(codec="ascii")))
def test_capitals_blanks_and_punctuation_do_not_make_another_sentence(source):
    letters = "x" + source  # something remains in any case
    assert part_of(letters, 0.25) == part_of(f" « {letters.upper()} » !", 0.25)


@given(st.text(), st.floats(0, 0.25))
def test_a_larger_share_keeps_what_validation_has(source, share):
    if part_of(source, share) == "validation":
        assert part_of(source, 2 * share) == "validation"


def test_sentences_of_marks_alone_are_told_apart():
    assert len({part_of("!" * number, 0.3) for number in range(1, 40)}) == 3


def test_a_share_is_a_probability():
    with pytest.raises(ValueError, match="share: expected a probability"):
        part_of("Go.", 1.5)
