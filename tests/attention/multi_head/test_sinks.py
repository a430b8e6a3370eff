"""Learned sinks: one more term in the softmax, against its definition and against gpt-oss."""

import pytest
import torch

from attention_book.attention import (
    MultiHeadAttention,
    RotaryPositions,
    YarnScaling,
    split_heads,
)

D_MODEL, HEADS, D_K = 24, 6, 4


def attention(**settings):
    module = MultiHeadAttention(d_model=D_MODEL, num_heads=HEADS, sinks=True, **settings).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.4)
    return module.eval()


def text(length=9):
    return torch.randn(2, length, D_MODEL, dtype=torch.float64)


@pytest.mark.parametrize("num_kv_heads", [6, 3, 1])
def test_weights_are_those_of_the_definition(num_kv_heads):
    module, x = attention(num_kv_heads=num_kv_heads, window=4), text()
    plain = MultiHeadAttention(
        d_model=D_MODEL, num_heads=HEADS, num_kv_heads=num_kv_heads, window=4
    )
    state = module.state_dict()
    sinks = state.pop("sinks")
    plain.double().load_state_dict(state)
    ours, without = (each.weights(x, is_causal=True) for each in (module, plain))
    # The scores, up to a constant for each query: recovered from the plain weights.
    scores = _scores(module, x, num_kv_heads)
    seen = without > 0
    exponentials = scores.exp() * seen
    expected = exponentials / (exponentials.sum(-1, keepdim=True) + sinks.exp()[:, None, None])
    torch.testing.assert_close(ours, expected)
    assert (ours.sum(-1) < 1).all()
    torch.testing.assert_close(ours / ours.sum(-1, keepdim=True), without)


def _scores(module, x, num_kv_heads):
    keys = module.project(x).keys.repeat_interleave(HEADS // num_kv_heads, dim=1)
    queries = split_heads(module.W_q(x), module.num_heads)
    return queries @ keys.mT / D_K**0.5


@pytest.mark.parametrize(
    ("window", "length", "num_kv_heads", "dtype", "gate"),
    [
        (None, 64, 2, torch.float64, 1e-10),
        (5, 64, 2, torch.float64, 1e-10),
        (5, 1, 2, torch.float64, 1e-10),
        (5, 7, 8, torch.float32, 1e-5),
        (None, 7, 8, torch.float32, 1e-5),
    ],
)
def test_equals_gpt_oss(window, length, num_kv_heads, dtype, gate):
    gpt_oss = pytest.importorskip(
        "transformers.models.gpt_oss.modeling_gpt_oss", exc_type=ImportError
    )
    config_of = pytest.importorskip("transformers.models.gpt_oss").GptOssConfig
    config = config_of(
        hidden_size=64,
        num_attention_heads=8,
        num_key_value_heads=num_kv_heads,
        head_dim=8,
        num_hidden_layers=2,
        sliding_window=window,
        max_position_embeddings=4096 * 32,
        layer_types=["sliding_attention" if window else "full_attention"] * 2,
        rope_parameters={
            "rope_type": "yarn",
            "factor": 32.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
            "rope_theta": 150000.0,
        },
    )
    config._attn_implementation = "eager"
    theirs = gpt_oss.GptOssAttention(config, layer_idx=0).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.3)
    ours = MultiHeadAttention(
        sinks=True,
        d_model=64,
        num_heads=8,
        num_kv_heads=num_kv_heads,
        bias=True,
        window=window,
        positions=RotaryPositions(
            d_k=8,
            base=150000.0,
            pairing="halves",
            scaling=YarnScaling(factor=32.0, trained_length=4096, truncate=False),
        ),
    ).eval()
    state = dict(theirs.state_dict())
    ours.load_state_dict(
        {"sinks": state["sinks"]}
        | {
            f"W_{x}.{kind}": state[f"{x}_proj.{kind}"]
            for x in "qkvo"
            for kind in ("weight", "bias")
        }
    )
    theirs, ours = theirs.to(dtype), ours.to(dtype)
    x = torch.randn(2, length, 64, dtype=dtype)
    turns = gpt_oss.GptOssRotaryEmbedding(config)(x, torch.arange(length)[None])
    if dtype == torch.float64:  # the library's own turns are of single precision
        scaling = ours.positions.scaling
        angles = torch.arange(length).double()[:, None] * scaling.frequencies(8, base=150000.0)
        exact = tuple(scaling.magnitude * turn[None] for turn in (angles.cos(), angles.sin()))
        torch.testing.assert_close(turns[0].double(), exact[0], rtol=0, atol=1e-5)
        turns = exact
    hidden = torch.full((length, length), -torch.inf, dtype=dtype)
    behind = torch.arange(length)[:, None] - torch.arange(length)
    hidden[(behind >= 0) & (behind < (window or length))] = 0
    expected, their_weights = theirs(
        hidden_states=x, position_embeddings=turns, attention_mask=hidden[None, None]
    )
    largest = expected.abs().max().item()
    torch.testing.assert_close(ours(x, is_causal=True), expected, rtol=0, atol=gate * largest)
    torch.testing.assert_close(ours.weights(x, is_causal=True), their_weights, rtol=0, atol=gate)
