"""Our Transformer and torch's: the same parameters, the same results, there and back."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import MultiHeadAttention, NoPositions, causal_mask
from attention_book.models import (
    Layer,
    LayerConfig,
    LayerStack,
    TokenStack,
    Transformer,
    TransformerConfig,
    from_torch,
    to_torch,
)
from attention_book.training import load_checkpoint, save_checkpoint

# (d_model, num_heads, d_ff): primes for every axis of its own.
SIZES = [(35, 5, 13), (11, 1, 23)]
BATCH, SOURCE, TARGET, LAYERS = 3, 7, 5, 2
WORDS = {"source_vocabulary": 13, "target_vocabulary": 19}
EXACT = {"rtol": 0, "atol": 1e-10}
LAYER_KINDS = [nn.TransformerEncoderLayer, nn.TransformerDecoderLayer]

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")


@pytest.fixture(params=SIZES, ids=str)
def size(request: pytest.FixtureRequest) -> tuple[int, int, int]:
    return request.param


@pytest.fixture(params=[False, True], ids=["post", "pre"])
def norm_first(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "bias"])
def bias(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def settings(size, norm_first, bias) -> dict[str, object]:
    """Torch's settings, none of them the default that ours has."""
    d_model, num_heads, d_ff = size
    return {
        "d_model": d_model, "nhead": num_heads, "dim_feedforward": d_ff, "dropout": 0.0,
        "norm_first": norm_first, "bias": bias, "activation": "gelu" if bias else "relu",
        "layer_norm_eps": 1e-3, "batch_first": True, "dtype": torch.float64,
    }  # fmt: skip


@pytest.fixture
def config(size, norm_first, bias) -> TransformerConfig:
    d_model, num_heads, d_ff = size
    return TransformerConfig(
        d_model=d_model, num_heads=num_heads, d_ff=d_ff, num_layers=LAYERS, bias=bias,
        norm="pre" if norm_first else "post", dropout=0.0, positions="learned", **WORDS,
    )  # fmt: skip


