"""Which questions separate nothing: told of made readers whose abilities are known."""

import json
import math
import random

import pytest
from question_items import FEWEST, Answer, analyzed, answers_in, readers_of, told

#: How much a question depends on what a reader knows, and how hard it is.
SOUND = {f"sound-{n}": (1.5, difficulty) for n, difficulty in enumerate((-1.0, -0.5, 0, 0.5, 1.0))}
QUESTIONS = {**SOUND, "a-guess": (0.0, 0.0), "known-to-all": (1.5, -9.0), "a-riddle": (1.5, 9.0)}


def made_readers(count, seed=0):
    """Return readers whose ability is normal, and who are right as a logistic model says."""
    drawn = random.Random(seed)
    for _ in range(count):
        ability = drawn.gauss(0, 1)
        found = {}
        for name, (slope, difficulty) in QUESTIONS.items():
            chance = 1 / (1 + math.exp(-slope * (ability - difficulty)))
            right = drawn.random() < (0.5 if slope == 0 else chance)
            found[name] = Answer(right, 0 if right else drawn.choice((1, 2)))
        yield found


@pytest.mark.parametrize("seed", range(3))
def test_what_separates_nothing_is_told_and_what_does_is_left_in_peace(seed):
    items = {item.name: item for item in analyzed(list(made_readers(600, seed)))}
    complaints = {name: item.complaint() for name, item in items.items()}
    assert {name for name, told in complaints.items() if not told} == set(SOUND)
    assert "separates nobody" in complaints["a-guess"]
    assert "asks nothing" in complaints["known-to-all"]
    assert "a riddle" in complaints["a-riddle"]
    assert min(items[name].separation for name in SOUND) > items["a-guess"].separation + 0.1


def test_an_option_that_nobody_picks_is_named():
    readers = list(made_readers(100))
    options = {name: ("masks", 4) for name in QUESTIONS}
    lines = list(told(analyzed(readers), options))
    assert "sound-2 (masks): nobody picks D" in lines
    assert not any(line.startswith("sound-2 (masks)") and "A" in line[9:] for line in lines)


def test_nothing_is_said_of_a_question_that_few_have_answered():
    items = analyzed(list(made_readers(FEWEST - 1)))
    assert not any(item.complaint() for item in items)
    assert len(list(told(items, {name: ("p", 4) for name in QUESTIONS}))) == 1


def test_a_readers_first_answer_counts(tmp_path):
    path = tmp_path / "progress.json"
    log = [["q", 20, 3, 0], ["q", 10, 1, 2], ["r", 12, 4, None]]
    path.write_text(json.dumps({"version": 1, "log": log}), "utf8")
    assert answers_in(path) == {"q": Answer(False, 2), "r": Answer(True, None)}


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"version": 2, "log": []}', b'{"version": 1}', b"\xff\xfe\x00",
        b'{"version": 1, "log": [["q", 1]]}', b'{"version": 1, "log": [["q", 1, 7]]}',
        b'{"version": 1, "log": [["<b>", 1, 3]]}', b'{"version": 1, "log": [[{}, 1, 3]]}',
        b'{"version": 1, "log": [["q", true, 3]]}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_broken_file_is_named_and_the_others_are_read(tmp_path, capsys, content):
    sound = tmp_path / "sound.json"
    sound.write_text(json.dumps({"version": 1, "log": [["q", 1, 3, 0]]}), "utf8")
    broken, gone, twice = (tmp_path / f"{each}.json" for each in ("broken", "gone", "twice"))
    broken.write_bytes(content)
    twice.write_bytes(sound.read_bytes())
    found = list(readers_of([broken, gone, sound, twice, tmp_path]))
    assert found == [{"q": Answer(True, 0)}]
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    for line, path in zip(said, (broken, gone, twice, tmp_path), strict=True):
        assert line.startswith(f"{path}: ")
        assert line.endswith("; left out")
