"""``attention-book translate``: a line for each line, from wherever, and the viewer as a file.

Words that a model does not know are named on standard error; one bad line loses nothing else.
"""

import json
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_book.cli.errors import ExitCode, likely_encoding
from attention_book.cli.translators import latest_run
from attention_book.decoding import translate
from attention_book.runs import TextCodec, TextSettings, load_run

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
        "attention_book.runs.codec.TextCodec.target_text", lambda *_: "\x1b[2J\u2028a"
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

    module = import_module("attention_book.cli.translators")
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


UNKNOWN = "the zyzzyva greets the quokka and the zyzzyva ."


def names(said):
    """The words that the lines of standard error name, by the line that they are about."""
    found = {}
    for line in said.err.splitlines():
        place, _, rest = line.rpartition("unknown to the model: ")
        found[place] = rest.split(", ")
    return found


def test_each_unknown_word_is_named_once_in_order(say, beside, run):
    words = run.codec.source_tokens(UNKNOWN)
    expected = list(dict.fromkeys(w for w in words if w not in run.codec.source_vocabulary))
    assert expected[-1] == "quokka" or "quokka" in expected
    found = say(["translate", UNKNOWN])
    assert found.code == 0
    assert names(found) == {"": expected}
    assert found.out.count("\n") == 1
    assert "zyzzyva" not in found.out


@pytest.mark.parametrize("batch", ["1", "2", "64"])
def test_each_line_has_its_own_line_and_its_number(say, beside, batch):
    lines = ["wait !", "", "wait zyzzyva !", "wait !", "quokka quokka !"]
    found = say(["translate", "--batch", batch], "\n".join(lines))
    assert names(found) == {"line 3: ": ["zyzzyva"], "line 5: ": ["quokka"]}
    assert say(["translate", "--batch", batch, *lines]).err == found.err
    assert found.out.count("\n") == 5


def test_what_is_known_needs_no_word(say, beside, run):
    known = " ".join(run.codec.source_vocabulary.tokens[4:12])
    assert say(["translate", known]).err == ""


def test_it_is_said_in_both_languages(say, beside):
    assert say(["translate", "--lang", "zh", "zyzzyva !"]).err == "模型不认识的词：zyzzyva\n"
    found = say(["translate", "--lang", "zh", "wait !", "zyzzyva !"])
    assert found.err == "第 2 行：模型不认识的词：zyzzyva\n"


def test_a_word_that_is_spelled_as_a_special_token_is_unknown(say, beside):
    assert names(say(["translate", "wait <pad> !"])) == {"": ["<pad>"]}


def test_many_words_and_long_ones_are_cut_short_and_none_steers_a_terminal(say, beside):
    text = " ".join([*(f"zyzzyva{n}" for n in range(20)), "wait"])
    found = say(["translate", text])
    assert found.err.endswith("zyzzyva7 and 12 more\n")
    assert say(["translate", "--lang", "zh", text]).err.endswith("zyzzyva7 等 20 个\n")
    found = say(["translate", "q\x1b[2J" + "q" * 5000])
    assert len(found.err) < 100
    assert "\x1b" not in found.err


def test_subwords_know_every_word():
    lines = [("Go on.", "Va !")] * 9
    codec = TextCodec.learn(lines, TextSettings(unit="subwords", num_pieces=300), ("en", "fr"))
    assert codec.unknown_words(UNKNOWN) == ()