def scattered(module: nn.Module) -> nn.Module:
    """Draw all parameters anew, so that none is 0 or 1."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.4)
    return module.double()


def torchs_stack(kind: type[nn.Module], settings: dict[str, object], norm: bool) -> nn.Module:
    last = nn.LayerNorm(settings["d_model"], eps=1e-2) if norm else None
    if kind is nn.TransformerEncoderLayer:
        return scattered(nn.TransformerEncoder(kind(**settings), LAYERS, last))
    return scattered(nn.TransformerDecoder(kind(**settings), LAYERS, last))


def torchs_whole(settings: dict[str, object], norm: bool) -> nn.Transformer:
    whole = scattered(
        nn.Transformer(num_encoder_layers=LAYERS, num_decoder_layers=LAYERS, **settings)
    )
    if not norm:
        whole.encoder.norm = whole.decoder.norm = None
    return whole


def torchs_modules(settings: dict[str, object]) -> list[tuple[nn.Module, dict[str, int]]]:
    """Return one module of every kind and the settings that it needs, with and without norms."""
    target = {"target_vocabulary": WORDS["target_vocabulary"]}
    layers = [(scattered(kind(**settings)), {}) for kind in LAYER_KINDS]
    stacks = [
        (torchs_stack(kind, settings, norm), needed)
        for kind, needed in zip(LAYER_KINDS, ({}, target), strict=True)
        for norm in (False, True)
    ]
    return layers + stacks + [(torchs_whole(settings, norm), WORDS) for norm in (False, True)]


def our_modules(config: TransformerConfig) -> list[nn.Module]:
    model = Transformer(config)
    layers = [Layer(config, NoPositions(), reads_source=reads) for reads in (False, True)]
    modules = [*layers, LayerStack(config), model, model.encoder, model.decoder]
    return [scattered(module) for module in modules]


def parameters(module: nn.Module) -> dict[str, Tensor]:
    """Return the parameters that both sides have: those of layers and norms."""
    around = ("embedding", "positions", "readout")
    named = module.named_parameters()
    return {name: tensor for name, tensor in named if not any(part in name for part in around)}


def same_parameters(module: nn.Module, other: nn.Module) -> None:
    first, second = parameters(module), parameters(other)
    assert first.keys() == second.keys()
    assert first
    assert all(torch.equal(first[name], second[name]) for name in first)


def reads_source(module: nn.Module) -> bool:
    return isinstance(module, LayerStack) and hasattr(module.layers[0], "cross_attention")


def lengths_mask() -> Tensor:
    """Return which of the seven source tokens are real."""
    return torch.arange(SOURCE) < torch.tensor([[7], [4], [1]])


def vectors(length: int, d_model: int) -> Tensor:
    return torch.randn(BATCH, length, d_model, dtype=torch.float64)


# --- there and back --------------------------------------------------------------------------


def test_there_and_back_from_torch(settings: dict[str, object]) -> None:
    for theirs, needed in torchs_modules(settings):
        back = to_torch(from_torch(theirs, **needed))
        assert type(back) is type(theirs)
        same_parameters(back, theirs)


def test_there_and_back_from_ours(config: TransformerConfig) -> None:
    for ours in our_modules(config):
        needed: dict[str, object] = {}
        if isinstance(ours, Transformer) or reads_source(ours):
            needed = {"target_vocabulary": 19, "positions": "learned"}
        if isinstance(ours, Transformer):
            needed["source_vocabulary"] = 13
        back = from_torch(to_torch(ours), **needed)
        encodes = isinstance(ours, TokenStack) and not reads_source(ours)
        assert type(back) is (LayerStack if encodes else type(ours))
        same_parameters(back, ours)
        if isinstance(ours, Transformer):
            assert back.config == ours.config


# --- the same results ------------------------------------------------------------------------


def layer_pairs(kind, settings, config):
    """Yield ours and torch's, once made from torch's, once from ours."""
    theirs = scattered(kind(**settings))
    yield from_torch(theirs), theirs
    reads = kind is nn.TransformerDecoderLayer
    ours = scattered(Layer(config, NoPositions(), reads_source=reads))
    yield ours, to_torch(ours)


def stack_pairs(kind, settings, config):
    for norm in (False, True):
        theirs = torchs_stack(kind, settings, norm)
        needed = {} if kind is nn.TransformerEncoderLayer else {"target_vocabulary": 19}
        yield from_torch(theirs, **needed), theirs
    model = scattered(Transformer(config))
    ours = model.encoder if kind is nn.TransformerEncoderLayer else model.decoder
    yield ours, to_torch(ours)
    if kind is nn.TransformerEncoderLayer:
        stack = scattered(LayerStack(config))
        yield stack, to_torch(stack)


def compare(
    ours: nn.Module, theirs: nn.Module, found: Tensor, expected: Tensor, **needed: object
) -> None:
    """Compare results, and the gradients of all parameters of layers and norms."""
    torch.testing.assert_close(found, expected, **EXACT)
    upstream = torch.randn_like(found)
    found.backward(upstream, inputs=list(parameters(ours).values()))
    expected.backward(upstream)
    # With gradients in the parameters' places, the mapping says which belong together.
    for module in (ours, theirs):
        with torch.no_grad():
            for parameter in parameters(module).values():
                parameter.copy_(parameter.grad)
    mine, other = parameters(ours), parameters(from_torch(theirs, **needed))
    torch.testing.assert_close(mine, other, **EXACT)


@pytest.mark.parametrize("is_causal", [False, True])
def test_an_encoder_layer_is_torchs(settings, config, is_causal) -> None:
    for ours, theirs in layer_pairs(nn.TransformerEncoderLayer, settings, config):
        x, real = vectors(SOURCE, config.d_model), lengths_mask()
        hidden = ~causal_mask(SOURCE) if is_causal else None
        expected = theirs(x, src_mask=hidden, src_key_padding_mask=~real)
        found = ours(x, real[:, None], is_causal=is_causal)
        compare(ours, theirs, found[real], expected[real])


def test_a_decoder_layer_is_torchs(settings, config) -> None:
    for ours, theirs in layer_pairs(nn.TransformerDecoderLayer, settings, config):
        x, source = vectors(TARGET, config.d_model), vectors(SOURCE, config.d_model)
        real = lengths_mask()
        expected = theirs(x, source, tgt_mask=~causal_mask(TARGET), memory_key_padding_mask=~real)
        found = ours(x, is_causal=True, source=source, source_mask=real[:, None])
        compare(ours, theirs, found, expected)


def test_a_stack_of_an_encoder_is_torchs(settings, config) -> None:
    for ours, theirs in stack_pairs(nn.TransformerEncoderLayer, settings, config):
        real = lengths_mask()
        if isinstance(ours, TokenStack):
            tokens = torch.randint(4, 13, (BATCH, SOURCE))
            x, found = ours.embed(tokens), ours(tokens, real[:, None])
        else:
            x = vectors(SOURCE, config.d_model)
            x, found = ours.place(x), ours(x, real[:, None])
        expected = theirs(x.detach(), src_key_padding_mask=~real)
        compare(ours, theirs, found[real], expected[real])


def test_a_stack_of_a_decoder_is_torchs(settings, config) -> None:
    for ours, theirs in stack_pairs(nn.TransformerDecoderLayer, settings, config):
        source, real = vectors(SOURCE, config.d_model), lengths_mask()
        tokens = torch.randint(4, 19, (BATCH, TARGET))
        expected = theirs(
            ours.embed(tokens).detach(),
            source,
            tgt_mask=~causal_mask(TARGET),
            memory_key_padding_mask=~real,
        )
        found = ours(
            tokens, is_causal=True, sources=ours.project(source), source_mask=real[:, None]
        )
        compare(ours, theirs, found, expected, target_vocabulary=19)


def sentences() -> tuple[Tensor, Tensor, Tensor]:
    source = torch.randint(4, 13, (BATCH, SOURCE))
    target = torch.randint(4, 19, (BATCH, TARGET))
    target[:, 0] = 2
    return source, lengths_mask(), target


def torchs_features(theirs: nn.Transformer, ours: Transformer, source, real, target) -> Tensor:
    return theirs(
        ours.encoder.embed(source).detach(),
        ours.decoder.embed(target).detach(),
        tgt_mask=~causal_mask(TARGET),
        src_key_padding_mask=~real,
        memory_key_padding_mask=~real,
    )


def whole_pairs(settings, config):
    for norm in (False, True):
        theirs = torchs_whole(settings, norm)
        yield from_torch(theirs, **WORDS), theirs
    ours = scattered(Transformer(config))
    yield ours, to_torch(ours)


def test_the_whole_is_torchs(settings, config) -> None:
    for ours, theirs in whole_pairs(settings, config):
        ours.readout = nn.Identity()  # torch's has none
        inputs = sentences()
        expected = torchs_features(theirs, ours, *inputs)
        compare(ours, theirs, ours(*inputs), expected, **WORDS)


def test_step_by_step_it_is_torchs_too(settings) -> None:
    """Teacher-forced = step by step with a cache = torch's, which has neither steps nor cache."""
    theirs = torchs_whole(settings, norm=True).eval()
    ours = from_torch(theirs, **WORDS)
    source, real, target = sentences()
    expected = ours.readout(torchs_features(theirs, ours, source, real, target))
    torch.testing.assert_close(ours(source, real, target), expected, **EXACT)
    state, rows = ours.start(ours.encode(source, real)), []
    for token in target.unbind(dim=1):
        logits, state = ours.step(token, state)
        rows.append(logits)
    torch.testing.assert_close(torch.stack(rows, dim=1), expected, **EXACT)


