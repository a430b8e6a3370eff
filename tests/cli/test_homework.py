"""``attention-book course assign`` and ``grade``: from exercises to a table, in both languages."""

import json
from pathlib import Path

import pytest

from attention_book.cli import homework
from attention_book.cli.errors import ExitCode
from attention_book.cli.homework import STOPS
from attention_book.course.grading.chapters import CHAPTERS
from attention_book.course.grading.jail import ways


def test_homework_is_written_once(say, alone):
    assert say("course assign masks rotary --out homework").code == 0
    written = sorted(path.name for path in Path("homework").iterdir())
    assert written == ["homework.ipynb", "masks.ipynb"]
    found = say("course assign masks --out homework")
    assert found.code == ExitCode.WRONG_LINE
    assert "left alone" in found.err
    assert say("course assign masks --out homework --overwrite --lang zh").code == 0
    assert CHAPTERS["masks"].title.zh in Path("homework/masks.ipynb").read_text(encoding="utf8")


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("course assign --out h", "expected chapters or exercises, got none"),
        ("course assign no-such --out h", "got no-such"),
        ("course assign masks", "--out"),
        ("course grade nowhere --out s.csv", "got nothing at nowhere"),
        ("course grade . --out s.csv", "expected notebooks (.ipynb), got none"),
        ("course grade . --out s.csv --data nowhere", "--data"),
        ("course grade . --out s.csv --private nowhere.py", "--private"),
        ("course grade . --out s.csv --way magic", "magic"),
    ],
)
def test_a_line_that_means_nothing_is_refused(say, alone, line, part):
    found = say(line)
    assert found.code != 0
    assert part in found.err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("asked", ["no-such", "rotary=x", "rotary=-1", "rotary=nan"])
def test_a_weight_is_a_number_of_an_exercise(say, alone, asked):
    Path("a.ipynb").write_text('{"cells": []}', encoding="utf8")
    found = say(f"course grade . --out s.csv --exercise {asked}")
    assert found.code == ExitCode.WRONG_LINE
    assert "expected the name of an exercise" in found.err


def test_a_private_file_that_fails_is_named(say, alone):
    Path("a.ipynb").write_text('{"cells": []}', encoding="utf8")
    Path("own.py").write_text("1 / 0\n", encoding="utf8")
    found = say("course grade . --out s.csv --private own.py")
    assert found.code == ExitCode.DATA
    assert "ZeroDivisionError" in found.err


@pytest.mark.skipif(len(ways()) < 2, reason="children are forked on Linux alone")
def test_where_nothing_confines_it_is_refused(say, alone, monkeypatch):
    Path("a.ipynb").write_text('{"cells": []}', encoding="utf8")
    monkeypatch.setattr(homework, "unconfined", lambda _: {"landlock": "no: OSError: too old"})
    found = say("course grade . --out s.csv --way fork")
    assert found.code == ExitCode.MACHINE
    assert "too old" in found.err
    assert not Path("s.csv").exists()
    assert say("course grade . --out s.csv --way fork --trust-the-notebooks").code == 0


@pytest.mark.skipif(len(ways()) < 2, reason="children are forked on Linux alone")
@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_folder_is_graded(say, alone, language):
    source = (
        "from attention_book.course.exercises import check\n"
        "check('attention-pooling', lambda scores, values: scores.softmax(-1) @ values)\n"
        "check('rms-norm', lambda x, g: x)"
    )
    Path("in").mkdir()
    cell = {"cell_type": "code", "source": source}
    Path("in/anna.ipynb").write_text(json.dumps({"cells": [cell]}), encoding="utf8")
    line = "course grade in --out out/s.csv --feedback pages --way fork --draws 0 --jobs 1"
    found = say(f"{line} --exercise attention-pooling=2 --exercise rms-norm --lang {language}")
    assert found.code == 0, found.err
    assert STOPS["fork"].text(language) in found.err.replace("\n", "")
    table = Path("out/s.csv").read_text(encoding="utf-8-sig").splitlines()
    assert table[0].split(",")[1:3] == ["attention-pooling", "rms-norm"]
    assert table[1].split(",")[:4] == ["anna.ipynb", "1", "0", "2"]
    text = Path("pages/anna.html").read_text(encoding="utf8")
    assert f'<html lang="{language}">' in text
    assert Path("out/s.csv.results/run.json").is_file()