def test_an_evaluation_says_how_many_sentences_have_some(say, beside, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("Wait!\tAttends !\nWait, quokka!\tAttends !\nThe quokka, zyzzyva!\tLe !\n")
    found = say(["evaluate", "--test", str(file), "--resamples", "0", "--json"])
    assert found.code == 0, found.err
    json.loads(found.out)
    [line] = found.err.splitlines()
    assert line.startswith("runs/tiny: 2 of 3 sentences have words unknown to the model: quokka, ")
    found = say(["evaluate", "--test", str(file), "--resamples", "0", "--lang", "zh"])
    assert "3 句原文里，2 句有模型不认识的词：quokka、" in found.err


LONG = "wait ! " * 600
BAD = {
    "too long": LONG.encode(),
    "latin-1": "déjà vu".encode("latin-1"),
    "gbk": "注意力".encode("gbk"),
    "a huge line": b"x" * (1 << 20) + b"yyy",
    "cut in the middle": "é".encode()[:1],
    "long and Chinese": ("注" * 1200).encode() + b" " + b"a " * 1200,
}


@pytest.mark.parametrize("kind", BAD)
def test_the_lines_around_it_are_translated_where_they_stand(say, beside, tmp_path, kind):
    """The kind: whatever keeps a line from being translated; first, last, between, in a batch."""
    good, bad = b"wait !", BAD[kind]
    expected = say("translate -", good).out.strip()
    for place in (0, 1, 2):
        lines = [good] * 3
        lines[place] = bad
        (tmp_path / "in.txt").write_bytes(b"\n".join(lines) + b"\n")
        found = say(["translate", "--file", str(tmp_path / "in.txt"), "--batch", "2"])
        assert found.code == ExitCode.DATA
        wanted = [expected] * 3
        wanted[place] = ""
        assert found.out.split("\n") == [*wanted, ""]
        assert f"line {place + 1}: not translated" in found.err
        assert "1 of 3 lines could not be translated" in found.err.splitlines()[-1]


def test_a_line_that_the_model_itself_refuses_is_found_among_the_others(say, beside, monkeypatch):
    module = import_module("attention_book.cli.translators")
    whole = module.translate

    def picky(model, sentences, *rest, **search):
        if any("dog" in sentence for sentence in sentences):
            raise ValueError("positions: expected at most max_positions=8, got 9")
        return whole(model, sentences, *rest, **search)

    expected = say("translate -", "wait !\nwait !\n").out
    monkeypatch.setattr(module, "translate", picky)
    found = say("translate -", "wait !\na dog\nwait !\n")
    assert found.code == ExitCode.DATA
    assert found.out == expected.replace("\n", "\n\n", 1)
    assert "line 2: not translated" in found.err
    assert "max_positions=8" in found.err


def test_no_page_is_written_of_a_sentence_that_was_not_translated(say, beside, tmp_path):
    (tmp_path / "in.txt").write_text(LONG, encoding="utf-8")
    page = tmp_path / "x.html"
    found = say(["translate", "--file", str(tmp_path / "in.txt"), "--attention", str(page)])
    assert (found.code, page.exists()) == (ExitCode.DATA, False)


def test_a_score_goes_on_without_it(say, beside, tmp_path):
    lines = ["wait !\tattends !", f"{LONG}\tattends !", "he laughed .\til a ri ."]
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = say(f"evaluate --test {tmp_path}/t.tsv --resamples 0 --save {tmp_path}/out.txt")
    assert found.code == ExitCode.DATA
    assert "BLEU" in found.out
    assert "sentence 2: not translated, and scored as empty" in found.err
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").split("\n")[1] == ""


@pytest.mark.parametrize("penalty", ["-1", "-0.001", "11", "1e300", "inf", "x"])
def test_a_search_that_there_is_not_is_a_wrong_line_and_no_wrong_sentence(say, beside, penalty):
    found = say(["translate", "hi", "--length-penalty", penalty])
    assert (found.code, found.out) == (ExitCode.WRONG_LINE, "")


# --- files to train on -------------------------------------------------------------------------

TRAIN = "train --train pairs.tsv --source it --target en --steps 1 --folder one"


def test_all_bad_lines_are_named_and_the_advice_works(say, alone):
    lines = [f"io vedo {n} case\tI see {n} houses" for n in range(60)]
    for number in (3, 7, 9, 20, 31, 40, 55):
        lines[number - 1] = "no tab here"
    Path("pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = say(TRAIN)
    assert found.code == ExitCode.DATA
    for number in (3, 7, 9):
        assert f"pairs.tsv:{number}:" in found.err
    assert "7 lines are no pairs of sentences" in found.err
    look = re.search(r"See them all: attention-book (.+?);", found.err)
    leave = re.search(r"leave them out: (--set \S+)", found.err)
    assert look
    assert leave
    assert "7 lines are no pairs of sentences" in say(look[1]).out
    small = "--set model.config.d_model=8 --set model.config.num_heads=2 --bpe 300"
    again = say(f"{TRAIN} {leave[1]} {small}")
    assert again.code == 0, again.err


def test_files_of_different_lengths_are_counted(say, alone):
    Path("a.it").write_text("uno\ndue\ntre\n", encoding="utf-8")
    Path("a.en").write_text("one\ntwo\nthree\nfour\nfive\n", encoding="utf-8")
    found = say("train --train a.it a.en --source it --target en --folder one")
    assert found.code == ExitCode.DATA
    assert "a.it: expected as many lines as in a.en, 5, got 3" in found.err


TEXTS = {
    "gb18030": "注意力是什么，它怎么工作",
    "utf-16": "注意力是什么",
    "utf-16-le": "What is attention?",
    "latin-1": "l'été à Paris n'est pas déjà là",
    "cp1251": "добрый день, друзья мои, что такое внимание",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_an_encoding_is_named_with_a_cure_that_works(say, alone, encoding):
    text = f"{TEXTS[encoding]}\tattention\n" * 3
    Path("pairs.tsv").write_bytes(text.encode(encoding))
    found = say(TRAIN)
    assert found.code == ExitCode.DATA
    line = re.search(r"(iconv .+ > utf-8\.txt)", found.err)
    assert line, found.err
    subprocess.run(["bash", "-c", line[1]], check=True)
    assert Path("utf-8.txt").read_text(encoding="utf-8-sig") == text
    assert likely_encoding(text.encode(encoding)) in line[1]
