"""Layer by layer equal to torch's own, with the same weights."""

import pytest
import torch
from torch import Tensor, nn

from attention_book.attention import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
    Places,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Buckets,
    causal_mask,
)
from attention_book.models import (
    Layer,
    LayerConfig,
    LayerStack,
    Transformer,
    TransformerConfig,
    from_torch,
    to_torch,
)
from attention_book.models.config import POSITION_KINDS
from attention_book.models.layers import create_positions

# (d_model, num_heads, d_ff): primes for every axis of its own.
SIZES = [(6, 2, 7), (35, 5, 13), (11, 1, 23), (17, 17, 3)]
BATCH, SOURCE, TARGET = 3, 7, 5
EXACT = {"rtol": 0, "atol": 1e-10}


@pytest.fixture(params=SIZES, ids=str)
def size(request: pytest.FixtureRequest) -> tuple[int, int, int]:
    return request.param


@pytest.fixture(params=["post", "pre"])
def norm(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "bias"])
def config(request, size, norm) -> TransformerConfig:
    d_model, num_heads, d_ff = size
    return TransformerConfig(
        source_vocabulary=13, target_vocabulary=19, d_model=d_model, num_heads=num_heads,
        d_ff=d_ff, num_layers=2, norm=norm, positions="none", bias=request.param,
    )  # fmt: skip


