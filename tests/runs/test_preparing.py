"""From settings to numbers on the disk: whole whenever it is killed, nothing lost or done twice."""

import json
import os
import shutil
import signal
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs import (
    BatchPlan,
    DataSettings,
    PreparedCorpus,
    TextSettings,
    learn_codec,
    prepare_split,
    read_lines,
)
from attention_book.runs import batches as preparing
from attention_book.runs.batches import Header, corpus_digest
from attention_book.runs.corpus import Skipped
from attention_book.text import CorpusError, Vocabulary, grammar_corpus

pytestmark = pytest.mark.usefixtures("few_sentences")

HEADER = Header(
    digest="ab",
    rows=3,
    num_sources=8,
    num_targets=6,
    source_vocabulary=9,
    target_vocabulary=11,
    too_long=1,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_it_is_read_back():
    assert Header.from_json(HEADER.to_json()) == HEADER


@given(st.binary() | st.text() | JSON.map(json.dumps) | st.just("[" * 100_000))
def test_anything_else_is_an_error(text):
    with pytest.raises(ValueError, match="expected"):
        Header.from_json(text)


@given(st.sampled_from([*asdict(HEADER), "format", "byte_order"]), JSON)
def test_a_field_of_another_kind_is_named(name, value):
    content = json.loads(HEADER.to_json())
    if type(value) is type(content[name]):
        value = [value]
    content[name] = value
    with pytest.raises(ValueError, match=rf"^{name}: expected .*, got"):
        Header.from_json(json.dumps(content))


@pytest.mark.parametrize("name", [field.name for field in fields(Header)])
def test_no_field_may_be_missing(name):
    content = json.loads(HEADER.to_json())
    del content[name]
    with pytest.raises(ValueError, match=rf"^{name}: expected .*, got None"):
        Header.from_json(json.dumps(content))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"rows": 4},
        {"rows": -1},
        {"num_targets": 5},
        {"num_sources": 2**63},
        {"source_pad": 9},
        {"target_pad": 11},
        {"target_bos": 11},
        {"source_vocabulary": 0},
    ],
)
def test_numbers_that_contradict_each_other_are_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        Header.from_json(replace(HEADER, **wrong).to_json())


SUBWORDS = TextSettings(unit="subwords", num_pieces=300)
GRAMMAR = DataSettings(num_train=150)


@pytest.fixture
def data(tmp_path):
    """A file of one's own."""
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"Sentence {n}.\tFrase {n}.\n" for n in range(200)))
    return DataSettings(corpus=None, train=(str(path),), target="it", held_out=0.1)


def decoded(corpus, codec):
    batches = corpus.batches(BatchPlan(batch_size=16), 1)
    found = []
    for batch in batches:
        for number in range(len(batch)):
            source = batch.source[number][batch.source_mask[number]].tolist()
            target = batch.target_output[number][batch.target_mask[number]].tolist()
            found.append(
                (
                    codec.source_text(codec.source_vocabulary.decode(source[:-1])),
                    codec.target_text(codec.target_vocabulary.decode(target[:-1])),
                )
            )
    return found


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("text", [TextSettings(), SUBWORDS, replace(SUBWORDS, shared=False)])
def test_every_line_comes_back_from_the_batches(tmp_path, split, text):
    codec = learn_codec(GRAMMAR, text)
    corpus = prepare_split(tmp_path / split, GRAMMAR, split, codec)
    lines = list(read_lines(GRAMMAR, split))
    if text.unit == "words" and split != "train":  # some words were never seen
        assert len(decoded(corpus, codec)) == len(lines)
    else:
        assert sorted(decoded(corpus, codec)) == sorted(lines)


def test_the_grammar_s_vocabularies_are_those_of_its_recipes():
    codec = learn_codec(GRAMMAR, TextSettings())
    pairs = grammar_corpus("en", "fr", num_train=150, num_test=20).train
    assert codec.source_vocabulary == Vocabulary.build(pair.source for pair in pairs)
    assert codec.target_vocabulary == Vocabulary.build(pair.target for pair in pairs)


def test_only_the_training_part_is_learned_from(data):
    path = Path(data.train[0])
    held_out = next(read_lines(data, "test"))[0]
    path.write_text(path.read_text().replace(f"{held_out}\tFrase", f"{held_out}\tžžžžžžžžž"))
    codec = learn_codec(data, SUBWORDS)
    assert len(codec.target_tokens("žžž")) > 2  # spelled out: never seen


def test_what_is_prepared_is_not_prepared_again(tmp_path, data, monkeypatch):
    codec = learn_codec(data, SUBWORDS)
    first = prepare_split(tmp_path / "train", data, "train", codec)

    def never(*args, **options):
        raise AssertionError("the corpus was read")
        yield

    monkeypatch.setattr(preparing, "read_lines", never)
    again = prepare_split(tmp_path / "train", data, "train", codec)
    assert torch.equal(again.batch(torch.arange(5)).source, first.batch(torch.arange(5)).source)
    other = replace(data, max_tokens=3)
    with pytest.raises(AssertionError, match="the corpus was read"):
        prepare_split(tmp_path / "train", other, "train", codec)


def test_the_digest_follows_the_content_and_not_the_name(tmp_path, data):
    codec = learn_codec(data, SUBWORDS)
    digest = corpus_digest(data, "train", codec)
    copy = tmp_path / "copy.tsv"
    copy.write_bytes(Path(data.train[0]).read_bytes())
    assert corpus_digest(replace(data, train=(str(copy),)), "train", codec) == digest
    copy.write_bytes(copy.read_bytes().replace(b"Frase 7.", b"Frase 8."))
    others = {
        corpus_digest(replace(data, train=(str(copy),)), "train", codec),
        corpus_digest(data, "test", codec),
        corpus_digest(replace(data, max_tokens=9), "train", codec),
        corpus_digest(replace(data, held_out=0.2), "train", codec),
        corpus_digest(data, "train", learn_codec(data, replace(SUBWORDS, num_pieces=310))),
    }
    assert len(others - {digest}) == 5


def test_long_pairs_and_bad_lines_are_counted(tmp_path, data):
    path = Path(data.train[0])
    path.write_text(path.read_text() + "no tab\n" + "long " * 50 + "\tlungo\n")
    data = replace(data, on_problem="skip", max_tokens=40)
    skipped = Skipped()
    codec = learn_codec(data, SUBWORDS)
    corpus = prepare_split(tmp_path / "train", data, "train", codec, skipped=skipped)
    assert (corpus.header.too_long, corpus.header.skipped, skipped.count) == (1, 1, 1)
    assert len(corpus) + 1 == len(list(read_lines(data)))


def test_a_missing_file_is_a_corpus_error(tmp_path, data):
    codec = learn_codec(data, SUBWORDS)
    with pytest.raises(CorpusError, match=r"missing.tsv: cannot be read: No such file"):
        prepare_split(tmp_path / "train", replace(data, train=("missing.tsv",)), "train", codec)


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
