"""Laws of the edit distance, and its definition as an oracle."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import edit_distance

sentences = st.lists(st.sampled_from("abc"), max_size=6).map(tuple)


@cache
def by_definition(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    if not first or not second:
        return len(first) + len(second)
    return min(
        by_definition(first[1:], second) + 1,
        by_definition(first, second[1:]) + 1,
        by_definition(first[1:], second[1:]) + (first[0] != second[0]),
    )


@given(sentences, sentences)
def test_equals_its_definition(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    assert edit_distance(first, second) == by_definition(first, second)


@given(sentences, sentences, sentences)
def test_is_a_distance(
    first: tuple[str, ...], second: tuple[str, ...], third: tuple[str, ...]
) -> None:
    assert edit_distance(first, second) == edit_distance(second, first)
    assert (edit_distance(first, second) == 0) == (first == second)
    direct, detour = edit_distance(first, third), edit_distance(first, second)
    assert direct <= detour + edit_distance(second, third)
