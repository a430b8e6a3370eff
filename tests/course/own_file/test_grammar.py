"""The grammar as a reader's model takes it, and the package's Transformer beside the reader's."""

from typing import Any

import pytest
import torch

from attention_book.course.own_file import Grammar, file_at
from attention_book.course.own_file.comparing import Package, with_weights_of
from attention_book.course.own_file.loading import load
from attention_book.models import Transformer, TransformerConfig

MY: Any = load(file_at(16))


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(num_train=100)


def test_an_epoch_has_each_sentence_once_in_an_order_of_its_own(grammar: Grammar) -> None:
    first, second = grammar.batches(epochs=2)[:2], grammar.batches(epochs=2)[2:]
    sentences = []
    for epoch in (first, second):
        rows = [tuple(filter(None, row.tolist())) for _, target in epoch for row in target]
        assert {row[0] for row in rows} == {MY.BOS}
        assert {row[-1] for row in rows} == {MY.EOS}
        sentences.append(rows)
    assert sentences[0] != sentences[1]
    assert sorted(sentences[0]) == sorted(sentences[1])
    assert sum(len(source) for source, _ in first) == 100


def test_what_is_written_is_read_as_words_up_to_its_end(grammar: Grammar) -> None:
    pair = grammar.pairs["train"][0]
    ids = grammar.target_vocabulary.encode(pair.target)
    rows = torch.tensor(
        [[MY.BOS, *ids, MY.EOS, ids[0]], [MY.BOS, *ids[:-1], MY.EOS, *[MY.PAD] * 2]]
    )
    assert grammar.words(rows) == [" ".join(pair.target), " ".join(pair.target[:-1])]
    source = grammar.ids(" ".join(pair.source), pair.source[0])
    assert source.shape == (2, len(pair.source) + 1)
    assert source[0].tolist() == [*grammar.source_vocabulary.encode(pair.source), MY.EOS]
    assert source[1, 2:].unique().tolist() == [MY.PAD]


def test_right_translations_score_100_and_endless_ones_are_cut(grammar: Grammar) -> None:
    everything = grammar.targets("random")

    def perfect(model: Any, source: torch.Tensor, most: int) -> torch.Tensor:
        start = perfect.__dict__.setdefault("at", 0)
        perfect.__dict__["at"] += len(source)
        return everything[start : start + len(source)]

    def endless(model: Any, source: torch.Tensor, most: int) -> torch.Tensor:
        return torch.full((len(source), 500), 5)

    assert grammar.bleu(perfect, None) == pytest.approx(100)
    lengths = [len(words) for words in grammar.translations(endless, None)]
    assert lengths == [2 * len(pair.source) + 10 for pair in grammar.pairs["random"]]


def test_with_the_packages_weights_a_readers_transformer_is_the_packages() -> None:
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocabulary=11, target_vocabulary=13, d_model=16, num_heads=2, d_ff=24, num_layers=3,
        dropout=0.0, norm="pre",
    )  # fmt: skip
    theirs = Transformer(config)
    mine = MY.Transformer(11, 13, d=16, heads=2, d_ff=24, depth=3)
    source, target = (
        torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]]),
        torch.tensor([[2, 8, 9], [2, 4, 5]]),
    )
    assert not torch.allclose(mine(source, target), Package(theirs)(source, target))
    with_weights_of(mine, theirs)
    torch.testing.assert_close(mine(source, target), Package(theirs)(source, target))
