"""Attention alone: what it is made of, the step law, and that nothing comes from the future."""

import pytest
import torch

from attention_book.attention import AlibiPositions, LearnedPositions, causal_mask
from attention_book.course.models import AttentionOnly
from attention_book.inspection import capture_attention
from attention_book.models.protocols import Writer

VOCABULARY, D_MODEL, HEADS, LENGTH = 11, 12, 3, 7


def small(**options):
    torch.manual_seed(3)
    settings = {"vocabulary": VOCABULARY, "d_model": D_MODEL, "num_heads": HEADS}
    return AttentionOnly(**(settings | options)).double().eval()


@pytest.fixture
def tokens():
    return torch.randint(VOCABULARY, (2, LENGTH))


def test_a_layer_adds_a_weighted_sum_and_nothing_else(tokens):
    model = small()
    x = model.embedding.weight[tokens]
    with capture_attention(model) as seen:
        logits = model(tokens)
    for number, layer in enumerate(model.layers):
        (weights,) = seen[f"layers.{number}.attention"]
        x = x + layer.attention.combine(weights, layer.add_norm.norm(x))
    torch.testing.assert_close(logits, model.readout(model.norm(x)), atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    "positions",
    [
        None,
        AlibiPositions(num_heads=HEADS),
        LearnedPositions(d_model=D_MODEL, max_positions=LENGTH),
    ],
)
def test_step_by_step_is_all_at_once(tokens, positions):
    model = small(positions=positions)
    assert isinstance(model, Writer)
    at_once, state = model(tokens), model.start(2)
    for place, token in enumerate(tokens.T):
        before = state
        logits, state = model.step(token, state)
        torch.testing.assert_close(logits, at_once[:, place], atol=1e-12, rtol=0)
        assert (before.position, state.position) == (place, place + 1)


def test_the_future_and_what_a_mask_hides_do_not_matter(tokens):
    model = small()
    other = tokens.clone()
    other[:, 4:] = (tokens[:, 4:] + 1) % VOCABULARY
    assert torch.equal(model(tokens)[:, :4], model(other)[:, :4])
    window = causal_mask(LENGTH) & ~causal_mask(LENGTH, offset=-2)  # this token and the one before
    other = tokens.clone()
    other[:, 0] = (tokens[:, 0] + 1) % VOCABULARY
    # Two layers reach two places back.
    moved = (model(tokens, window) - model(other, window)).abs().amax(dim=(0, 2))
    assert moved[2] > 0
    assert moved[3:].max() == 0


def test_mistakes_are_named(tokens):
    with pytest.raises(ValueError, match="num_layers: expected at least 1, got 0"):
        small(num_layers=0)
    with pytest.raises(ValueError, match="num_heads: expected a divisor of d_model"):
        small(num_heads=5)
    with pytest.raises(ValueError, match="token: expected one for each of 2 texts"):
        small().step(tokens[0], small().start(2))
