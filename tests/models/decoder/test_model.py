"""Laws of the decoder-only model, for every part that can be switched."""

import json

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


def test_a_window_bounds_the_cache(tokens) -> None:
    model = build(windows=(3, None))
    _, state = model.read(tokens[:, :5], model.start(BATCH))
    for token in tokens[:, 5:].T:
        _, state = model.step(token, state)
    assert [layer.num_keys for layer in state.layers] == [3, LENGTH]
    assert [layer.position for layer in state.layers] == [LENGTH, LENGTH]


def test_a_row_may_hold_no_text_at_all(model) -> None:
    """The others are read as always, and its own numbers are finite."""
    real = torch.tensor([[0] * 6, [1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 1, 1]]).bool()
    tokens = torch.randint(4, VOCABULARY, real.shape)
    at_once = model(tokens, real)
    first, state = model.read(tokens, model.start(BATCH), real=real)
    torch.testing.assert_close(first[real], at_once[real], **EXACT)
    last, _ = model.step(torch.tensor([5, 6, 7]), state)
    assert all(each.isfinite().all() for each in (at_once, first, last))
    torch.testing.assert_close(last[0], model(torch.tensor([[5]]))[0, 0], **EXACT)


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