def test_a_stack_step_by_step_is_torchs_causal_one(settings) -> None:
    theirs = torchs_stack(nn.TransformerEncoderLayer, settings, norm=True).eval()
    ours, x = from_torch(theirs), vectors(SOURCE, settings["d_model"])
    expected = theirs(x, mask=~causal_mask(SOURCE))
    torch.testing.assert_close(ours(x, is_causal=True), expected, **EXACT)
    cache = ours.new_cache(BATCH)
    rows = [ours(vector, cache=cache) for vector in x.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(rows, dim=1), expected, **EXACT)


# --- what is kept ----------------------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
def test_mode_and_type_and_what_is_frozen_are_kept(settings, training) -> None:
    for theirs, needed in torchs_modules(settings | {"dtype": torch.float32}):
        theirs.float().train(training)
        for name, parameter in theirs.named_parameters():
            parameter.requires_grad_("linear1.weight" not in name)
        ours = from_torch(theirs, **needed)
        back = to_torch(ours)
        for module in (ours, back):
            assert all(part.training == training for part in module.modules())
            assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}
        frozen = {name for name, each in ours.named_parameters() if not each.requires_grad}
        assert frozen == {name for name in dict(ours.named_parameters()) if "W_1.weight" in name}
        assert all(
            parameter.requires_grad == ("linear1.weight" not in name)
            for name, parameter in back.named_parameters()
        )


def test_the_device_is_kept() -> None:
    settings = {"d_model": 6, "nhead": 2, "dim_feedforward": 7, "device": "meta"}
    theirs = nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **settings)
    ours = from_torch(theirs, **WORDS)
    for module in (ours, to_torch(ours)):
        assert {parameter.device.type for parameter in module.parameters()} == {"meta"}


