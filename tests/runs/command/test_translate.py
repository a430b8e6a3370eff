"""``attention-book translate``: a line for each line, from wherever, and the viewer as a file."""

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_book.decoding import translate
from attention_book.runs import load_run
from attention_book.runs.command.speech.failures import ExitCode
from attention_book.runs.command.translators.learned import latest_run

LINES = ["i'm home .", "", "wait !", "   ", "he laughed ."]


@pytest.fixture(scope="session")
def run(tiny_run):
    return load_run(tiny_run / "runs/tiny")


def expected(run, text, **search):
    tokens = run.codec.source_tokens(text)
    if not tokens:
        return ""
    words = (run.codec.source_vocabulary, run.codec.target_vocabulary)
    return run.codec.target_text(translate(run.model, [tokens], *words, **search)[0].tokens)


def test_there_is_a_line_for_each_line_the_models_own(say, beside, run):
    found = say(["translate", *LINES])
    assert found.code == 0, found.err
    assert found.out.splitlines() == [expected(run, text) for text in LINES]
    assert found.out.splitlines()[1] == found.out.splitlines()[3] == ""


def test_line_file_and_standard_input_give_the_same(say, beside, tmp_path):
    file = tmp_path / "sentences.txt"
    file.write_text("\ufeff" + "\r\n".join(LINES), encoding="utf-8")
    wanted = say(["translate", *LINES]).out
    assert say(["translate", "--file", str(file)]).out == wanted
    for batch in ("1", "2", "64"):
        assert say(f"translate --batch {batch}", "\n".join(LINES)).out == wanted
    assert say(["translate", "--run", "runs/tiny", *LINES]).out == wanted


def test_the_search_is_the_one_asked_for(say, beside, run):
    found = say(["translate", "wait !", "--beam", "3", "--length-penalty", "1.5"])
    assert found.out == expected(run, "wait !", width=3, length_penalty=1.5) + "\n"


def test_the_weights_are_those_asked_for(say, beside):
    texts = {
        each: say(["translate", "--checkpoint", each, "he laughed ."]) for each in ("best", "last")
    }
    assert all(found.code == 0 for found in texts.values())
    missing = say("translate --checkpoint average hello")
    assert missing.code == ExitCode.RUN
    assert "average" in missing.err


def test_nothing_in_gives_nothing_out(say, beside):
    assert say("translate", "").out == ""
    assert say("translate", "\n").out == "\n"


@given(st.binary(max_size=60))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_as_many_lines_or_one_clear_error(say, beside, content):
    found = say("translate --batch 64", content)
    assert found.code in (0, ExitCode.DATA), found
    if found.code == 0:
        assert found.out.count("\n") == content.count(b"\n") + (
            not content.endswith(b"\n") and content != b""
        )
    else:
        assert re.search(r"standard input:\d+: expected UTF-8", found.err)


def test_what_a_model_writes_cannot_steer_a_terminal(say, beside, monkeypatch):
    monkeypatch.setattr(
        "attention_book.runs.codec.text_codec.TextCodec.target_text", lambda *_: "\x1b[2J\u2028a"
    )
    assert say("translate hello").out == "\\x1b[2J\\u2028a\n"


# --- the viewer ------------------------------------------------------------------------------


def test_the_viewer_is_one_file_that_loads_nothing(say, beside, tmp_path):
    path = tmp_path / "heads.html"
    found = say(["translate", "he laughed .", "--attention", str(path), "--lang", "zh"])
    assert found.code == 0, found.err
    assert found.out.count("\n") == 1, "the translation is written all the same"
    page = path.read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert "laughed" in page
    assert not re.search(r"(src|href)=\"http", page)
    assert '"language":"zh"' in page


@pytest.mark.parametrize("line", ["a b", "", "--file no.txt x"])
def test_the_viewer_shows_one_sentence(say, beside, line):
    found = say(f"translate {line} --attention heads.html", "")
    assert found.code == ExitCode.WRONG_LINE
    assert not Path("heads.html").exists()


def test_a_page_that_cannot_be_written_is_named(say, beside):
    found = say("translate hello --attention no/such/folder/x.html")
    assert found.code == ExitCode.WRONG_LINE
    assert "cannot be written" in found.err


# --- what cannot be used ---------------------------------------------------------------------


def test_without_a_run_it_says_how_to_get_one(say, alone):
    found = say("translate hello")
    assert found.code == ExitCode.RUN
    assert "attention-book train" in found.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--run nowhere hi", ExitCode.RUN),
        ("--run runs/tiny --recipe bahdanau-en-fr-1 hi", ExitCode.WRONG_LINE),
        ("--recipe nope hi", ExitCode.WRONG_LINE),
        ("--file nowhere.txt", ExitCode.DATA),
        ("--file .", ExitCode.DATA),
        ("--beam 0 hi", ExitCode.WRONG_LINE),
    ],
)
def test_every_reason_has_its_code(say, beside, line, code):
    found = say(f"translate {line}")
    assert found.code == code, found
    assert len(found.err.splitlines()) == 1


def test_a_damaged_run_is_refused(say, beside, tmp_path):
    shutil.copytree("runs/tiny", tmp_path / "copy")
    for name in ("best.safetensors", "codec.json", "settings.toml"):
        file = tmp_path / "copy" / name
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        found = say(["translate", "--run", str(tmp_path / "copy"), "hello"])
        assert found.code == ExitCode.RUN, (name, found)
        file.write_bytes(whole)


def test_the_latest_run_is_used(say, beside, tmp_path):
    shutil.copytree("runs", tmp_path / "runs", copy_function=shutil.copy)
    shutil.copytree("runs/tiny", tmp_path / "runs/zzz", copy_function=shutil.copy2)
    assert latest_run(tmp_path / "runs").name == "tiny"
