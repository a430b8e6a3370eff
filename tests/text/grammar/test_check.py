"""The way back: what the grammar says is grammatical, and what was broken is not."""

from random import Random

import pytest

from attention_book.text import generate, is_grammatical

SENTENCES = [sentence.english for sentence in generate(2000, seed=11)]


def test_every_sentence_of_the_grammar_is_grammatical() -> None:
    assert [" ".join(s) for s in SENTENCES if not is_grammatical(s)] == []


def broken(how: str) -> list[tuple[str, ...]]:
    """Every sentence with one accident that is all but sure to break it."""
    dice, found = Random(5), []
    for sentence in SENTENCES:
        tokens = list(sentence)
        place = dice.randrange(len(tokens) - 1)
        match how:
            case "swapped":
                tokens[place : place + 2] = reversed(tokens[place : place + 2])
            case "reversed":
                tokens.reverse()
            case "doubled":
                tokens.insert(place, tokens[place])
            case "cut":
                tokens = tokens[: place + 1]
        if tuple(tokens) != sentence:
            found.append(tuple(tokens))
    return found


@pytest.mark.parametrize("how", ["swapped", "reversed", "doubled", "cut"])
def test_accidents_are_noticed(how: str) -> None:
    accidents = broken(how)
    passed = [tokens for tokens in accidents if is_grammatical(tokens)]
    assert len(accidents) > 1500
    assert len(passed) < 0.01 * len(accidents)  # "today i dance" is as good as "i dance today"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("this girl reads a book .", "these girl reads a book ."),
        ("this girl reads a book .", "this girl read a book ."),
        ("these girls read a book .", "these girls reads a book ."),
        ("the boy eats an apple .", "the boy eats a apple ."),
        ("the boy eats an old apple .", "the boy eats a old apple ."),
        ("the boy eats a green apple .", "the boy eats an green apple ."),
        ("i am tired .", "i is tired ."),
        ("the girl does not sleep .", "the girl does not sleeps ."),
        ("the girl wants to sleep .", "the girl want to sleep ."),
        ("the girl reads the book .", "the girl reads ."),
        ("the girl sleeps .", "the girl sleeps the book ."),
        ("marie gives a book to paul .", "marie gives a book ."),
        ("does the girl sleep ?", "does the girl sleep ."),
        ("is the girl in the garden ?", "is the girl the garden ?"),
        ("there are two cats under the tree .", "there is two cats under the tree ."),
        ("she sleeps at home .", "she sleeps at the home ."),
        ("the girl sleeps , but i work .", "the girl sleeps but i work ."),
        ("i must work .", "i must to work ."),
    ],
)
def test_rules_of_the_grammar(right: str, wrong: str) -> None:
    assert is_grammatical(right.split())
    assert not is_grammatical(wrong.split())


def test_sense_is_not_asked_for_and_nothing_is_no_sentence() -> None:
    assert is_grammatical(["the", "moon", "drinks", "this", "door", "."])
    assert not is_grammatical(())
    assert not is_grammatical(["the", "zebra", "sleeps", "."])
