"""Laws of the decoder-only model, for every part that can be switched."""

import json
from itertools import product

import pytest
import torch
from torch import Tensor

from attention_book.attention import MultiHeadAttention, YarnScaling
from attention_book.decoding import sample
from attention_book.inspection import (
    capture_attention,
    changed_attention,
    information_flow,
    without_heads,
)
from attention_book.models import DecoderConfig, DecoderLanguageModel, RotarySettings, Writer

EXACT = {"rtol": 0, "atol": 1e-10}
BATCH, LENGTH, VOCABULARY = 3, 7, 19
VARIANTS = {
    "today": {},
    "layer norm": {"norm": "layer"},
    "relu": {"feed_forward": "relu"},
    "sinusoidal": {"positions": "sinusoidal"},
    "alibi": {"positions": "alibi"},
    "none": {"positions": "none"},
    "grouped": {"num_kv_heads": 2},
    "one head of keys": {"num_kv_heads": 1, "tied": True},
    "qk-norm": {"qk_norm": True, "d_k": 10},
    "windowed": {"windows": (3, None)},
    "window of one": {"windows": (1, 1), "num_kv_heads": 3},
    "windowed alibi": {"windows": (None, 4), "positions": "alibi", "num_kv_heads": 2},
    "like gemma": {
        "feed_forward": "geglu",
        "around_one": True,
        "norms_after": True,
        "qk_norm": True,
        "num_kv_heads": 3,
        "d_k": 4,
        "scale": 0.3,
        "tied": True,
        "windows": (3, None),
        "windowed_rotary": RotarySettings(base=100.0, pairing="halves"),
        "rotary": RotarySettings(base=1e6, pairing="halves"),
        "fused": False,
    },
    "biases": {"bias": True, "feed_forward_bias": True, "embedding_scale": 1.0},
}


def build(**changes: object) -> DecoderLanguageModel:
    sizes = {"d_model": 36, "num_heads": 6, "d_ff": 17, "num_layers": 2}
    config = DecoderConfig(vocabulary=VOCABULARY, **{**sizes, **changes})
    model = DecoderLanguageModel(config).double().eval()
    for weight in model.parameters():  # norms and wide projections that an error would show in
        torch.nn.init.normal_(weight, mean=0.5 if weight.ndim == 1 else 0.0, std=0.3)
    return model


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest) -> DecoderLanguageModel:
    """A model for every part that can be switched."""
    return build(**VARIANTS[request.param])


@pytest.fixture
def tokens() -> Tensor:
    return torch.cat((torch.full((BATCH, 1), 2), torch.randint(4, VOCABULARY, (BATCH, 6))), dim=1)


def stepwise(model: DecoderLanguageModel, tokens: Tensor) -> Tensor:
    state, steps = model.start(len(tokens)), []
    for token in tokens.T:
        logits, state = model.step(token, state)
        steps.append(logits)
    return torch.stack(steps, dim=1)


def test_at_once_equals_anew_equals_step_by_step_equals_read_in_pieces(model, tokens) -> None:
    at_once = model(tokens)
    anew = [model(tokens[:, : place + 1])[:, -1] for place in range(LENGTH)]
    torch.testing.assert_close(torch.stack(anew, dim=1), at_once, **EXACT)
    torch.testing.assert_close(stepwise(model, tokens), at_once, **EXACT)
    with torch.no_grad():  # the cache then grows in place
        torch.testing.assert_close(stepwise(model, tokens), at_once, **EXACT)
    pieces, state = [], model.start(BATCH)
    for piece in tokens.split([2, 4, 1], dim=1):
        logits, state = model.read(piece, state)
        pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), at_once, **EXACT)