def scattered(module: nn.Module) -> nn.Module:
    """Draw all parameters anew, so that none is 0 or 1."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.4)
    return module.double().eval()


def lengths_mask() -> Tensor:
    """Return which of the seven source tokens are real."""
    return torch.arange(SOURCE) < torch.tensor([[7], [4], [1]])


@pytest.mark.parametrize("masked", [False, True])
def test_encoder_layer_equals_torchs(config: TransformerConfig, masked: bool) -> None:
    ours = scattered(Layer(config, NoPositions()))
    theirs = to_torch(ours)
    x, real = torch.randn(BATCH, SOURCE, config.d_model).double(), lengths_mask()
    if not masked:
        torch.testing.assert_close(ours(x), theirs(x), **EXACT)
        return
    expected = theirs(x, src_key_padding_mask=~real)
    found = ours(x, real[:, None, :])
    torch.testing.assert_close(found[real], expected[real], **EXACT)


@pytest.mark.parametrize("masked", [False, True])
def test_decoder_layer_equals_torchs(config: TransformerConfig, masked: bool) -> None:
    ours = scattered(Layer(config, NoPositions(), reads_source=True))
    theirs = to_torch(ours)
    x = torch.randn(BATCH, TARGET, config.d_model).double()
    encoded, real = torch.randn(BATCH, SOURCE, config.d_model).double(), lengths_mask()
    causal = causal_mask(TARGET)
    if masked:
        expected = theirs(x, encoded, tgt_mask=~causal, memory_key_padding_mask=~real)
        found = ours(x, is_causal=True, source=encoded, source_mask=real[:, None, :])
    else:
        expected, found = theirs(x, encoded), ours(x, source=encoded)
    projected = ours.cross_attention.project(encoded)  # once for all calls, and the same
    hidden = {"source_mask": real[:, None, :]} if masked else {}
    again = ours(x, is_causal=masked, source=projected, **hidden)
    torch.testing.assert_close(again, found, **EXACT)
    torch.testing.assert_close(found, expected, **EXACT)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("masked", [False, True])
def test_the_whole_equals_torchs(config: TransformerConfig, masked: bool) -> None:
    ours = scattered(Transformer(config))
    theirs = to_torch(ours)
    source, real = torch.randint(4, 13, (BATCH, SOURCE)), lengths_mask()
    if not masked:
        real = torch.ones_like(real)
    target = torch.cat((torch.full((BATCH, 1), 2), torch.randint(4, 19, (BATCH, TARGET - 1))), 1)
    features = theirs(
        ours.encoder.embed(source),
        ours.decoder.embed(target),
        tgt_mask=~causal_mask(TARGET),
        src_key_padding_mask=~real if masked else None,
        memory_key_padding_mask=~real if masked else None,
    )
    expected = ours.readout(features)
    torch.testing.assert_close(ours(source, real, target), expected, **EXACT)


def test_gradients_equal_torchs(config: TransformerConfig) -> None:
    ours = scattered(Layer(config, NoPositions()))
    theirs = to_torch(ours)
    x = torch.randn(BATCH, SOURCE, config.d_model).double()
    upstream = torch.randn_like(x)
    for layer in (ours, theirs):
        layer(x).backward(upstream)
        with torch.no_grad():  # the mapping then says which gradients belong together
            for parameter in layer.parameters():
                parameter.copy_(parameter.grad)
    torch.testing.assert_close(
        dict(ours.named_parameters()), dict(from_torch(theirs).named_parameters()), **EXACT
    )


@pytest.mark.parametrize("reads_source", [False, True])
@pytest.mark.parametrize("pieces", [(1,) * TARGET, (3, 2)])
def test_a_step_gives_the_row_of_the_whole(config, reads_source, pieces) -> None:
    layer = scattered(Layer(config, NoPositions(), reads_source=reads_source))
    x = torch.randn(BATCH, TARGET, config.d_model).double()
    source = torch.randn(BATCH, SOURCE, config.d_model).double() if reads_source else None
    whole, cache = layer(x, is_causal=True, source=source), layer.self_attention.new_cache()
    rows = [layer(piece, cache=cache, source=source) for piece in x.split(pieces, dim=1)]
    assert cache.position == TARGET
    torch.testing.assert_close(torch.cat(rows, dim=1), whole, **EXACT)


# --- stacks -----------------------------------------------------------------------------------


def stack_of(**settings):
    torch.manual_seed(3)
    return LayerStack(LayerConfig(d_model=20, num_heads=2, num_layers=3, **settings)).eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_stack_is_positions_then_layers_then_norm(norm):
    stack, x = stack_of(norm=norm), torch.randn(2, 7, 20)
    expected = stack.positions(x)
    for layer in stack.layers:
        expected = layer(expected)
    if norm == "pre":
        expected = torch.nn.functional.layer_norm(expected, (20,))
    torch.testing.assert_close(stack(x), expected)


@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_with_a_causal_mask_a_later_vector_moves_nothing_before_it(positions):
    stack, x = stack_of(positions=positions), torch.randn(2, 7, 20)
    other = x.clone()
    other[:, 4] += 1
    before, after = stack(x, is_causal=True), stack(other, is_causal=True)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert (before[:, 4:] - after[:, 4:]).abs().amax(dim=(0, 2)).min() > 1e-3


def test_in_training_the_positions_are_dropped_with_the_vectors():
    """Dropout is applied to the sum (Vaswani et al. 2017, section 5.4)."""
    stack, nothing = stack_of(dropout=0.5).train(), torch.zeros(2, 50, 20)
    placed, doubled = stack.place(nothing), 2 * stack.positions(nothing)
    kept = placed != 0
    torch.testing.assert_close(placed[kept], doubled[kept])
    assert 0.4 < kept.float().mean() < 0.6


def test_all_layers_share_the_positions():
    stack = stack_of(positions="relative")
    assert all(layer.self_attention.positions is stack.positions for layer in stack.layers)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_steps_are_the_rows_of_a_call_with_the_causal_mask(positions, norm):
    stack, x = stack_of(positions=positions, norm=norm), torch.randn(2, 7, 20)
    cache, rows = stack.new_cache(2), []
    for place, piece in enumerate(x.split([1, 1, 3, 2], dim=1)):
        before = cache.fork()
        rows.append(stack(piece, cache=cache))
        assert torch.equal(stack(piece, cache=before), rows[-1])
        assert cache.position == [1, 2, 5, 7][place]
    torch.testing.assert_close(torch.cat(rows, dim=1), stack(x, is_causal=True))


# --- positions by their name -----------------------------------------------------------------

CLASSES = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "relative": RelativePositions,
    "buckets": T5Buckets,
    "rotary": RotaryPositions,
    "alibi": AlibiPositions,
    "none": NoPositions,
}


@pytest.mark.parametrize("kind", POSITION_KINDS)
def test_a_name_is_its_class_and_fits_the_layers(kind):
    config = LayerConfig(d_model=30, num_heads=5, max_distance=3, max_positions=7, positions=kind)
    positions = create_positions(config, looks_ahead=True)
    assert type(positions) is CLASSES[kind]
    assert positions(torch.randn(2, 7, 30)).shape == (2, 7, 30)
    heads = torch.randn(2, 5, 7, config.head_size)
    assert positions.rotate(heads).shape == heads.shape
    bias = positions.bias(heads, Places(heads.shape[-2], 11))
    assert (bias is None) == (kind not in ("relative", "buckets", "alibi"))
    assert bias is None or bias.expand(2, 5, 7, 11).shape == (2, 5, 7, 11)


def following(positions: T5Buckets) -> torch.Tensor:
    """The biases that the first of seven positions gives to the six after it, for each head."""
    nn.init.normal_(positions.table)
    return positions.bias(torch.zeros(1, 5, 1, 6), Places(1, 7))[0, :, 0, 1:]


def test_t5_s_buckets_tell_apart_what_follows_in_the_encoder_only():
    config = TransformerConfig(
        source_vocabulary=13, target_vocabulary=17, d_model=30, num_heads=5, positions="buckets"
    )
    model = Transformer(config)
    assert (following(model.encoder.positions).diff(dim=-1) != 0).all()
    assert (following(model.decoder.positions).diff(dim=-1) == 0).all()
