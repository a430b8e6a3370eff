"""Every corpus is read line by line; its parts have no source in common and leave nothing out."""

import gzip
import os
from pathlib import Path

import pytest

from attention_book.runs import DataSettings, read_lines
from attention_book.runs.corpora import SPLITS, Skipped, lines, part_of
from attention_book.text import (
    CorpusError,
    grammar_corpus,
    grammar_tokens,
    load_corpus,
    phrasebook,
    tokenize,
)

REAL = Path(os.environ.get("ATTENTION_BOOK_DATA", "no such folder"))
needs_real_files = pytest.mark.skipif(
    not (REAL / "tatoeba-eng-fra.tsv").exists(),
    reason="no real corpora: set ATTENTION_BOOK_DATA to a folder with tatoeba-eng-fra.tsv",
)


def read(split="train", skipped=None, **settings):
    return list(read_lines(DataSettings(**settings), split, skipped=skipped))


def numbered(size, start=0):
    return [(f"Sentence {number}.", f"Satz {number}.") for number in range(start, start + size)]


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


# --- embedded corpora ------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("zh", "en")])
def test_the_grammar_s_lines_are_its_sentences(source, target):
    corpus = grammar_corpus(source, target, num_train=150, num_test=20)
    settings = {"corpus": "grammar", "source": source, "target": target, "num_train": 150}
    for split, pairs in (
        ("train", corpus.train),
        ("validation", corpus.validation),
        ("test", corpus.random),
    ):
        found = read(split, **settings)
        tokens = [(grammar_tokens(s, source), grammar_tokens(t, target)) for s, t in found]
        assert tokens == [(pair.source, pair.target) for pair in pairs]


@pytest.mark.parametrize("corpus", ["grammar", "phrasebook"])
def test_any_code_of_a_language_names_it(corpus):
    """The kind: codes compared as strings; two of one language are no pair."""
    size = {"corpus": corpus, "num_train": 20}
    expected = read(source="en", target="zh", **size)
    for source, target in (("eng", "cmn"), ("EN", "zh_CN.UTF-8"), ("en-GB", "zho_Hans")):
        assert read(source=source, target=target, **size) == expected
    for source, target in (("en", "eng"), ("zh", "chi"), ("en", "yue"), ("deu", "en")):
        with pytest.raises(ValueError, match="expected"):
            read(source=source, target=target, **size)


def test_the_grammar_has_as_many_lines_as_the_book_s(monkeypatch):
    asked = []
    corpus = grammar_corpus("en", "fr", num_train=150, num_test=20)
    monkeypatch.setattr(lines, "grammar_corpus", lambda *args, **size: asked.append(size) or corpus)
    read()
    read(num_train=7)
    assert asked == [{}, {"num_train": 7}]


@pytest.mark.parametrize(("source", "target"), [("en", "zh"), ("fr", "en")])
def test_the_phrasebook_s_parts_are_the_phrasebook(source, target):
    settings = {"corpus": "phrasebook", "source": source, "target": target, "held_out": 0.1}
    parts = {split: read(split, **settings) for split in SPLITS}
    tokens = {
        (tokenize(s, source), tokenize(t, target)) for part in parts.values() for s, t in part
    }
    assert tokens == {(pair.source, pair.target) for pair in phrasebook(source, target)}
    sources = [{tokenize(source_text, source) for source_text, _ in part}
               for part in parts.values()]  # fmt: skip
    for number, one in enumerate(sources):
        for other in sources[number + 1 :]:
            assert not one & other


# --- corpora that are downloaded -------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One's own folder of files, named by the environment variable."""
    (tmp_path / "own" / "multi30k").mkdir(parents=True)
    monkeypatch.setenv("ATTENTION_BOOK_DATA", str(tmp_path / "own"))
    write(tmp_path / "own" / "tatoeba-eng-fra.tsv", numbered(300))
    for number, stem in enumerate(("train", "val", "test_2016_flickr")):
        for language, side in (("en", 0), ("de", 1)):
            text = "".join(f"{pair[side]}\n" for pair in numbered(20, 20 * number))
            path = tmp_path / "own" / "multi30k" / f"{stem}.{language}.gz"
            path.write_bytes(gzip.compress(text.encode()))
    return tmp_path / "own"


def test_tatoeba_is_divided_by_its_sources(folder):
    parts = [read(split, corpus="tatoeba-eng-fra", held_out=0.2) for split in SPLITS]
    assert sorted(line for part in parts for line in part) == sorted(numbered(300))
    assert [{part_of(source, 0.2) for source, _ in part} for part in parts] == [
        {split} for split in SPLITS
    ]


def test_multi30k_keeps_its_own_parts(folder):
    settings = {"corpus": "multi30k-en-de", "source": "en", "target": "de"}
    for number, split in enumerate(SPLITS):
        assert read(split, **settings) == numbered(20, 20 * number)


def test_a_corpus_can_be_read_the_other_way_round(folder):
    turned = read(corpus="multi30k-en-de", source="de", target="en")
    assert [(target, source) for source, target in turned] == numbered(20)
    parts = [read(split, corpus="tatoeba-eng-fra", source="fr", target="en", held_out=0.2)
             for split in SPLITS]  # fmt: skip
    assert len({source for part in parts for source, _ in part}) == 300
    assert part_of(parts[1][0][0], 0.2) == "validation"  # it is the source that decides


