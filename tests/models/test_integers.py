"""Numbers of tokens may be integers of any size: everything that takes them gives the same.

The kind: int32 from another library, or the small integers that save a corpus room, taken here
and refused there.
"""

import pytest
import torch

from attention_book.decoding import beam_search, greedy_search, sample, speculative_sample
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    NgramModel,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
)
from attention_book.text import MASK, Vocabulary, mask_tokens
from attention_book.training import loss_per_token, next_token_loss, token_losses

SIZE = 20
SMALL = {"d_model": 16, "num_heads": 2, "num_layers": 1}
SOURCE = torch.tensor([[4, 5, 6, 3], [7, 8, 3, 0]])
TARGET = torch.tensor([[2, 9, 10], [2, 11, 12]])


def translators():
    sizes = {"source_vocabulary": SIZE, "target_vocabulary": SIZE}
    yield Transformer(TransformerConfig(**sizes, **SMALL, d_ff=16)).eval()
    yield Seq2Seq(Seq2SeqConfig(**sizes)).eval()


def writers():
    yield LanguageModel(LanguageConfig.today(vocabulary=SIZE, **SMALL)).eval()
    yield LanguageModel(LanguageConfig(vocabulary=SIZE)).eval()
    yield NgramModel.count(TARGET.tolist(), order=3, vocabulary=SIZE)


def everything(kind):
    """What all that takes numbers of tokens gives for numbers of this type."""
    source, target = SOURCE.to(kind), TARGET.to(kind)
    real, written = source > 0, target > 0
    torch.manual_seed(4)
    for model in translators():
        logits = model(source, real, target)
        yield logits
        yield loss_per_token(logits, target, written, label_smoothing=0.1)
        yield token_losses(logits, target, written)
        yield model.step(target[:, 0], model.start(model.encode(source, real)))[0]
        yield greedy_search(model, source, real, max_tokens=4)
        yield beam_search(model, source, real, width=2, max_tokens=4)
    for model in writers():
        yield model(target)
        yield next_token_loss(model, target, written)
        yield model.step(target[:, 0], model.start(2))[0]
        generator = torch.Generator().manual_seed(1)
        yield sample(model, target, max_tokens=3, generator=generator)
    yield LanguageModel(LanguageConfig(vocabulary=SIZE, causal=False)).eval()(target, written)
    draft, model = (LanguageModel(LanguageConfig(vocabulary=SIZE)) for _ in range(2))
    generator = torch.Generator().manual_seed(1)
    prompt, settings = target[:1], {"num_drafts": 2, "max_tokens": 4, "generator": generator}
    yield speculative_sample(model, draft, prompt, **settings)
    words = Vocabulary.build([list("abcdefgh"), (MASK,)])
    hidden = mask_tokens(target, words, share=0.5, generator=torch.Generator().manual_seed(2))
    yield hidden.tokens.long()
    yield hidden.chosen


@pytest.mark.parametrize("kind", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_every_integer_type_gives_the_same(kind):
    for found, expected in zip(list(everything(kind)), list(everything(torch.int64)), strict=True):
        if isinstance(expected, torch.Tensor):
            assert torch.equal(found, expected)
        else:
            assert found == expected


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", [torch.float32, torch.bool])
def test_what_is_no_integer_is_named(kind):
    for model in translators():
        with pytest.raises(TypeError, match=f"source: expected a tensor of integers, got {kind}"):
            model(SOURCE.to(kind), SOURCE > 0, TARGET)
    for model in writers():
        with pytest.raises(TypeError, match=f"prompt: expected a tensor of integers, got {kind}"):
            sample(model, TARGET.to(kind), max_tokens=2)
    with pytest.raises(TypeError, match="targets: expected the numbers of tokens"):
        loss_per_token(torch.zeros(2, 3, SIZE), TARGET.to(kind), TARGET > 0)


@pytest.mark.usefixtures("unchecked")
def test_lists_are_named_where_tensors_are_expected():
    source, target, real = SOURCE.tolist(), TARGET.tolist(), (SOURCE > 0).tolist()
    model = LanguageModel(LanguageConfig(vocabulary=SIZE))
    calls = [
        lambda: model(target),
        lambda: model.read(target, model.start(2)),
        lambda: model.step(target[0][:2], model.start(2)),
        lambda: sample(model, target, max_tokens=2),
        lambda: sample(model, TARGET.numpy(), max_tokens=2),
    ]
    for each in translators():
        calls += [
            lambda m=each: m.encode(source, SOURCE > 0),
            lambda m=each: greedy_search(m, source, SOURCE > 0, max_tokens=2),
            lambda m=each: greedy_search(m, SOURCE, real, max_tokens=2),
            lambda m=each: beam_search(m, SOURCE, None, width=2, max_tokens=2),
        ]
    for call in calls:
        with pytest.raises(TypeError, match=r"(\w+): expected a (boolean )?tensor"):
            call()