@pytest.mark.parametrize("positions", ["rotary", "sinusoidal", "alibi", "none"])
def test_at_once_equals_step_by_step_whatever_is_combined(positions, tokens) -> None:
    others = product(["rms", "layer"], [False, True], [6, 2, 1], [(), (3, None), (1, 4)])
    for norm, qk_norm, num_kv_heads, windows in others:
        model = build(
            positions=positions,
            norm=norm,
            qk_norm=qk_norm,
            num_kv_heads=num_kv_heads,
            windows=windows,
        )
        with torch.no_grad():
            at_once = model(tokens)
            anew = torch.stack([model(tokens[:, : end + 1])[:, -1] for end in range(LENGTH)], 1)
            torch.testing.assert_close(anew, at_once, **EXACT)
            torch.testing.assert_close(stepwise(model, tokens), at_once, **EXACT)


def test_a_later_token_moves_nothing_before_it(model, tokens) -> None:
    other = tokens.clone()
    other[:, 4] = (other[:, 4] - 3) % (VOCABULARY - 4) + 4
    before, after = model(tokens), model(other)
    assert torch.equal(before[:, :4], after[:, :4])
    assert (before[:, 4] - after[:, 4]).abs().amax(dim=1).min() > 1e-6


def test_a_window_bounds_the_cache(tokens) -> None:
    model = build(windows=(3, None))
    _, state = model.read(tokens[:, :5], model.start(BATCH))
    for token in tokens[:, 5:].T:
        _, state = model.step(token, state)
    assert [layer.num_keys for layer in state.past] == [3, LENGTH]
    assert [layer.position for layer in state.past] == [LENGTH, LENGTH]


def test_left_padding_moves_nothing(model, tokens) -> None:
    real = torch.cat((torch.zeros(BATCH, 2), torch.ones(BATCH, LENGTH)), dim=1).bool()
    padded = torch.cat((torch.full((BATCH, 2), 17), tokens), dim=1)
    expected = model(tokens)
    torch.testing.assert_close(model(padded, real)[:, 2:], expected, **EXACT)
    first, state = model.read(padded[:, :5], model.start(BATCH), real=real[:, :5])
    rest, state = model.read(padded[:, 5:], state)
    found = torch.cat((first, rest), dim=1)[:, 2:]
    torch.testing.assert_close(found, expected, **EXACT)
    last, _ = model.step(torch.tensor([5, 6, 7]), state)
    longer = torch.cat((tokens, torch.tensor([[5], [6], [7]])), dim=1)
    torch.testing.assert_close(last, model(longer)[:, -1], **EXACT)
    assert model(padded, real).isfinite().all()


#: Where a text's tokens stand in a row of ten: padding on either side, on both, in between.
PLACES = {
    "left": [[0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0] * 7 + [1] * 3],
    "right": [[1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1] * 10],
    "both": [[0, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1] * 10, [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]],
    "between": [[1, 0, 1, 1, 0, 0, 1, 1, 1, 0], [0, 1, 0, 0, 0, 1, 1, 0, 1, 1], [1] * 5 + [0] * 5],
    "nothing": [[0] * 10, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]],
    "alone, left": [[0, 0, 0, 1, 1, 1, 1, 1, 1, 1]],
    "alone, right": [[1, 1, 1, 1, 1, 0, 0, 0, 0, 0]],
    "alone, between": [[0, 1, 0, 0, 0, 1, 1, 0, 1, 1]],
}


@pytest.mark.parametrize("places", PLACES)
def test_a_text_among_padding_is_read_as_if_it_stood_alone(model, places) -> None:
    """The kind: positions and caches that count columns, where texts begin and end elsewhere.

    At once, from the cache, in a second call and step by step, for every part that can be
    switched; the oracle is each text alone, without padding.
    """
    real = torch.tensor(PLACES[places]).bool()
    batch, tokens = len(real), torch.randint(4, VOCABULARY, real.shape)
    more = torch.randint(4, VOCABULARY, (batch, 5))
    with torch.no_grad():
        at_once = model(tokens, real)
        first, state = model.read(tokens, model.start(batch), real=real)
        second, state = model.read(more[:, :2], state)
        steps = [second[:, 0], second[:, 1]]
        rows = torch.arange(batch).flip(0)
        state = state.select(rows)
        for place in (2, 3, 4):
            logits, state = model.step(more[rows, place], state)
            steps.append(logits[rows])
    found = torch.stack(steps, dim=1)
    assert state.position == 15
    assert at_once.isfinite().all()
    for row in range(batch):
        text = tokens[row][real[row]]
        expected = model(torch.cat((text, more[row]))[None])[0]
        for given in (at_once, first):
            torch.testing.assert_close(given[row][real[row]], expected[: len(text)], **EXACT)
        torch.testing.assert_close(found[row], expected[len(text) :], **EXACT)


