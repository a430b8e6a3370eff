"""What a mask says of its sources: lengths, and the order in which the tokens are read."""

import pytest
import torch

from attention_book.foundations.checks import strict
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig
from attention_book.models.sources import check_source, reading_places


def test_only_strict_mode_looks_for_empty_sources() -> None:
    source, mask = torch.tensor([[4, 3], [0, 0]]), torch.tensor([[True, True], [False, False]])
    with strict(False):
        check_source(source, mask)
    with strict(), pytest.raises(ValueError, match="got none in row 1"):
        check_source(source, mask)


def test_real_tokens_are_read_first_and_keep_their_order() -> None:
    mask = torch.rand(101, 13) < 0.6
    places = reading_places(mask)
    assert torch.equal(places.sort(dim=1).values, torch.arange(13).expand(101, 13))
    compact = mask.scatter(1, places, mask)
    assert torch.equal(compact, torch.arange(13) < mask.sum(dim=1, keepdim=True))
    for row, real in zip(places, mask, strict=True):
        assert row[real].tolist() == sorted(row[real].tolist())
        assert row[~real].tolist() == sorted(row[~real].tolist())


def test_padding_on_the_right_is_already_in_order() -> None:
    mask = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    assert torch.equal(reading_places(mask), torch.arange(3).expand(3, 3))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_a_mask_is_boolean_even_where_nothing_is_padded(dtype: torch.dtype) -> None:
    source = torch.tensor([[4, 3], [4, 3]])
    with pytest.raises(TypeError, match="source_mask: expected a boolean tensor"):
        check_source(source, (source > 0).to(dtype))


@pytest.mark.usefixtures("unchecked")
def test_one_sentence_is_a_batch_too() -> None:
    source = torch.tensor([4, 5, 3])
    with pytest.raises(ValueError, match=r"source: expected the axes \(batch, source\), got"):
        check_source(source, source > 0)


# What is empty is told in the words of who gave it, whatever the model is made of.


@pytest.mark.parametrize("kind", [Transformer, Seq2Seq])
@pytest.mark.parametrize("batch", [0, 2])
def test_no_tokens_are_named_by_every_translator(kind, batch, unchecked):
    config = {Transformer: TransformerConfig, Seq2Seq: Seq2SeqConfig}[kind]
    model = kind(config(source_vocabulary=9, target_vocabulary=9))
    some, none = torch.full((batch, 3), 4), torch.full((batch, 0), 4)
    with pytest.raises(ValueError, match="source: expected at least one token"):
        model.encode(none, none > 0)
    with pytest.raises(ValueError, match="target: expected <bos> = 2 as the first token"):
        model(some, some > 0, none)
    begun = torch.full((batch, 1), 2)
    assert model(some, some > 0, begun).shape == (batch, 1, 9)
