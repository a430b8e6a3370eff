"""Learned sinks: one more term in the softmax, against its definition and against gpt-oss."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.differential
@given(
    groups=st.integers(1, 3),
    heads_a_group=st.integers(1, 3),
    pairs=st.integers(1, 4),
    window=st.none() | st.integers(1, 80),
    length=st.integers(1, 70),
    padding=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    side=st.sampled_from(["left", "right"]),
    cuts=st.sets(st.integers(1, 69), max_size=4),
    seed=st.integers(0, 99),
)
def test_drawn_settings_equal_gpt_oss(
    groups, heads_a_group, pairs, window, length, padding, side, cuts, seed
):
    gpt_oss = pytest.importorskip(
        "transformers.models.gpt_oss.modeling_gpt_oss", exc_type=ImportError
    )
    config_of = pytest.importorskip("transformers.models.gpt_oss").GptOssConfig
    heads, d_k = groups * heads_a_group, 2 * pairs
    sizes = {"hidden_size": heads * d_k, "head_dim": d_k, "num_hidden_layers": 1}
    config = config_of(
        **sizes,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        sliding_window=window,
        layer_types=["sliding_attention" if window else "full_attention"],
    )
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    theirs = gpt_oss.GptOssAttention(config, layer_idx=0).double().eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    positions = RotaryPositions(d_k=d_k, pairing="halves")
    kinds = {"sinks": True, "bias": True, "window": window, "positions": positions}
    ours = MultiHeadAttention(
        d_model=heads * d_k, num_heads=heads, num_kv_heads=groups, **kinds
    ).double()
    state = theirs.state_dict()
    names = {name: name.replace("_proj", "")[0] for name in state if "_proj" in name}
    ours.load_state_dict(
        {"sinks": state["sinks"]}
        | {f"W_{letter}.{name.split('.')[1]}": state[name] for name, letter in names.items()}
    )
    x = torch.randn(len(padding), length, heads * d_k, dtype=torch.float64)
    place = torch.arange(length)
    gaps = (torch.tensor(padding, dtype=torch.float64)[:, None] * (length - 1)).long()
    real = place >= gaps if side == "left" else place < length - gaps
    behind = place[:, None] - place
    seen = (behind >= 0) & (behind < (window or length)) & real[:, None]
    hidden = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -torch.inf)[:, None]
    frequencies = 10000.0 ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
    angles = (place[:, None] * frequencies)[None]
    turns = angles.cos(), angles.sin()
    with torch.no_grad():
        expected, _ = theirs(hidden_states=x, position_embeddings=turns, attention_mask=hidden)
        at_once = ours(x, mask=real[:, None], is_causal=True)
        cache, ends = ours.new_cache(), [0, *sorted(cut for cut in cuts if cut < length), length]
        pieces = [
            ours(x[:, begin:end], mask=real[:, None, :end], cache=cache)
            for begin, end in itertools.pairwise(ends)
        ]
    for found in (at_once, torch.cat(pieces, dim=1)):
        torch.testing.assert_close(found[real], expected[real], rtol=0, atol=1e-9)
