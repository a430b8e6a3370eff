"""Laws of the language models, for every scheme of positions and both orders of the norm."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attention_book.attention import causal_mask, mask_from_lengths
from attention_book.inspection import capture_attention
from attention_book.models import (
    CausalLanguageModel,
    LanguageModel,
    LanguageModelConfig,
    MaskedLanguageModel,
    Writer,
)
from attention_book.models.transformer.layer_config import POSITION_KINDS

Build = Callable[..., LanguageModel]
EXACT = {"rtol": 0, "atol": 1e-10}
BATCH, LENGTH, VOCABULARY = 3, 7, 19


@pytest.fixture
def build() -> Build:
    """A function that makes a model in eval mode and double precision; primes where it can be."""

    def make(kind: type[LanguageModel] = CausalLanguageModel, **changes: object) -> LanguageModel:
        sizes = {"d_model": 30, "num_heads": 5, "d_ff": 17, "num_layers": 2, "max_distance": 3}
        config = LanguageModelConfig(vocabulary=VOCABULARY, **{**sizes, **changes})
        return kind(config).double().eval()

    return make


@pytest.fixture(params=POSITION_KINDS)
def positions(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["post", "pre"])
def causal(request: pytest.FixtureRequest, build: Build, positions: str) -> LanguageModel:
    """A causal model for every scheme of positions and both orders of the norm."""
    return build(positions=positions, norm=request.param)


@pytest.fixture
def tokens() -> Tensor:
    return torch.cat((torch.full((BATCH, 1), 2), torch.randint(4, VOCABULARY, (BATCH, 6))), dim=1)


def stepwise(model: CausalLanguageModel, tokens: Tensor) -> Tensor:
    state, steps = model.start(len(tokens)), []
    for token in tokens.T:
        logits, state = model.step(token, state)
        steps.append(logits)
    return torch.stack(steps, dim=1)


def test_single_precision_agrees_too(causal, tokens) -> None:
    model = causal.float()
    torch.testing.assert_close(stepwise(model, tokens), model(tokens), rtol=0, atol=1e-5)


@pytest.mark.parametrize("tied", [False, True])
def test_the_two_differ_in_nothing_but_the_mask(
    build: Build, positions: str, tied: bool, tokens: Tensor
) -> None:
    causal = build(CausalLanguageModel, positions=positions, tied=tied)
    masked = build(MaskedLanguageModel, positions=positions, tied=tied)
    masked.load_state_dict(causal.state_dict())  # every name and every shape is the same
    real = torch.ones_like(tokens, dtype=torch.bool)
    everything = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    torch.testing.assert_close(masked(tokens, real), masked.predict(tokens, everything), **EXACT)
    torch.testing.assert_close(causal(tokens), causal.predict(tokens, causal_mask(LENGTH)), **EXACT)
    if positions != "buckets":  # which count distances differently where nobody looks ahead
        crossed = masked.predict(tokens, causal_mask(LENGTH))
        torch.testing.assert_close(crossed, causal(tokens), **EXACT)


def test_buckets_are_not_spent_on_a_future_that_nobody_sees(build: Build) -> None:
    assert not build(CausalLanguageModel, positions="buckets").stack.positions.bidirectional
    assert build(MaskedLanguageModel, positions="buckets").stack.positions.bidirectional


def test_it_is_embedding_stack_and_readout(build: Build, tokens: Tensor) -> None:
    model = build(norm="pre")
    vectors = model.embedding.weight[tokens] * 30**0.5
    expected = model.stack(vectors, causal_mask(LENGTH)) @ model.readout.weight.T
    torch.testing.assert_close(model(tokens), expected + model.readout.bias, **EXACT)


def test_tied_embeddings_are_one_tensor(build: Build) -> None:
    model = build(tied=True)
    assert model.readout.weight is model.embedding.weight
    assert model.readout.bias is None
    untied = build()
    assert untied.readout.weight is not untied.embedding.weight
    count = {each: sum(p.numel() for p in each.parameters()) for each in (model, untied)}
    assert count[untied] - count[model] == VOCABULARY * 30 + VOCABULARY


def test_a_prefix_is_seen_from_both_sides(build: Build, tokens: Tensor) -> None:
    model = build()
    mask = causal_mask(LENGTH) | mask_from_lengths(torch.tensor([3]), LENGTH)
    other = tokens.clone()
    other[:, 2] = (other[:, 2] - 3) % (VOCABULARY - 4) + 4
    moved = model.predict(tokens, mask) - model.predict(other, mask)
    assert moved.abs().amax(dim=2).min() > 1e-6  # the prefix's last word moves its first
    other = tokens.clone()
    other[:, 3] = (other[:, 3] - 3) % (VOCABULARY - 4) + 4
    moved = (model.predict(tokens, mask) - model.predict(other, mask)).abs().amax(dim=2)
    assert moved[:, :3].max() == 0 < moved[:, 3:].min()


def test_it_follows_the_protocol_and_can_be_looked_into(build: Build, tokens: Tensor) -> None:
    model = build()
    assert isinstance(model, Writer)
    with capture_attention(model) as seen:
        model(tokens)
    weights = seen["stack.layers.1.self_attention"][0]
    assert weights.shape == (BATCH, 5, LENGTH, LENGTH)
    assert weights.triu(1).max() == 0


def test_settings_survive_json_and_bad_ones_are_refused() -> None:
    config = LanguageModelConfig(vocabulary=11, tied=True, positions="rotary")
    assert LanguageModelConfig.from_dict(config.to_dict()) == config
    with pytest.raises(ValueError, match="vocabulary: expected at least 1, got 0"):
        LanguageModelConfig(vocabulary=0)


@pytest.mark.usefixtures("unchecked")
def test_wrong_inputs_get_a_clear_error(build: Build) -> None:
    model = build()
    with pytest.raises(ValueError, match="batch_size: expected at least 1, got 0"):
        model.start(0)
    with pytest.raises(ValueError, match=r"one for each of 2 texts, got the shape \(3,\)"):
        model.step(torch.tensor([2, 2, 2]), model.start(2))
    with pytest.raises(
        ValueError, match="tokens: expected token numbers from 0 to 18, got 2 to 99"
    ):
        model(torch.tensor([[2, 99]]))
