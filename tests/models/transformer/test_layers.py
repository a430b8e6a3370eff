"""Layer by layer equal to torch's own, with the same weights."""

import pytest
import torch
from torch import Tensor, nn

from attention_book.attention import NoPositions, causal_mask
from attention_book.models import (
    Layer,
    Transformer,
    TransformerConfig,
    from_torch,
    to_torch,
)

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
