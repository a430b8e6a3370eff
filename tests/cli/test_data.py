"""``attention-book data``: what is counted is what is there, and checksums are compared."""

import gzip
import hashlib
import random
from collections import Counter
from pathlib import Path

from attention_book.cli.data import Side, cut, described, state_of
from attention_book.cli.errors import ExitCode
from attention_book.runs.corpus import Skipped
from attention_book.runs.settings import CORPORA, DataSettings, RunSettings
from attention_book.text.corpora import CorpusFile, corpus_files


def test_every_corpus_is_listed(say, alone):
    found = say("data")
    assert [line.split()[0] for line in found.out.splitlines() if line[:1].strip()] == list(CORPORA)


def test_a_file_is_counted(say, alone):
    lines = ["Go.\tVa !", "Go.\tVas !", "no tab", "I run.\tJe cours.", "a\tb\tc", "\tx"]
    Path("p.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("t.tsv").write_text("Go.\tVa.\nYou swim.\tTu nages.\n", encoding="utf-8")
    data = DataSettings(
        corpus=None, train=("p.tsv",), validation=("t.tsv",), test=("t.tsv",), on_problem="skip"
    )
    skipped = Skipped()
    parts = described(data, skipped)
    train, test = parts["train"], parts["test"]
    assert (train.num_pairs, train.twice, skipped.count) == (3, 1, 3)
    assert train.source.words == {"go": 2, ".": 3, "i": 1, "run": 1}
    assert train.source.num_tokens == 7
    assert (train.source.length_at(0.5), train.source.length_at(1.0)) == (2, 3)
    assert test.seen_in(train) == 1
    assert test.source.share_unknown(train.source.words) == 2 / 5
    said = say("data p.tsv --validation t.tsv --test t.tsv")
    assert said.code == 0, said.err
    for expected in (
        "3 pairs of sentences",
        "unknown words 40.0%",
        "1 sources stand in the training",
    ):
        assert expected in said.out
    for line, reason in ((3, "no tab"), (5, "2 tabs"), (6, "empty source")):
        assert f"p.tsv:{line}: " in said.out
        assert reason in said.out


def test_words_are_those_of_the_language_whatever_its_code(say, alone):
    """The kind: a code that nobody knew made one word of each sentence that has no blanks."""
    assert cut("我用 Go 写。", "cmn") == cut("我用 Go 写。", "zh_TW") == (*"我用", "go", *"写。")
    for text, code in (
        ("東京へ行く", "jpn"),
        ("กินข้าว", "tha"),
        ("我读书", "qaa"),
        ("ငါစား", "mya"),
    ):
        assert cut(text, code) == tuple(text)
    assert cut("Vai a Roma, 3.5 km.", "it") == ("vai", "a", "roma,", "3.5", "km.")
    Path("p.tsv").write_text("go on\t我们继续读书。\n" * 2, encoding="utf-8")
    Path("t.tsv").write_text("go on\t我们读书。\n", encoding="utf-8")
    for code in ("cmn", "ZH", "zh_Hans", "zh", "yue"):
        said = say(f"data p.tsv --source eng --target {code} --test t.tsv")
        assert said.code == 0, said.err
        assert said.out.count("unknown words 0.0%") == 2, said.out
        assert f"[eng → {code}]" in said.out


def test_two_parallel_packed_files_and_the_same_in_one(say, alone):
    pairs = [(f"word {n}", f"mot {n}") for n in range(60)]
    Path("one.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    for name, side in (("a.gz", 0), ("b.gz", 1)):
        Path(name).write_bytes(gzip.compress("".join(f"{p[side]}\n" for p in pairs).encode()))
    one, two = (say(f"data {names}").out.partition("\n")[2] for names in ("one.tsv", "a.gz b.gz"))
    assert one == two
    assert "none of its sources stands in the training" in one


def test_a_length_is_one_that_enough_sentences_do_not_exceed():
    draw = random.Random(0)
    lengths = [draw.randint(1, 20) for _ in range(101)]
    side = Side(lengths=Counter(lengths))
    for share in (0.1, 0.5, 0.95, 1.0):
        found = side.length_at(share)
        assert sum(length <= found for length in lengths) >= share * 101
        assert sum(length < found for length in lengths) < share * 101


def test_checksums_are_compared(say, alone, monkeypatch):
    monkeypatch.setenv("ATTENTION_BOOK_DATA", str(alone))
    missing = say("data multi30k-en-de --check")
    assert missing.code == ExitCode.DATA
    assert missing.out.count("missing") == 6
    content = b"right"
    file = CorpusFile("x", "", f"sha256:{hashlib.sha256(content).hexdigest()}", alone / "x")
    assert state_of(file) == "missing"
    file.path.write_bytes(b"wrong")
    assert state_of(file) == "damaged"
    file.path.write_bytes(content)
    assert state_of(file) == "whole"
    assert {each.path.parent for each in corpus_files("multi30k-en-fr")} == {alone / "multi30k"}


def test_what_cannot_be_fetched_is_told(say, alone):
    for line in ("data --fetch", "data grammar --check", "data pairs.tsv --fetch"):
        assert say(line).code == ExitCode.WRONG_LINE
    assert RunSettings().data.corpus in CORPORA
