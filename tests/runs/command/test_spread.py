"""Options that take one value or two, beside files of the command's own: nobody's file is taken."""

import pytest

from attention_book.runs.command.speech.bilingual import spread
from attention_book.runs.command.speech.failures import ExitCode, Failure

PAIRS = ["--validation", "--test"]
VALUED = {"--validation", "--test", "--source", "--target", "--lang"}


def read(line: str) -> tuple[list[str], dict[str, list[str]]]:
    """The operands and the values of each option, as the parser will see them."""
    words = spread(line.split(), PAIRS, valued=VALUED, operands=True)
    operands, values = [], {}
    while words:
        word = words.pop(0)
        if word in VALUED:
            values.setdefault(word, []).append(words.pop(0))
        elif word.startswith("--") and "=" in word:
            name, _, value = word.partition("=")
            values.setdefault(name, []).append(value)
        elif word not in ("--", "--check"):
            operands.append(word)
    return operands, values


@pytest.mark.parametrize(
    ("line", "operands", "test"),
    [
        ("--test t.tsv mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("mine.tsv --test t.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--source it --target en --test t.tsv mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--test t.tsv mine.tsv --source it", ["mine.tsv"], ["t.tsv"]),
        ("mine.tsv --test t.it t.en", ["mine.tsv"], ["t.it", "t.en"]),
        ("m.it m.en --test t.it t.en --check", ["m.it", "m.en"], ["t.it", "t.en"]),
        ("--test t.it t.en m.it m.en", ["m.it", "m.en"], ["t.it", "t.en"]),
        ("--test t.it --test t.en mine.tsv", ["mine.tsv"], ["t.it", "t.en"]),
        ("--test=t.tsv mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--test t.tsv -- mine.tsv", ["mine.tsv"], ["t.tsv"]),
        ("--test - mine.tsv", ["mine.tsv"], ["-"]),
        ("- --test t.tsv", ["-"], ["t.tsv"]),
    ],
)
def test_a_file_is_taken_for_what_it_can_be_alone(line, operands, test):
    found, values = read(line)
    assert (found, values["--test"]) == (operands, test)


def test_two_options_share_a_line():
    found, values = read("--validation v.tsv --test t.tsv mine.tsv")
    assert found == ["mine.tsv"]
    assert values == {"--validation": ["v.tsv"], "--test": ["t.tsv"]}


@pytest.mark.parametrize("line", ["--test a b c", "--test a --source it --validation b c d"])
def test_a_line_that_can_be_read_in_two_ways_is_refused_and_both_are_written(line):
    with pytest.raises(Failure) as caught:
        read(line)
    assert caught.value.code == ExitCode.WRONG_LINE
    advice = caught.value.text.en.partition("and then ")[2].split(" or ")
    for way in advice:  # what it says to type is understood
        taken = way.split()[1:]
        rest = [word for word in ("a", "b", "c", "d") if word in line and word not in taken]
        assert read(" ".join([*rest[-2:], way]))[1][way.split()[0]] == taken


def test_the_command_looks_at_the_file_that_is_meant(say, alone):
    (alone / "mine.tsv").write_text("io vedo\tI see\nio corro\tI run\n", encoding="utf-8")
    (alone / "t.tsv").write_text("io dormo\tI sleep\n", encoding="utf-8")
    languages = "--source it --target en"
    before = say(f"data {languages} --test t.tsv mine.tsv")
    behind = say(f"data mine.tsv {languages} --test t.tsv")
    assert (before.code, behind.code) == (0, 0), before.err
    assert before.out == behind.out
    assert before.out.startswith("mine.tsv  [it → en]")
    assert "(t.tsv)" in before.out
    nothing = say("data --test t.tsv")
    assert nothing.code == ExitCode.WRONG_LINE
    assert "expected a corpus or files to look at" in nothing.err
