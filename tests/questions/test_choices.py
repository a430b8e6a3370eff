"""Over the whole book, where an option stands and how long it is does not tell that it is right."""

import re
from collections import Counter

import pytest
from questions.grammar import LANGUAGES, ROLE, Question
from written import of_the_book

CHOICES = list(of_the_book("choice").values())


def place_of_the_right(question: Question) -> int:
    return next(n for n, item in enumerate(question.items) if item.right)


@pytest.mark.parametrize("options", [3, 4])
def test_the_right_option_stands_at_every_place(options: int) -> None:
    """On paper and in notebooks the options stand as they are written."""
    places = Counter(place_of_the_right(q) for q in CHOICES if len(q.items) == options)
    even = places.total() / options
    assert places.total() > 50
    assert all(even / 2 < places[n] < 1.5 * even for n in range(options)), places


@pytest.mark.parametrize("language", LANGUAGES)
def test_whoever_picks_the_longest_option_is_no_better_than_chance(language: str) -> None:
    longest = 0
    for question in CHOICES:
        lengths = [len(ROLE.sub("123", item.text.of(language))) for item in question.items]
        longest += lengths[place_of_the_right(question)] == max(lengths)
    assert longest < 1.25 * sum(1 / len(question.items) for question in CHOICES)


#: What an option says after it, is a reason: “Lower: it has learned to copy”.
REASON = {"zh": r"[：；]|因为", "en": r"[:;]|,? because |, (since|for|as|so) "}


@pytest.mark.parametrize("language", LANGUAGES)
def test_whoever_picks_an_option_without_a_reason_is_no_better_than_chance(language: str) -> None:
    """Mistakes are told with their reasons; if the right option has none, that gives it away."""
    right, chance = 0, 0.0
    for question in CHOICES:
        words = [ROLE.sub("123", item.text.of(language)) for item in question.items]
        bare = [not re.search(REASON[language], option) for option in words]
        if any(bare) and not all(bare):
            right += bare[place_of_the_right(question)]
            chance += sum(bare) / len(bare)
    assert chance > 10
    assert right < 1.25 * chance, (right, chance)
