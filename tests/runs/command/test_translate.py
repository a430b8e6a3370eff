"""``attention-book translate``: a line for each line, from wherever, and the viewer as a file."""

import re
import shutil
from importlib import import_module
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


# --- what is no sentence ---------------------------------------------------------------------


def test_a_line_without_an_end_is_not_read_into_memory(say, beside):
    found = say("translate --file /dev/zero")
    assert found.code == ExitCode.DATA
    assert "/dev/zero:1: expected a line of at most 1048576 bytes, got more" in found.err


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_line_that_is_longer_than_any_sentence_is_named(say, beside, lang):
    found = say(["translate", "--lang", lang, "wait ! " * 2000])
    assert (found.code, found.out) == (ExitCode.DATA, "")
    assert found.err.splitlines()[-1].startswith("attention-book")
    assert "4000" in found.err
    assert len(found.err) < 300


def test_a_sentence_that_has_more_words_than_the_model_has_places_is_named(
    say, beside, monkeypatch
):
    def refuse(*_, **__):
        raise ValueError(
            "positions: expected at most max_positions=128, got the positions 0 to 200"
        )

    module = import_module("attention_book.runs.command.translators.learned")
    monkeypatch.setattr(module, "translate", refuse)
    found = say("translate wait")
    assert found.code == ExitCode.DATA
    assert "max_positions=128" in found.err


# --- files -----------------------------------------------------------------------------------


def test_a_link_stays_a_link_and_a_device_a_device(say, beside, tmp_path):
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    for path in (str(tmp_path / "link.html"), "/dev/null"):
        found = say(["translate", "wait !", "--attention", path])
        assert found.code == 0, found.err
    assert (tmp_path / "link.html").is_symlink()
    assert "Content-Security-Policy" in (tmp_path / "page.html").read_text()
    assert Path("/dev/null").is_char_device()


def test_a_page_is_there_whole_or_as_it_was(say, beside, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", die)
    found = say(["translate", "wait !", "--attention", str(path)])
    assert found.code == ExitCode.INTERRUPTED
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