def test_padding_moves_nothing_whatever_it_is(model, tokens) -> None:
    real = torch.tensor([[0, 1, 1, 1, 0, 1, 0]]).bool().expand(BATCH, -1)
    noise = torch.where(real, tokens, torch.randint(4, VOCABULARY, tokens.shape))
    assert torch.equal(model(tokens, real)[real], model(noise, real)[real])


@pytest.mark.usefixtures("unchecked")
def test_padding_behind_what_was_read_is_refused(tokens) -> None:
    model = build()
    real = torch.tensor([[True, True], [True, False], [True, True]])
    _, state = model.read(tokens[:, :2], model.start(BATCH), real=real)
    with pytest.raises(ValueError, match=r"real: expected padding in the first call .* in row 1"):
        model.read(tokens[:, 2:4], state, real=real)
    again, _ = model.read(tokens[:, 2:4], state, real=torch.ones_like(real))
    expected, _ = model.read(tokens[:, 2:4], state)
    torch.testing.assert_close(again, expected, **EXACT)
    row = torch.tensor([1])  # the advice: each text by itself
    alone, _ = model.read(tokens[1:2, 2:3], state.select(row))
    torch.testing.assert_close(alone[0, 0], expected[1, 0], **EXACT)
    for call in (model, lambda *given: model.read(given[0], model.start(BATCH), real=given[1])):
        with pytest.raises(TypeError, match="real: expected a boolean tensor"):
            call(tokens, torch.ones_like(tokens))
        with pytest.raises(ValueError, match=r"real: expected the shape \(3, 7\) of tokens"):
            call(tokens, real)
    with pytest.raises(ValueError, match="with at least one token"):
        model.read(tokens[:, :0], model.start(BATCH))


def test_a_step_leaves_the_state_as_it_was_and_selected_texts_go_on(model, tokens) -> None:
    rows = torch.tensor([2, 2, 0, 1])
    with torch.no_grad():
        real = torch.tensor([[True, True], [False, True], [True, True]])
        _, state = model.read(tokens[:, :2], model.start(BATCH), real=real)
        first, _ = model.step(tokens[:, 2], state)
        model.step(tokens[:, 3], state)
        again, _ = model.step(tokens[:, 2], state)
        assert torch.equal(first, again)
        found, chosen = model.step(tokens[rows, 2], state.select(rows))
    torch.testing.assert_close(found, first[rows], **EXACT)
    assert (chosen.batch_size, chosen.position) == (4, 3)


def test_the_blocks_can_be_looked_into_and_their_heads_switched_off(model, tokens) -> None:
    attention = model.blocks[1].attention
    assert isinstance(attention, MultiHeadAttention)
    with capture_attention(model) as seen:
        logits = model(tokens)
    assert sorted(seen) == ["blocks.0.attention", "blocks.1.attention"]
    for layer, name in enumerate(sorted(seen)):
        [weights] = seen[name]
        assert weights.shape == (BATCH, 6, LENGTH, LENGTH)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(BATCH, 6, LENGTH).double())
        window = model.config.window(layer) or LENGTH
        distance = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
        assert (weights[..., (distance < 0) | (distance >= window)] == 0).all()
        assert (weights[..., (distance >= 0) & (distance < window)] > 0).all()
    with changed_attention(attention, without_heads({2})):
        assert (model(tokens) - logits).abs().max() > 1e-6


def test_a_window_of_each_layer_reaches_so_far() -> None:
    model = build(windows=(3, 3, 3), num_layers=3)
    flow = information_flow(lambda tokens: model(tokens), torch.randint(4, VOCABULARY, (1, 12)))
    reach = [int(row.nonzero()[0]) for row in flow]
    assert reach == [max(0, place - 3 * (3 - 1)) for place in range(12)]