def rates(layer: nn.Module) -> list[float]:
    """Return torch's rates of dropout, in the order of their use."""
    dropouts = [module.p for module in layer.modules() if isinstance(module, nn.Dropout)]
    return [layer.self_attn.dropout, *dropouts]


@pytest.mark.parametrize("kind", LAYER_KINDS)
def test_every_rate_of_dropout_is_kept(kind: type[nn.Module]) -> None:
    theirs = kind(6, 2, 7, dropout=0.1)
    theirs.self_attn.dropout = 0.15
    names = ["dropout", "dropout1", "dropout2"]
    if kind is nn.TransformerDecoderLayer:
        names.append("dropout3")
        theirs.multihead_attn.dropout = 0.55
    for name, rate in zip(names, (0.2, 0.25, 0.3, 0.35), strict=False):
        getattr(theirs, name).p = rate
    ours = from_torch(theirs)
    assert ours.self_attention.dropout == 0.15
    assert ours.feed_forward.dropout == 0.2
    assert ours.self_attention_norm.dropout == 0.25
    last = 0.3
    if kind is nn.TransformerDecoderLayer:
        assert ours.cross_attention.dropout == 0.55
        assert ours.cross_attention_norm.dropout == 0.3
        last = 0.35
    assert ours.feed_forward_norm.dropout == last
    back = to_torch(ours)
    assert rates(back) == rates(theirs)
    if kind is nn.TransformerDecoderLayer:
        assert back.multihead_attn.dropout == 0.55


def test_the_same_draws_drop_the_same(norm_first) -> None:
    theirs = nn.TransformerEncoderLayer(
        6, 2, 7, dropout=0.3, norm_first=norm_first, batch_first=True, dtype=torch.float64
    )
    # After the attention the two draw in another order, for it leaves its output in another.
    theirs.self_attn.dropout = theirs.dropout1.p = 0.0
    ours, x = from_torch(theirs), vectors(SOURCE, 6)
    results = []
    for layer in (ours, theirs):
        torch.manual_seed(3)
        results.append(layer(x))
    torch.testing.assert_close(*results, **EXACT)


def test_a_stack_of_torchs_drops_nothing_before_its_layers() -> None:
    layer = nn.TransformerEncoderLayer(6, 2, 7, dropout=0.3, batch_first=True)
    x = torch.randn(BATCH, SOURCE, 6)
    assert torch.equal(from_torch(nn.TransformerEncoder(layer, 1)).place(x), x)


def test_embeddings_are_dropped_as_sublayers_are() -> None:
    model = from_torch(nn.Transformer(6, 2, 1, 1, 7, dropout=0.3, batch_first=True), **WORDS)
    assert model.config.dropout == model.config.inner_dropout == 0.3
    assert model.encoder.dropout.p == model.decoder.dropout.p == 0.3


@pytest.mark.parametrize(
    ("activation", "name"),
    [("relu", "relu"), (F.relu, "relu"), (torch.relu, "relu"), (nn.ReLU(), "relu"),
     ("gelu", "gelu"), (F.gelu, "gelu"), (nn.GELU(), "gelu")],
)  # fmt: skip
def test_relu_and_gelu_whatever_they_are_called(activation: object, name: str) -> None:
    theirs = nn.TransformerEncoderLayer(6, 2, 7, activation=activation, dtype=torch.float64)
    ours, x = from_torch(theirs.eval()), vectors(SOURCE, 6)
    assert ours.feed_forward.kind == name
    torch.testing.assert_close(
        ours(x).transpose(0, 1), theirs(x.transpose(0, 1)), **EXACT
    )  # torch's has the batch second


def test_settings_of_ours_that_torch_lacks_are_given() -> None:
    theirs = nn.Transformer(6, 2, 2, 2, 7)
    ours = from_torch(theirs, **WORDS, positions="none", tied=True, bos=1, pad=2, eos=3)
    assert ours.config.tied
    assert ours.readout.weight is ours.decoder.embedding.weight
    assert (ours.config.positions, ours.config.bos) == ("none", 1)


def test_nothing_of_the_layers_is_drawn() -> None:
    layer = nn.TransformerEncoderLayer(6, 2, 7)
    modules = [layer, nn.TransformerDecoderLayer(6, 2, 7), nn.TransformerEncoder(layer, 2)]
    whole, state = Transformer(TransformerConfig(**WORDS)), torch.random.get_rng_state()
    to_torch(whole)
    for theirs in modules:
        to_torch(from_torch(theirs))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_copies_share_nothing() -> None:
    config = TransformerConfig(**WORDS)
    ours = scattered(Transformer(config))
    kept = copy.deepcopy(ours.state_dict())
    for parameter in to_torch(ours).parameters():
        parameter.data.zero_()
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, kept[name])


