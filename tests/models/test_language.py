"""Laws of language models, for every part that can be switched and every scheme of positions."""

import json

import pytest
import torch
from torch import Tensor

from attention_book.attention import (
    DynamicNtkScaling,
    LongRopeScaling,
    MultiHeadAttention,
    YarnScaling,
    causal_mask,
    mask_from_lengths,
)
from attention_book.inspection import (
    capture_attention,
    changed_attention,
    information_flow,
    without_heads,
)
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    RotarySettings,
    Transformer,
    TransformerConfig,
    Writer,
)
from attention_book.models.config import POSITION_KINDS

EXACT = {"rtol": 0, "atol": 1e-10}
BATCH, LENGTH, VOCABULARY = 3, 7, 19
VARIANTS = {
    "today": {},
    "alibi": {"positions": "alibi", "windows": (None, 4), "num_kv_heads": 2},
    "one head of keys": {"num_kv_heads": 1, "tied": True, "norm_kind": "layer", "bias": True},
    "like gemma": {
        "feed_forward": "geglu",
        "around_one": True,
        "norm": "both",
        "qk_norm": True,
        "num_kv_heads": 3,
        "d_k": 4,
        "scale": 0.3,
        "tied": True,
        "windows": (3, None),
        "windowed_rotary": RotarySettings(base=100.0, pairing="halves"),
        "rotary": RotarySettings(base=1e6, pairing="halves"),
    },
}


def build(**changes: object) -> LanguageModel:
    sizes = {"d_model": 36, "num_heads": 6, "d_ff": 17, "num_layers": 2}
    config = LanguageConfig.today(vocabulary=VOCABULARY, **{**sizes, **changes})
    model = LanguageModel(config).double().eval()
    for weight in model.parameters():  # norms and wide projections that an error would show in
        torch.nn.init.normal_(weight, mean=0.5 if weight.ndim == 1 else 0.0, std=0.3)
    return model


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest) -> LanguageModel:
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


LONG = {"trained_length": 4, "short_factors": (1.0,) * 4, "long_factors": (1.0, 2.0, 3.0, 4.0)}
BY_LENGTH = {
    "dynamic": lambda **fixed: DynamicNtkScaling(factor=2.0, trained_length=4, **fixed),
    "longrope": lambda **fixed: LongRopeScaling(**LONG, **fixed),
}