def test_samples_and_counts_as_a_writer(tokens) -> None:
    model = build()
    assert isinstance(model, Writer)
    [written] = sample(model, tokens[:1], max_tokens=5, top_k=1)
    expected, text = [], tokens[:1]
    for _ in range(len(written.ids)):
        logits = model(text)[:, -1]
        logits[:, [0, 2]] = -torch.inf
        expected.append(int(logits.argmax()))
        text = torch.cat((text, logits.argmax(dim=-1, keepdim=True)), dim=1)
    assert list(written.ids) == expected


def test_gradients_reach_every_parameter(model, tokens) -> None:
    model(tokens).logsumexp(dim=-1).sum().backward()
    silent = [name for name, each in model.named_parameters() if not each.grad.abs().max() > 0]
    # With one token in sight every weight is 1: what compares has nothing to say.
    if model.config.windows != (1, 1):
        assert not silent


def test_the_norm_of_queries_and_keys_bounds_the_scores(tokens) -> None:
    model = build(qk_norm=True, positions="none", num_layers=1)
    attention = model.blocks[0].attention
    gains = attention.query_norm.weight * attention.key_norm.weight
    bound = (attention.d_k**0.5 * gains.abs().max()).item()
    for size in (1.0, 1e3, 1e6):
        attention.W_qkv.weight.data *= size
        with capture_attention(model) as seen:
            model(tokens)
        rows = seen["blocks.0.attention"][0][:, :, -1].log()
        assert (rows.amax(dim=-1) - rows.amin(dim=-1)).max() <= 2 * bound + 1e-9


def test_what_does_not_fit_is_refused(tokens, unchecked) -> None:
    model = build()
    with pytest.raises(ValueError, match="token: expected one for each of 2 texts"):
        model.step(tokens[:, 0], model.start(2))
    with pytest.raises(ValueError, match="tokens: expected one row for each of 2 texts"):
        model.read(tokens, model.start(2))
    with pytest.raises(ValueError, match="batch_size: expected at least 1"):
        model.start(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_kv_heads": 4}, "num_kv_heads: expected a divisor of num_heads"),
        ({"d_model": 37}, "num_heads: expected a divisor of d_model"),
        ({"d_k": 0}, "d_k: expected at least 1"),
        ({"d_k": 7}, "d_k: expected an even number"),
        ({"norm": "batch"}, "norm: expected one of rms, layer, got 'batch'"),
        ({"feed_forward": "gelu"}, "feed_forward: expected one of swiglu, geglu, relu"),
        ({"positions": "learned"}, "positions: expected one of"),
        ({"windows": (3,)}, "windows: expected one for each of 2 layers, got 1"),
        ({"windows": (0, None)}, "windows: expected at least 1, got 0"),
        ({"eps": 0.0}, "eps: expected a positive number"),
        ({"scale": -1.0}, "scale: expected a positive number"),
        ({"vocabulary": 0}, "vocabulary: expected at least 1"),
        ({"pad": 2}, "special tokens: expected different numbers"),
        ({"rotary": RotarySettings(base=0.0)}, "base: expected a positive number"),
    ],
)
def test_what_cannot_be_built_is_refused(settings, message, unchecked) -> None:
    with pytest.raises(ValueError, match=message):
        build(**settings) if "vocabulary" not in settings else DecoderConfig(**settings)


def test_settings_survive_being_written() -> None:
    config = DecoderConfig(
        vocabulary=9,
        windows=(None, 4),
        rotary=RotarySettings(scaling=YarnScaling(factor=4.0, trained_length=8)),
        windowed_rotary=RotarySettings(base=3.0),
    )
    assert DecoderConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(ValueError, match=r"kind: expected one of linear, .*, got 'sideways'"):
        RotarySettings.from_dict({"scaling": {"kind": "sideways"}})
    assert DecoderConfig.from_dict({"vocabulary": 9}) == DecoderConfig(vocabulary=9)
