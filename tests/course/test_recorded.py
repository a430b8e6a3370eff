"""Recorded runs: each can be repeated by its line, says where it comes from, and adds up."""

from __future__ import annotations

import shlex
import sys

import pytest
from click.testing import CliRunner

from attention_book.cli.program import program
from attention_book.course.recorded import RECORDS, recorded_run
from attention_book.runs import RunSettings

NAMES = sorted(path.stem for path in RECORDS.glob("*.json"))


@pytest.fixture(params=NAMES)
def record(request):
    return recorded_run(request.param)


def test_there_are_records():
    assert {"multi30k-en-de", "multi30k-en-de-bahdanau", "tatoeba-eng-fra"} <= set(NAMES)


def test_its_line_gives_its_settings(record):
    name, *line = shlex.split(record["command"])
    assert name == "attention-book"
    found = CliRunner().invoke(program, [*line, "--print-settings"])
    assert found.exit_code == 0, found.stderr
    assert RunSettings.from_toml(found.stdout) == RunSettings.from_dict(record["settings"])


def test_it_says_where_it_was_made(record):
    for made in record["made"]:
        assert len(made["commit"]) == 40
        assert made["processor"]
        assert made["date"].startswith("20")
        assert made["threads"] >= 1


def test_what_it_says_adds_up(record):
    steps = [line["step"] for line in record["log"]]
    assert steps == sorted(set(steps))
    minutes = [line["minutes"] for line in record["log"]]
    assert minutes == sorted(minutes)
    assert sum(count for _, _, count in record["text"]["lengths"]) <= record["text"]["pairs"]
    assert sum(record["time"].values()) == pytest.approx(1, abs=0.001)
    assert all(each["found"] <= each["asked"] for each in record["faults"]["words"])
    for scores in record["scores"].values():
        assert scores["num_sentences"] == record["text"]["test"]
        assert sum(each["count"] for each in scores["by_length"]) == record["text"]["test"]


def test_no_sentence_of_a_corpus_is_in_it(record):
    """A licence may forbid it: all text in a record is our own."""
    own = {sentence for pair in record["sentences"] for sentence in pair}
    texts = [each for each in _texts(record) if len(each.split()) > 3]
    assert set(texts) - own <= {record["command"]}


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def test_it_comes_with_the_package_wherever_one_is(monkeypatch, tmp_path):
    """No network, no repository near, no copy of another day: it is of one commit with the code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert recorded_run("multi30k-en-de")["name"] == "multi30k-en-de"


def test_what_is_nowhere_is_told():
    with pytest.raises(ValueError, match=r"name: expected one of multi30k-en-de, .*got 'nothing'"):
        recorded_run("nothing")
