"""The reader's own file goes along with the progress: the later one counts, none is lost."""

import json
import re
from pathlib import Path

import pytest
from questions.scripts import MODULES
from reader import Reader

ROOT = Path(__file__).resolve().parents[2]
KEY = "book-python:my_attention.py"
MINE = {"text": "a = 1\n", "at": 5.5, "held": 2, "heldText": "a = 1\n", "before": ""}
THEIRS = {"text": "b = 2\n", "at": 9.25, "held": 0, "heldText": "", "before": "c = 3\n"}
PROGRESS = {"attention-book": "progress", "version": 1, "cards": {}}


@pytest.fixture
def reader():
    found = Reader()
    yield found
    found.close()


def put(reader, own):
    text = own if isinstance(own, str) else json.dumps(own)
    reader.run(f"kept.set({json.dumps(KEY)}, {json.dumps(text)})")


def kept(reader):
    return json.loads(str(reader.engine.eval(f'kept.get("{KEY}") ?? "null"')))


def take(reader, own):
    text = json.dumps({**PROGRESS, "my_attention.py": own})
    return reader.call("takeOwnFile", text, module="along")


def test_the_script_of_the_pages_keeps_it_under_the_same_key():
    page = (ROOT / "book/_ext/page_python/static/own_file.js").read_text(encoding="utf8")
    along = (MODULES / "along.mjs").read_text(encoding="utf8")
    keys = [re.findall(r'"(book-python:[^"]+)"', text) for text in (page, along)]
    assert keys == [[KEY], [KEY]]


def test_what_is_saved_comes_back(reader):
    put(reader, MINE)
    saved = reader.call("withOwnFile", json.dumps(PROGRESS), module="along")
    assert json.loads(saved) == {**PROGRESS, "my_attention.py": MINE}
    reader.run("kept.clear()")
    assert reader.call("takeOwnFile", saved, module="along")
    assert kept(reader) == MINE
    assert reader.call("fromFile", saved) == 0  # the store takes it for its own


def test_without_a_file_nothing_goes_along(reader):
    text = json.dumps(PROGRESS)
    assert reader.call("withOwnFile", text, module="along") == text
    put(reader, {**MINE, "text": " \n"})
    assert reader.call("withOwnFile", text, module="along") == text
    reader.run("allowed = false")
    assert reader.call("withOwnFile", text, module="along") == text


def test_the_later_one_counts_and_the_other_can_be_put_back(reader):
    put(reader, MINE)
    assert take(reader, THEIRS)
    assert kept(reader) == {**THEIRS, "before": MINE["text"]}
    put(reader, {**MINE, "at": 10})
    assert not take(reader, THEIRS)
    assert kept(reader)["text"] == MINE["text"]
    put(reader, {**MINE, "text": "", "at": 10})  # nothing is older than something
    assert take(reader, THEIRS)


@pytest.mark.parametrize(
    "own",
    [
        None, 7, [], "text", {"text": 7, "at": 9}, {"text": "x", "at": "9"}, {"text": "x"},
        {"text": "x", "at": 1e300}, {"text": "x" * 200_001, "at": 9}, {"text": "x", "at": -1},
    ],
    ids=str,
)  # fmt: skip
def test_whoever_wrote_it_only_the_right_form_comes_in(reader, own):
    put(reader, MINE)
    assert not take(reader, own)
    assert kept(reader) == MINE


def test_only_the_right_parts_come_in(reader):
    assert take(reader, {**THEIRS, "held": 99, "heldText": 7, "before": [], "other": "x"})
    assert kept(reader) == {**THEIRS, "before": ""}


def test_what_cannot_be_read_or_written_is_left_as_it_is(reader):
    put(reader, "no JSON")
    assert not take(reader, THEIRS)
    assert reader.engine.eval(f'kept.get("{KEY}")') == "no JSON"
    put(reader, MINE)
    reader.run("room = 3")
    assert not take(reader, THEIRS)
    assert kept(reader) == MINE
