"""Built without memory, then drawn: the same as built at once, bit for bit."""

import pytest
import torch

from attention_book.attention import (
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    RelativePositions,
    T5Buckets,
)
from attention_book.models import (
    Forecaster,
    ForecasterConfig,
    LanguageConfig,
    LanguageModel,
    Layer,
    LayerConfig,
    LayerStack,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
    VisionTransformer,
    VisionTransformerConfig,
)
from attention_book.models.config import POSITION_KINDS

WORDS = {"source_vocabulary": 12, "target_vocabulary": 12}
MADE = {
    **{
        f"Transformer, {kind}": lambda kind=kind: Transformer(
            TransformerConfig(**WORDS, positions=kind)
        )
        for kind in POSITION_KINDS
    },
    "shared": lambda: Transformer(TransformerConfig(**WORDS, shared=True)),
    "tied, pre-norm": lambda: Transformer(TransformerConfig(**WORDS, tied=True, norm="pre")),
    "causal": lambda: LanguageModel(LanguageConfig(vocabulary=9, tied=True)),
    "masked": lambda: LanguageModel(LanguageConfig(vocabulary=9, causal=False)),
    "decoder": lambda: LanguageModel(LanguageConfig.today(vocabulary=9, tied=True)),
    "recurrent": lambda: Seq2Seq(Seq2SeqConfig(**WORDS)),
    "Luong": lambda: Seq2Seq(Seq2SeqConfig(**WORDS, attention="luong-concat")),
    "vision": lambda: VisionTransformer(VisionTransformerConfig()),
    "vision, grid": lambda: VisionTransformer(VisionTransformerConfig(grid=True, positions="none")),
    "forecaster": lambda: Forecaster(ForecasterConfig(), mean=2.0, scale=3.0),
    "stack, learned": lambda: LayerStack(LayerConfig(positions="learned", norm="pre")),
    "stack, relative": lambda: LayerStack(LayerConfig(positions="relative", bias=True)),
    "layer": lambda: Layer(LayerConfig(), NoPositions()),
    "decoder layer": lambda: Layer(LayerConfig(), NoPositions(), reads_source=True),
    "attention": lambda: MultiHeadAttention(d_model=8, num_heads=2, bias=True),
    "learned": lambda: LearnedPositions(d_model=4, max_positions=5),
    "relative": lambda: RelativePositions(d_k=4, max_distance=3),
    "buckets": lambda: T5Buckets(num_heads=2, bidirectional=True),
}


def numbers(model):
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def assert_same(one, other):
    mine, others = numbers(one), numbers(other)
    assert mine.keys() == others.keys()  # and so is what is tied
    for name, value in mine.items():
        assert torch.equal(value, others[name]), name
    assert one.state_dict().keys() == other.state_dict().keys()


@pytest.mark.parametrize("name", MADE)
def test_drawn_later_is_drawn_the_same(name):
    torch.manual_seed(5)
    at_once, following = MADE[name](), torch.rand(3)
    with torch.device("meta"):
        later = MADE[name]()
    later.to_empty(device="cpu")
    for value in numbers(later).values():
        value.data.fill_(torch.nan)  # what memory holds that nobody wrote
    torch.manual_seed(5)
    later.reset_parameters()
    assert torch.equal(torch.rand(3), following)
    assert_same(later, at_once)


@pytest.mark.parametrize("name", MADE)
def test_what_is_read_into_a_model_without_memory_is_the_model(name):
    with torch.device("meta"):
        empty = MADE[name]()
    made = MADE[name]()
    empty.load_state_dict(made.state_dict(), assign=True)
    if name != "vision, grid":
        assert_same(empty, made)
    assert sum(p.numel() for p in empty.parameters()) == sum(p.numel() for p in made.parameters())


def test_a_model_of_another_type_draws_the_same_numbers_rounded():
    torch.manual_seed(5)
    made = MADE["shared"]().half()
    other = MADE["shared"]().half()
    torch.manual_seed(5)
    other.reset_parameters()
    assert_same(other, made)
