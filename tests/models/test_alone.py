"""A sentence alone, with padding: every model and every mask, in a batch of one.

The kind: a batch of one is taken for one without padding. It has some whenever it is the last
sentence of a batch still being written, or a tokenizer pads to a length. The oracle is the same
sentence cut to its own tokens.
"""

import pytest
import torch
from torch import Tensor

from attention_book.attention import (
    LatentAttention,
    MultiHeadAttention,
)
from attention_book.decoding import beam_search, greedy_search
from attention_book.models import (
    Seq2Seq,
    Transformer,
    TransformerConfig,
)
from attention_book.models.config import POSITION_KINDS

EXACT = {"rtol": 0, "atol": 1e-10}
WORDS = [7, 9, 4, 5, 3]
#: Where they stand in a row of nine.
PLACES = {
    "right": [0, 1, 2, 3, 4],
    "left": [4, 5, 6, 7, 8],
    "both": [2, 3, 4, 5, 6],
    "between": [0, 2, 3, 7, 8],
}


def padded(places: list[int]) -> tuple[Tensor, Tensor]:
    """A batch of one, with numbers of words where the padding is, and its mask."""
    source, mask = torch.randint(4, 13, (1, 9)), torch.zeros(1, 9, dtype=torch.bool)
    source[0, places] = torch.tensor(WORDS)
    mask[0, places] = True
    return source, mask


def check_alone(model: Transformer | Seq2Seq) -> None:
    """Compare a padded sentence with itself, by every call that a translator has."""
    cut = torch.tensor([WORDS])
    everything = torch.ones_like(cut, dtype=torch.bool)
    target = torch.tensor([[2, 6, 8, 5, 5]])
    expected = model(cut, everything, target)
    texts = [greedy_search(model, cut, everything, max_tokens=6)[0].ids]
    texts += [each.ids for each in beam_search(model, cut, everything, width=3, max_tokens=6)[0]]
    for name, places in PLACES.items():
        source, mask = padded(places)
        torch.testing.assert_close(model(source, mask, target), expected, **EXACT, msg=name)
        state = model.start(model.encode(source, mask))
        for place, word in enumerate(target.T):
            logits, state = model.step(word, state)
            torch.testing.assert_close(logits, expected[:, place], **EXACT, msg=name)
        found = [greedy_search(model, source, mask, max_tokens=6)[0].ids]
        found += [each.ids for each in beam_search(model, source, mask, width=3, max_tokens=6)[0]]
        assert found == texts, name
        _, state = model.step(target[:, 0], model.start(model.encode(source, mask)))
        both, state = model.step(target[:, 1].repeat(2), state.select(torch.tensor([0, 0])))
        last, _ = model.step(target[:, 2], state.select(torch.tensor([1])))
        torch.testing.assert_close(both[1:], expected[:, 1], **EXACT, msg=name)
        torch.testing.assert_close(last, expected[:, 2], **EXACT, msg=name)


@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_a_transformer_reads_a_padded_sentence_alone(positions) -> None:
    sizes = {"source_vocabulary": 13, "target_vocabulary": 17, "d_model": 20, "num_heads": 2}
    model = Transformer(TransformerConfig(**sizes, positions=positions, max_distance=3))
    model = model.double().eval()
    check_alone(model)
    target = torch.tensor([[2, 6, 8]])
    cut = torch.tensor([WORDS])
    expected = model.weights(cut, cut > 0, target)
    for places in PLACES.values():
        weights = model.weights(*padded(places), target)
        torch.testing.assert_close(weights[:, :, places], expected, **EXACT)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 3).double())


def test_a_recurrent_model_reads_a_padded_sentence_alone(model) -> None:
    check_alone(model)


def test_the_last_sentence_of_a_batch_is_written_as_if_alone(model) -> None:
    """The others leave the batch before it, which is padded still."""
    source = torch.tensor([[7, 9, 3, 0, 0, 0], [10, 4, 6, 5, 8, 3], [12, 5, 3, 0, 0, 0]])
    limits = torch.tensor([9, 1, 2])
    together = greedy_search(model, source, source > 0, max_tokens=limits)
    alone = torch.tensor([[7, 9, 3]])
    [expected] = greedy_search(model, alone, alone > 0, max_tokens=9)
    assert together[0].ids == expected.ids
    assert together[0].log_prob == pytest.approx(expected.log_prob)


SIZES = {"d_model": 12, "num_heads": 3}
LAYERS = {
    "all at once": lambda: MultiHeadAttention(**SIZES),
    "grouped": lambda: MultiHeadAttention(**SIZES, num_kv_heads=1),
    "latent": lambda: LatentAttention(**SIZES, kv_rank=4, d_k=4, d_rope=2),
    "window": lambda: MultiHeadAttention(**SIZES, window=99),
    "sink": lambda: MultiHeadAttention(**SIZES, sinks=True),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_attention_hides_the_padding_of_one(kind) -> None:
    attention = LAYERS[kind]().double()
    x = torch.randn(1, 7, 12).double()
    for end in (4, 6):
        mask = (torch.arange(7) < end)[None, None]
        begin = x[:, :end]
        expected = attention(begin, begin, is_causal=True)
        found = attention(x, x, mask=mask, is_causal=True)
        torch.testing.assert_close(found[:, :end], expected, **EXACT)
        cache = attention.project(x)
        torch.testing.assert_close(
            attention(x[:, 6:], cache, mask=mask, offset=6),
            attention(x[:, 6:], attention.project(x * mask[0].mT), mask=mask, offset=6),
            **EXACT,
        )
        weights = attention.weights(x, x, mask, is_causal=True)
        assert not weights[..., end:].any()