def test_a_language_that_a_corpus_lacks_is_named(folder):
    message = "source, target: expected en and de for multi30k-en-de, got 'en' and 'fr'"
    with pytest.raises(ValueError, match=message):
        read(corpus="multi30k-en-de")
    with pytest.raises(ValueError, match="en, fr, zh"):
        read(target="de")


def test_a_missing_corpus_says_what_to_do(folder):
    (folder / "tatoeba-eng-fra.tsv").unlink()
    with pytest.raises(CorpusError, match="ATTENTION_BOOK_DATA"):
        read(corpus="tatoeba-eng-fra")


@needs_real_files
@pytest.mark.parametrize("split", SPLITS)
def test_the_real_multi30k_has_the_lines_that_load_corpus_has(split):
    found = read(split, corpus="multi30k-en-de", target="de")
    pairs = load_corpus("multi30k-en-de", split={"validation": "val"}.get(split, split))
    assert [(tokenize(s, "en"), tokenize(t, "de")) for s, t in found] == [
        (pair.source, pair.target) for pair in pairs
    ]


@needs_real_files
def test_the_real_tatoeba_loses_no_line():
    parts = [read(split, corpus="tatoeba-eng-fra") for split in SPLITS]
    assert sum(map(len, parts)) == 18_066
    assert all(0.01 < len(part) / 18_066 < 0.03 for part in parts[1:])


# --- one's own files -------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path):
    """Files of one's own: 300 lines to train on, and others."""
    names = {"train": 0, "validation": 1000, "test": 2000}
    sizes = {"train": 300, "validation": 5, "test": 6}
    return {
        name: (write(tmp_path / f"{name}.tsv", numbered(sizes[name], start)),)
        for name, start in names.items()
    }


def test_without_files_of_their_own_the_parts_are_held_out(own):
    parts = [read(split, corpus=None, train=own["train"], held_out=0.1) for split in SPLITS]
    assert sorted(line for part in parts for line in part) == sorted(numbered(300))
    for part, split in zip(parts, SPLITS, strict=True):
        assert part == [line for line in numbered(300) if part_of(line[0], 0.1) == split]


@pytest.mark.parametrize("given", [("validation",), ("test",), ("validation", "test")])
def test_a_part_with_a_file_of_its_own_takes_nothing_from_the_training(own, given):
    settings = {"corpus": None, "held_out": 0.1} | {name: own[name] for name in ("train", *given)}
    held_out = [name for name in SPLITS[1:] if name not in given]
    for name in given:
        assert len(read(name, **settings)) == {"validation": 5, "test": 6}[name]
    for name in held_out:
        assert {part_of(source, 0.1) for source, _ in read(name, **settings)} == {name}
    parts = [read(name, **settings) for name in ("train", *held_out)]
    assert sorted(line for part in parts for line in part) == sorted(numbered(300))


def test_two_files_are_read_side_by_side(tmp_path):
    for side, name in enumerate(("en", "de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in numbered(9)))
    train = (str(tmp_path / "en"), str(tmp_path / "de"))
    found = [read(split, corpus=None, train=train, held_out=0.3) for split in SPLITS]
    assert sorted(line for part in found for line in part) == numbered(9)


def test_the_training_is_cut_after_so_many_pairs_and_the_other_parts_are_not(own):
    settings = {"corpus": None, "train": own["train"], "held_out": 0.1}
    assert read(num_train=10, **settings) == read(**settings)[:10]
    assert read("test", num_train=1, **settings) == read("test", **settings)


def test_no_more_is_read_than_is_asked_for(tmp_path):
    path = write(tmp_path / "a.tsv", [*numbered(9), ("no tab", "")])
    Path(path).write_text(Path(path).read_text().replace("no tab\t", "no tab"))
    settings = {"corpus": None, "train": (path,), "num_train": 2}
    assert len(read(**settings)) == 2


def test_a_bad_line_stops_or_is_counted(own):
    path = Path(own["train"][0])
    path.write_text("no tab\n" + path.read_text())
    settings = {"corpus": None, "train": own["train"]}
    with pytest.raises(CorpusError, match=r"train.tsv:1: expected source TAB target, got no tab"):
        read(**settings)
    skipped = Skipped()
    assert read(skipped=skipped, on_problem="skip", **settings) == [
        line for line in numbered(300) if part_of(line[0], 0.02) == "train"
    ]
    assert skipped.count == 1


def test_nothing_found_is_an_error_that_says_why(tmp_path):
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "bad.tsv").write_text("no tab\n" * 3)
    with pytest.raises(CorpusError, match=r"empty.tsv: train: expected at least one pair"):
        read(corpus=None, train=(str(tmp_path / "empty.tsv"),))
    with pytest.raises(CorpusError, match=r"got none \(3 lines skipped; .*bad.tsv:1: .* no tab\)"):
        read(corpus=None, train=(str(tmp_path / "bad.tsv"),), on_problem="skip")
    few = write(tmp_path / "few.tsv", [("Two cats sleep.", "Zwei Katzen schlafen.")])
    with pytest.raises(CorpusError, match=r"few.tsv: validation: expected at least one pair"):
        read("validation", corpus=None, train=(few,))


@pytest.mark.usefixtures("unchecked")
def test_there_are_three_parts():
    with pytest.raises(ValueError, match="split: expected one of train, validation, test"):
        read_lines(DataSettings(), "valid")
