"""From settings to batches: nothing is lost on the way, and nothing is done twice."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention_book.runs import (
    BatchPlan,
    DataSettings,
    TextSettings,
    learn_codec,
    prepare_split,
    read_lines,
)
from attention_book.runs.corpora import Skipped, preparing
from attention_book.runs.corpora.preparing import corpus_digest
from attention_book.text import CorpusError, Vocabulary, grammar_corpus

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