@torch.no_grad()
@pytest.mark.parametrize("name", BY_LENGTH)
@pytest.mark.parametrize("windows", [(), (3, None)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_does_not_count_where_positions_turn_by_the_length(name, windows, side) -> None:
    """The kind: a text of three tokens in five places was turned as one of five, without a word."""

    def model_of(scaling):
        turned = {"rotary": RotarySettings(scaling=scaling), "windowed_rotary": RotarySettings()}
        if windows:
            turned = {
                "rotary": RotarySettings(),
                "windowed_rotary": RotarySettings(scaling=scaling),
            }
        return build(d_k=8, windows=windows, **turned)

    free, fixed = (model_of(BY_LENGTH[name](**length)) for length in ({}, {"length": 5}))
    tokens = torch.arange(4, 14).view(2, 5)
    real = torch.tensor([[True] * 5, [False] * 2 + [True] * 3])
    real = real if side == "left" else real.flip(1)
    beyond = "real: expected no padding beyond 4 tokens, .* got some in row 1"
    with pytest.raises(ValueError, match=beyond):
        free(tokens, real)
    with pytest.raises(ValueError, match=beyond):
        free.read(tokens, free.start(2), real=real)
    state = free.read(tokens[:, :3], free.start(2), real=real[:, :3])[1] if side == "left" else None
    if state is not None:  # the steps that follow a padded prompt count its padding
        _, state = free.step(torch.tensor([5, 6]), state)
        with pytest.raises(ValueError, match=beyond):
            free.step(torch.tensor([5, 6]), state)
    every = torch.ones_like(real)  # texts of one length, and a scaling with one
    torch.testing.assert_close(free(tokens, every), free(tokens), **EXACT)
    alone = fixed(tokens[1:, real[1]])
    torch.testing.assert_close(fixed(tokens, real)[1, real[1]], alone[0], **EXACT)
    short, told = (tokens[:, :4], real[:, :4]) if side == "left" else (tokens[:, 1:], real[:, 1:])
    alone = free(short[1:, told[1]])
    torch.testing.assert_close(free(short, told)[1, told[1]], alone[0], **EXACT)


@pytest.mark.parametrize("name", BY_LENGTH)
def test_padding_of_a_source_does_not_count_either(name) -> None:
    rotary = RotarySettings(scaling=BY_LENGTH[name]())
    sizes = {"source_vocabulary": 9, "target_vocabulary": 9, "d_k": 8}
    model = Transformer(TransformerConfig(**sizes, positions="rotary", rotary=rotary)).eval()
    source = torch.tensor([[4, 5, 6, 7, 3], [4, 5, 3, 0, 0]])
    with pytest.raises(ValueError, match="real: expected no padding beyond 4 tokens"):
        model.encode(source, source > 0)
    model.encode(source[:1], source[:1] > 0)


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


def test_the_layers_can_be_looked_into_and_their_heads_switched_off(model, tokens) -> None:
    attention = model.stack.layers[1].self_attention
    assert isinstance(attention, MultiHeadAttention)
    with capture_attention(model) as seen:
        logits = model(tokens)
    assert sorted(seen) == [f"stack.layers.{layer}.self_attention" for layer in (0, 1)]
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


def test_the_norm_of_queries_and_keys_bounds_the_scores(tokens) -> None:
    model = build(qk_norm=True, positions="none", num_layers=1)
    attention = model.stack.layers[0].self_attention
    gains = attention.query_norm.weight * attention.key_norm.weight
    bound = (attention.d_k**0.5 * gains.abs().max()).item()
    for size in (1.0, 1e3, 1e6):
        attention.W_q.weight.data *= size
        attention.W_k.weight.data *= size
        with capture_attention(model) as seen:
            model(tokens)
        rows = seen["stack.layers.0.self_attention"][0][:, :, -1].log()
        assert (rows.amax(dim=-1) - rows.amin(dim=-1)).max() <= 2 * bound + 1e-9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_kv_heads": 4}, "num_kv_heads: expected a divisor of num_heads"),
        ({"d_model": 37}, "num_heads: expected a divisor of d_model"),
        ({"d_k": 0}, "d_k: expected at least 1"),
        ({"d_k": 7}, "d_k: expected an even number"),
        ({"norm_kind": "batch"}, "norm_kind: expected one of layer, rms, got 'batch'"),
        ({"feed_forward": "tanh"}, "feed_forward: expected one of relu, gelu, swiglu"),
        ({"positions": "sine"}, "positions: expected one of"),
        ({"windows": (3,)}, "windows: expected one for each of 2 layers, got 1"),
        ({"windows": (0, None)}, "windows: expected at least 1, got 0"),
        ({"eps": 0.0}, "eps: expected a positive number"),
        ({"scale": -1.0}, "scale: expected a positive number"),
        ({"vocabulary": 0}, "vocabulary: expected at least 1"),
        ({"eos": 3, "ends": (3, 4.0)}, "ends: expected a whole number, got 4"),
        ({"eos": 3, "ends": (3, True)}, "ends: expected a whole number, got True"),
        ({"pad": 2}, "special tokens: expected different numbers"),
        ({"rotary": RotarySettings(base=0.0)}, "base: expected a positive number"),
    ],
)
def test_what_cannot_be_built_is_refused(settings, message, unchecked) -> None:
    with pytest.raises(ValueError, match=message):
        build(**settings) if "vocabulary" not in settings else LanguageConfig.today(**settings)