# --- what one side lacks ---------------------------------------------------------------------


@pytest.mark.parametrize("activation", [F.silu, nn.GELU(approximate="tanh"), torch.tanh])
def test_another_activation_is_named(activation: object) -> None:
    with pytest.raises(ValueError, match="activation: expected ReLU or the exact GELU, got"):
        from_torch(nn.TransformerEncoderLayer(6, 2, 7, activation=activation))


def test_torchs_layers_must_be_alike() -> None:
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 7), 2)
    stack.layers[1] = nn.TransformerEncoderLayer(6, 3, 7)
    with pytest.raises(ValueError, match=r"same settings in all, .*heads': 2.*heads': 3"):
        from_torch(stack)
    with pytest.raises(ValueError, match="layers: expected at least one, got none"):
        from_torch(nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 7), 0))
    with pytest.raises(ValueError, match=r"encoder's settings, .*layers': 2.*layers': 1"):
        from_torch(nn.Transformer(6, 2, 2, 1, 7), **WORDS)


def test_kinds_that_do_not_exist_on_the_other_side() -> None:
    with pytest.raises(TypeError, match=r"module: expected nn.MultiheadAttention, .* got Linear"):
        from_torch(nn.Linear(2, 3))
    with pytest.raises(TypeError, match=r"module: expected MultiHeadAttention, .* got Linear"):
        to_torch(nn.Linear(2, 3))
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 7), 2)
    stack.layers[0] = nn.Identity()
    with pytest.raises(TypeError, match=r"module: expected .* got Identity"):
        from_torch(stack)
    with pytest.raises(TypeError, match=r"module: expected .* got Identity"):
        from_torch(nn.Transformer(6, 2, custom_encoder=nn.Identity()), **WORDS)


def test_settings_that_are_missing_or_not_asked_for() -> None:
    layer = nn.TransformerEncoderLayer(6, 2, 7)
    with pytest.raises(TypeError, match=r"settings: expected none for .*Layer, got bias"):
        from_torch(layer, bias=True)
    with pytest.raises(TypeError, match="source_vocabulary"):
        from_torch(nn.Transformer(6, 2, 1, 1, 7))
    with pytest.raises(TypeError, match="d_model"):
        from_torch(nn.Transformer(6, 2, 1, 1, 7), d_model=12, **WORDS)


@pytest.mark.parametrize("kind", ["relative", "buckets", "rotary", "alibi"])
def test_positions_inside_attention_have_no_place_in_torchs(kind: str) -> None:
    config = TransformerConfig(positions=kind, **WORDS)
    for ours in our_modules(config)[2:]:
        with pytest.raises(ValueError, match="positions: expected none inside attention"):
            to_torch(ours)
    with pytest.raises(ValueError, match="positions: expected none inside attention"):
        from_torch(nn.Transformer(8, 2, 1, 1, 7), positions=kind, **WORDS)


def test_grouped_heads_have_no_place_in_torchs_layers() -> None:
    layer = Layer(LayerConfig(), NoPositions())
    layer.self_attention = MultiHeadAttention(d_model=32, num_heads=4, num_kv_heads=2)
    with pytest.raises(ValueError, match=r"num_kv_heads: expected num_heads = 4, .* got 2"):
        to_torch(layer)


@pytest.mark.parametrize(
    "theirs",
    [
        {}, {"norm_first": True}, {"activation": "gelu"}, {"layer_norm_eps": 1e-2},
        {"bias": False}, {"bias": False, "norm_first": True, "activation": F.gelu},
    ],
    ids=str,
)  # fmt: skip
def test_a_checkpoint_of_a_copy_loads_into_a_model_of_its_config(theirs, tmp_path) -> None:
    """The kind: what a model is made of and its config cannot say, so that another is built."""
    module = nn.Transformer(8, 2, 2, 2, 16, 0.0, batch_first=True, **theirs)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.rand_like(weight) / 3)
    model = from_torch(module, source_vocabulary=10, target_vocabulary=12).eval()
    save_checkpoint(tmp_path / "copy.safetensors", model=model)
    other = Transformer(TransformerConfig.from_dict(model.config.to_dict())).eval()
    load_checkpoint(tmp_path / "copy.safetensors", model=other)
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[2, 7]])
    assert torch.equal(*(each(source, source > 0, target) for each in (model, other)))
