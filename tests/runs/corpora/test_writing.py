"""A folder with the corpus's name is whole, whenever the process that writes it is killed."""

import os
import shutil
import signal
from pathlib import Path

import pytest
import torch

from attention_book.runs import PreparedCorpus
from attention_book.runs.corpora import Skipped
from attention_book.text import CorpusError, Vocabulary

WORDS = Vocabulary.build([("a", "b", "c")])
PAIRS = [([4 + number % 3] * (1 + number % 5), [5]) for number in range(50)]


def prepare(folder, pairs=PAIRS, **options):
    options = {"digest": "these"} | options
    return PreparedCorpus.prepare(folder, pairs, vocabularies=(WORDS, WORDS), **options)


def never():
    raise AssertionError("the pairs were asked for")
    yield


# --- killed ----------------------------------------------------------------------------------


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def killed(folder, where, number, pairs=PAIRS, digest="these"):
    """Prepare in a process that kills itself at the n-th call of a function of ``os``."""
    child = os.fork()
    if not child:
        try:
            real, calls = getattr(os, where), iter(range(1000))

            def counted(*args, **options):
                if next(calls) == number:
                    kill()
                return real(*args, **options)

            setattr(os, where, counted)
            prepare(folder, pairs, digest=digest)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("before", ["nothing", "another"])
def test_a_killed_preparation_leaves_nothing_that_looks_whole(tmp_path, before):
    folder = tmp_path / "train"
    moments = [("fsync", n) for n in range(6)] + [("rename", 0), ("unlink", 0), ("unlink", 3)]
    moments += [("mkdir", n) for n in range(2)] + [("rmdir", 0), ("rmdir", 1)]
    deaths = 0
    for where, number in moments:
        shutil.rmtree(folder, ignore_errors=True)
        if before == "another":
            prepare(folder, [([6], [6])], digest="another")
        deaths += killed(folder, where, number)
        for digest, size in (("these", 50), ("another", 1)):
            try:
                corpus = PreparedCorpus.open(folder, digest=digest)
            except CorpusError:
                continue
            assert len(corpus) == size
        assert len(prepare(folder)) == 50
        assert [path.name for path in tmp_path.iterdir()] == ["train"]  # nothing is left over
    assert deaths >= 7


def test_killed_among_the_pairs(tmp_path):
    def until(last):
        for number, pair in enumerate(PAIRS):
            if number == last:
                kill()
            yield pair

    for last in (0, 1, 49):
        child = os.fork()
        if not child:
            prepare(tmp_path / "train", until(last))
            os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        assert not (tmp_path / "train").exists()
    assert len(prepare(tmp_path / "train")) == 50
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


# --- begun again -----------------------------------------------------------------------------


def test_what_is_whole_is_not_begun_again(tmp_path):
    first = prepare(tmp_path / "train")
    again = prepare(tmp_path / "train", never())
    assert torch.equal(again.batch(torch.arange(50)).source, first.batch(torch.arange(50)).source)


def test_what_is_whole_and_other_is_replaced(tmp_path):
    old = prepare(tmp_path / "train")
    new = prepare(tmp_path / "train", PAIRS[:7], digest="fewer")
    assert (len(old), len(new)) == (50, 7)
    assert old.batch(torch.tensor([49])).source.tolist()  # who has it open reads on


def test_an_error_among_the_pairs_leaves_nothing(tmp_path):
    def pairs():
        yield PAIRS[0]
        raise CorpusError("a.tsv:2: no tab")

    with pytest.raises(CorpusError, match="no tab"):
        prepare(tmp_path / "train", pairs())
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        prepare(tmp_path / "train")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["notes.txt", "header.json.bak", "more"])
def test_a_folder_of_something_else_is_not_touched(tmp_path, name):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / name).write_text("mine")
    with pytest.raises(CorpusError, match="expected a prepared corpus or nothing"):
        prepare(tmp_path / "train")
    assert (tmp_path / "train" / name).read_text() == "mine"
    with pytest.raises(CorpusError, match="expected a prepared corpus or nothing"):
        prepare(tmp_path / "train" / name)


def test_folders_with_alike_names_do_not_take_each_other_away(tmp_path):
    (tmp_path / ".train.1.2.part").mkdir()
    (tmp_path / ".train-2.1.part").mkdir()
    prepare(tmp_path / "train")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".train-2.1.part", "train"]


# --- what is left out ------------------------------------------------------------------------


def test_what_is_left_out_is_counted(tmp_path):
    skipped = Skipped(count=4)
    pairs = [([4], []), ([], [4]), ([4] * 3, [4] * 3), ([4] * 4, [4]), ([4], [4] * 4)]
    corpus = prepare(tmp_path / "train", pairs, max_tokens=3, skipped=skipped)
    header = corpus.header
    assert (len(corpus), header.empty, header.too_long, header.skipped) == (1, 2, 2, 4)
    assert corpus.batch(torch.tensor([0])).source.tolist() == [[4, 4, 4, 3]]


def test_lines_that_are_skipped_on_the_way_are_counted_too(tmp_path):
    skipped = Skipped()

    def pairs():
        yield from PAIRS
        skipped.add("the last line")

    assert prepare(tmp_path / "train", pairs(), skipped=skipped).header.skipped == 1


def test_nothing_left_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"got none \(1 too long, 1 empty\)"):
        prepare(tmp_path / "train", [([4, 4], [4]), ([], [4])], max_tokens=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [-1, 7, 2**16, 2**40])
def test_a_number_of_no_token_is_refused(tmp_path, number):
    with pytest.raises(ValueError, match="numbers: expected some below 7"):
        prepare(tmp_path / "train", [([4, number], [4])])


def test_the_caller_hears_how_far_it_is(tmp_path):
    heard = []
    prepare(tmp_path / "train", [([4], [4])] * 25_000, progress=heard.append)
    assert heard == [10_000, 20_000, 25_000]
    assert Path(tmp_path / "train" / "source.numbers").stat().st_size == 100_000