def test_settings_survive_being_written() -> None:
    config = LanguageConfig.today(
        vocabulary=9,
        windows=(None, 4),
        rotary=RotarySettings(scaling=YarnScaling(factor=4.0, trained_length=8)),
        windowed_rotary=RotarySettings(base=3.0),
    )
    assert LanguageConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(ValueError, match=r"kind: expected one of linear, .*, got 'sideways'"):
        RotarySettings.from_dict({"scaling": {"kind": "sideways"}})
    assert LanguageConfig.from_dict({"vocabulary": 9}) == LanguageConfig(vocabulary=9)


# --- GPT and BERT: the layers of 2017 under two masks ----------------------------------------


def gpt(**changes: object) -> LanguageModel:
    sizes = {"d_model": 30, "num_heads": 5, "d_ff": 17, "num_layers": 2, "max_distance": 3}
    config = LanguageConfig(vocabulary=VOCABULARY, **{**sizes, **changes})
    return LanguageModel(config).double().eval()


@pytest.fixture(params=POSITION_KINDS)
def positions(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("tied", [False, True])
def test_the_two_differ_in_nothing_but_the_mask(positions: str, tied: bool, tokens: Tensor) -> None:
    causal = gpt(positions=positions, tied=tied)
    masked = gpt(causal=False, positions=positions, tied=tied)
    masked.load_state_dict(causal.state_dict())  # every name and every shape is the same
    real = torch.ones_like(tokens, dtype=torch.bool)
    everything = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    torch.testing.assert_close(masked(tokens, real), masked.predict(tokens, everything), **EXACT)
    torch.testing.assert_close(causal(tokens), causal.predict(tokens, causal_mask(LENGTH)), **EXACT)
    if positions != "buckets":  # which count distances differently where nobody looks ahead
        crossed = masked.predict(tokens, causal_mask(LENGTH))
        torch.testing.assert_close(crossed, causal(tokens), **EXACT)


def test_buckets_are_not_spent_on_a_future_that_nobody_sees() -> None:
    assert not gpt(positions="buckets").stack.positions.bidirectional
    assert gpt(causal=False, positions="buckets").stack.positions.bidirectional


def test_it_is_embedding_stack_and_readout(tokens: Tensor) -> None:
    model = gpt(norm="pre")
    vectors = model.stack.place(model.stack.embedding.weight[tokens] * 30**0.5)
    expected = model.stack.run(vectors, causal_mask(LENGTH)) @ model.readout.weight.T
    torch.testing.assert_close(model(tokens), expected + model.readout.bias, **EXACT)


def test_a_prefix_is_seen_from_both_sides(tokens: Tensor) -> None:
    model = gpt()
    mask = causal_mask(LENGTH) | mask_from_lengths(torch.tensor([3]), LENGTH)
    other = tokens.clone()
    other[:, 2] = (other[:, 2] - 3) % (VOCABULARY - 4) + 4
    moved = model.predict(tokens, mask) - model.predict(other, mask)
    assert moved.abs().amax(dim=2).min() > 1e-6  # the prefix's last word moves its first
    other = tokens.clone()
    other[:, 3] = (other[:, 3] - 3) % (VOCABULARY - 4) + 4
    moved = (model.predict(tokens, mask) - model.predict(other, mask)).abs().amax(dim=2)
    assert moved[:, :3].max() == 0 < moved[:, 3:].min()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: build().step(torch.tensor([4, 5, 6]), build().start(2)),
            "token: expected one for each of 2 texts",
        ),
        (
            lambda: build().read(torch.full((3, 7), 4), build().start(2)),
            "tokens: expected one row for each of 2 texts",
        ),
        (lambda: build().start(0), "batch_size: expected at least 1"),
        (
            lambda: gpt()(torch.tensor([[2, 99]])),
            "tokens: expected token numbers from 0 to 18, got 2 to 99",
        ),
        (lambda: gpt(causal=False).start(1), r"causal: expected True, .*; call the model on whole"),
    ],
)
def test_what_does_not_fit_is_refused(call, message, unchecked) -> None:
    assert isinstance(build(), Writer)
    with pytest.raises(ValueError, match=message):
        call()
