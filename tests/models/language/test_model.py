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


def test_at_once_equals_anew_equals_step_by_step_from_the_cache(causal, tokens) -> None:
    at_once = causal(tokens)
    anew = [causal(tokens[:, : place + 1])[:, -1] for place in range(LENGTH)]
    torch.testing.assert_close(torch.stack(anew, dim=1), at_once, **EXACT)
    torch.testing.assert_close(stepwise(causal, tokens), at_once, **EXACT)
    with torch.no_grad():  # the cache then grows in place
        torch.testing.assert_close(stepwise(causal, tokens), at_once, **EXACT)


def test_read_in_pieces_equals_at_once(causal, tokens) -> None:
    pieces, state = [], causal.start(BATCH)
    for piece in tokens.split([3, 1, LENGTH - 4], dim=1):
        logits, state = causal.read(piece, state)
        pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), causal(tokens), **EXACT)
    assert state.position == LENGTH


@pytest.mark.parametrize("batch", [3, 1])
@pytest.mark.parametrize("kind", [CausalLanguageModel, MaskedLanguageModel])
def test_a_text_among_padding_is_read_as_if_it_stood_alone(
    build: Build, positions: str, kind: type, batch: int
) -> None:
    """Padding on the left, in between and on the right: positions count real tokens."""
    model = build(kind, positions=positions)
    real = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 1], [1, 1, 1, 0, 0, 0, 0]])
    for rows in real.bool().split(batch):
        tokens = torch.randint(4, VOCABULARY, rows.shape)
        together = model(tokens, rows)
        for row, given in enumerate(rows):
            text = tokens[row][given][None]
            whole = torch.ones_like(text, dtype=torch.bool)
            alone = model(text) if kind is CausalLanguageModel else model(text, whole)
            torch.testing.assert_close(together[row][given], alone[0], **EXACT)
    for call in (
        lambda: model(tokens, rows[:, :3]),
        lambda: model(tokens, torch.ones(rows.shape)),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_single_precision_agrees_too(causal, tokens) -> None:
    model = causal.float()
    torch.testing.assert_close(stepwise(model, tokens), model(tokens), rtol=0, atol=1e-5)


def test_a_later_token_moves_nothing_before_it_and_all_from_it_on(causal, tokens) -> None:
    other = tokens.clone()
    other[:, 4] = (other[:, 4] - 3) % (VOCABULARY - 4) + 4  # the next word, round about
    before, after = causal(tokens), causal(other)
    assert torch.equal(before[:, :4], after[:, :4])
    assert (before[:, 4:] - after[:, 4:]).abs().amax(dim=2).min() > 1e-6


def test_a_step_leaves_the_state_as_it_was(causal, tokens) -> None:
    with torch.no_grad():
        _, state = causal.step(tokens[:, 0], causal.start(BATCH))
        first, _ = causal.step(tokens[:, 1], state)
        causal.step(tokens[:, 2], state)
        again, _ = causal.step(tokens[:, 1], state)
    assert torch.equal(first, again)
    assert state.position == 1


def test_selected_texts_go_on_as_they_would_have(causal, tokens) -> None:
    rows = torch.tensor([2, 2, 0, 1])
    _, state = causal.step(tokens[:, 0], causal.start(BATCH))
    expected, _ = causal.step(tokens[:, 1], state)
    found, chosen = causal.step(tokens[rows, 1], state.select(rows))
    torch.testing.assert_close(found, expected[rows], **EXACT)
    assert (chosen.batch_size, chosen.position) == (4, 2)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_in_the_masked_model_every_real_token_moves_every_place(
    build: Build, positions: str, norm: str, tokens: Tensor
) -> None:
    model = build(MaskedLanguageModel, positions=positions, norm=norm)
    real = torch.ones_like(tokens, dtype=torch.bool)
    real[:, 6] = False
    before = model(tokens, real)
    for place in range(LENGTH):
        other = tokens.clone()
        other[:, place] = (other[:, place] - 3) % (VOCABULARY - 4) + 4
        moved = (model(other, real) - before).abs().amax(dim=2)[:, :6]
        assert moved.max() == 0 if place == 6 else moved.min() > 1e-6


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
