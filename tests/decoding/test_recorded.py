"""A step in a cache of fixed size: as one that grows, and one program for all lengths."""

import pytest
import torch
from torch import Tensor

from attention_book import set_seed
from attention_book.attention import KVCache, LatentAttention, MultiHeadAttention
from attention_book.decoding import RecordedStep
from attention_book.models import LanguageConfig, LanguageModel, Transformer, TransformerConfig
from attention_book.models.config import POSITION_KINDS

SIZES = {"d_model": 24, "num_heads": 2, "d_ff": 16, "num_layers": 2}
KINDS = pytest.mark.parametrize("kind", POSITION_KINDS)
MANY = pytest.mark.parametrize(
    "how",
    [{}, {"windows": (3, None)}, {"num_kv_heads": 1, "qk_norm": True}, {"sinks": True}],
    ids=str,
)
TOKENS = torch.tensor([[2, 7, 8, 5, 9, 4, 6], [2, 5, 6, 9, 9, 10, 4], [2, 11, 4, 5, 6, 7, 8]])


def language(kind: str, **how) -> LanguageModel:
    set_seed(3)
    return LanguageModel(LanguageConfig.today(vocabulary=12, positions=kind, **SIZES, **how)).eval()


def steps(model, state, tokens: Tensor) -> list[Tensor]:
    found = []
    for token in tokens.T:
        logits, state = model.step(token, state)
        found.append(logits)
    return found


def same(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return all(map(torch.equal, ours, theirs)) and len(ours) == len(theirs)


@KINDS
@MANY
@torch.no_grad()
def test_a_fixed_cache_gives_what_a_growing_one_gives_bit_by_bit(kind, how) -> None:
    model, found = language(kind, **how), []
    for size in (None, 7, 20):
        logits, state = model.read(TOKENS[:, :3], model.start(3, max_tokens=size))
        found.append([logits, *steps(model, state, TOKENS[:, 3:])])
    growing, *fixed = found
    for each in fixed:
        assert same(each, growing)


@KINDS
@MANY
@torch.no_grad()
def test_a_recorded_step_is_the_step(kind, how) -> None:
    model = language(kind, **how).double()
    _, state = model.read(TOKENS[:, :3], model.start(3))
    expected = steps(model, state, TOKENS[:, 3:])
    _, state = model.read(TOKENS[:, :3], model.start(3, max_tokens=9))
    step = RecordedStep(model, state)
    for token, logits in zip(TOKENS[:, 3:].T, expected, strict=True):
        torch.testing.assert_close(step(token), logits, rtol=1e-9, atol=1e-9)
    assert step.left == 2


@KINDS
@torch.no_grad()
def test_a_translator_takes_recorded_steps(kind) -> None:
    set_seed(3)
    config = TransformerConfig(source_vocabulary=12, target_vocabulary=12, positions=kind, **SIZES)
    model = Transformer(config).eval().double()
    mask = TOKENS != 4  # padding, as far as the model is asked
    memory = model.encode(TOKENS, mask)
    growing, fixed = (steps(model, model.start(memory, max_tokens=n), TOKENS) for n in (None, 7))
    assert same(fixed, growing)
    _, state = model.step(TOKENS[:, 0], model.start(memory, max_tokens=7))
    step = RecordedStep(model, state)
    for token, logits in zip(TOKENS[:, 1:].T, growing[1:], strict=True):
        torch.testing.assert_close(step(token), logits, rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_a_window_keeps_the_first_tokens_in_a_fixed_cache_too() -> None:
    attention = MultiHeadAttention(d_model=8, num_heads=2, window=3, num_first=1)
    x, found = torch.rand(2, 9, 8), []
    for size in (None, 9):
        cache = attention.new_cache(max_tokens=size)
        found.append([attention(piece, cache=cache) for piece in x.split([2, 2, 1, 3, 1], dim=1)])
        assert (cache.position, cache.dropped) == (9, 5)
    assert same(*found)


@torch.no_grad()
def test_latents_are_kept_in_a_fixed_cache() -> None:
    attention = LatentAttention(d_model=8, num_heads=2, kv_rank=4, d_k=4, d_rope=2, q_rank=4)
    x, found = torch.rand(2, 6, 8), []
    for size in (None, 6):
        cache = attention.new_cache(max_tokens=size)
        found.append([attention(piece, cache=cache) for piece in x.split([3, 2, 1], dim=1)])
    assert same(*found)


@MANY
@torch.no_grad()
def test_branches_of_a_fixed_cache_keep_their_own_past(how) -> None:
    model = language("rotary", **how)
    for size in (None, 7):
        _, stem = model.read(TOKENS[:, :3], model.start(3, max_tokens=size))
        first = steps(model, stem, TOKENS[:, 3:])
        other = steps(model, stem, TOKENS[:, 3:].flip(1))
        rows = torch.tensor([2, 2, 0])
        picked = steps(model, stem.select(rows), TOKENS[:, 3:])
        _, ahead = model.step(TOKENS[:, 3], stem)
        back = steps(model, ahead.back_to(3), TOKENS[:, 3:])
        assert same(back, first)
        if size is None:
            expected = first, other, picked
    assert all(map(same, (first, other, picked), expected))


@torch.no_grad()
def test_the_memory_stays_where_it_is() -> None:
    model = language("rotary")
    _, state = model.read(TOKENS[:, :2], model.start(3, max_tokens=7))
    places = [each.data_ptr() for layer in state.layers for each in layer.rows]
    for token in TOKENS[:, 2:].T:
        _, state = model.step(token, state)
    assert places == [each.data_ptr() for layer in state.layers for each in layer.rows]
    with pytest.raises(ValueError, match=r"max_tokens: expected at least 8, .* got 7"):
        model.step(TOKENS[:, 0], state)


@torch.no_grad()
def test_what_cannot_be_recorded_says_so() -> None:
    model = language("rotary")
    _, growing = model.read(TOKENS, model.start(3))
    with pytest.raises(ValueError, match="expected one of fixed size"):
        RecordedStep(model, growing)
    with pytest.raises(ValueError, match="expected one that has read a token"):
        RecordedStep(model, model.start(3, max_tokens=9))
    real = torch.ones_like(TOKENS, dtype=torch.bool)
    real[1, :2] = False
    _, padded = model.read(TOKENS, model.start(3, max_tokens=9), real=real)
    with pytest.raises(ValueError, match="expected texts without padding"):
        RecordedStep(model, padded)
    _, state = model.read(TOKENS, model.start(3, max_tokens=8))
    step = RecordedStep(model, state)
    step(TOKENS[:, 0])
    with pytest.raises(ValueError, match="expected room for one token more"):
        step(TOKENS[:, 0])
    with pytest.raises(ValueError, match="max_tokens: expected at least 1, got 0"):
        model.start(1, max_tokens=0)


@torch.no_grad()
def test_a_padded_prompt_is_read_into_a_fixed_cache() -> None:
    model, found = language("rotary"), []
    real = torch.ones(3, 4, dtype=torch.bool)
    real[1, :2] = False
    for size in (None, 7):
        logits, state = model.read(TOKENS[:, :4], model.start(3, max_tokens=size), real=real)
        found.append([logits, *steps(model, state, TOKENS[:, 4:])])
    assert same(*found)


def test_a_cache_that_grows_has_no_length_on_the_device() -> None:
    assert not hasattr(KVCache(), "on_device")
