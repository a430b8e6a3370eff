"""One bad line loses nothing of a file: what it is, and what to do, is told; the rest goes on."""

import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from attention_book.runs.command.speech.encodings import likely_encoding
from attention_book.runs.command.speech.failures import ExitCode

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
    module = import_module("attention_book.runs.command.translators.learned")
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
