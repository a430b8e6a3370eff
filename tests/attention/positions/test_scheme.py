"""Positions: the laws that every scheme keeps, wherever its positions enter."""

import copy
import math
import pickle
from unittest.mock import Mock

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from attention_book.attention import (
    AlibiPositions,
    LatentAttention,
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    Places,
    Positions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Buckets,
    YarnScaling,
)
from attention_book.attention.positions.scheme import (
    check_at_input,
    distances,
    entrances,
    within_attention,
)
from attention_book.course.models import OneLook
from attention_book.models import (
    LanguageConfig,
    Layer,
    LayerConfig,
)

HEADS, D_K, D_MODEL = 3, 10, 30  # d_model is what the heads are split from

SCHEMES = {
    "none": NoPositions,
    "sinusoidal": lambda: SinusoidalPositions(d_model=D_MODEL),
    "learned": lambda: LearnedPositions(d_model=D_MODEL, max_positions=64),
    "relative": lambda: RelativePositions(d_k=D_K, max_distance=4),
    "relative, keys only": lambda: RelativePositions(d_k=D_K, max_distance=4, values=False),
    "buckets": lambda: T5Buckets(
        num_heads=HEADS, num_buckets=8, max_distance=20, bidirectional=True
    ),
    "buckets, looking back": lambda: T5Buckets(
        num_heads=HEADS, num_buckets=8, max_distance=20, bidirectional=False
    ),
    "rotary": lambda: RotaryPositions(d_k=D_K),
    "alibi": lambda: AlibiPositions(num_heads=HEADS),
}
ABSOLUTE = {"sinusoidal", "learned"}


def create(name):
    scheme = SCHEMES[name]().double()
    for parameter in scheme.parameters():  # buckets start at zero, where every law holds
        torch.nn.init.normal_(parameter)
    return scheme


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return create(request.param)


def attend(scheme, x, *, start=0, num_before=0):
    """Attention written out: x, which begins at position start, asks itself.

    Heads are slices of x, so that nothing but the positions has parameters, and the
    values are x itself. The first num_before positions are keys and values only, as
    with a cache.
    """
    heads = x.unflatten(-1, (HEADS, D_K)).transpose(1, 2)
    placed = scheme(x, offset=start).unflatten(-1, (HEADS, D_K)).transpose(1, 2)
    keys = scheme.rotate(placed, offset=start)
    queries = scheme.rotate(placed[:, :, num_before:], offset=start + num_before)
    scores = queries @ keys.mT / math.sqrt(D_K)
    at = Places(queries.shape[-2], keys.shape[-2], num_before)
    bias = scheme.bias(queries, at)
    weights = (scores if bias is None else scores + bias).softmax(-1)
    added = scheme.value_bias(weights, at)
    return weights @ heads if added is None else weights @ heads + added


def test_a_piece_with_its_offset_is_the_slice_of_the_whole(scheme):
    x, heads = torch.randn(2, 13, D_MODEL).double(), torch.randn(2, HEADS, 13, D_K).double()
    weights = torch.randn(2, HEADS, 13, 17).double().softmax(-1)
    for start, stop in ((0, 5), (4, 5), (7, 13)):
        piece = slice(start, stop)
        assert torch.equal(scheme(x[:, piece], offset=start), scheme(x)[:, piece])
        rotated = scheme.rotate(heads[:, :, piece], offset=start)
        assert torch.equal(rotated, scheme.rotate(heads)[:, :, piece])
        all_of_it, some = Places(13, 17), Places(stop - start, 17, offset=start)
        for added, of_pairs in ((scheme.bias, heads), (scheme.value_bias, weights)):
            whole, part = added(of_pairs, all_of_it), added(of_pairs[:, :, piece], some)
            if whole is None:
                assert part is None
            else:
                torch.testing.assert_close(part, whole[:, :, piece])


@pytest.mark.parametrize("name", SCHEMES)
def test_the_relative_ones_see_distances_only(name):
    scheme, x = create(name), torch.randn(2, 11, D_MODEL).double()
    moved = attend(scheme, x, start=29)
    assert torch.allclose(moved, attend(scheme, x)) == (name not in ABSOLUTE)


@pytest.mark.parametrize("name", SCHEMES)
def test_only_without_positions_is_attention_blind_to_the_order(name):
    scheme, x = create(name), torch.randn(2, 7, D_MODEL).double()
    order = torch.randperm(7)
    assert not torch.equal(order, torch.arange(7))
    same = torch.allclose(attend(scheme, x[:, order]), attend(scheme, x)[:, :, order])
    assert same == (name == "none")


def test_the_base_class_is_neutral():
    x, heads = torch.randn(2, 5, 7), torch.randn(2, 3, 5, 7)
    for neutral in (Positions(), NoPositions()):
        assert neutral(x, offset=3) is x
        assert neutral.rotate(heads, offset=3) is heads
        assert neutral.bias(heads, Places(5, 11, 3)) is None
        assert neutral.value_bias(heads.softmax(-1), Places(5, 7, 3)) is None
        assert not neutral.biases_values


def test_a_scheme_says_whether_it_adds_to_the_values(scheme):
    added = scheme.value_bias(torch.rand(2, HEADS, 5, 7).double(), Places(5, 7))
    assert scheme.biases_values == (added is not None)


def test_gradients_reach_every_parameter(scheme):
    x = torch.randn(2, 13, D_MODEL).double().requires_grad_()
    attend(scheme, x).square().sum().backward()
    assert x.grad.isfinite().all()
    for name, parameter in scheme.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert torch.any(parameter.grad != 0), name


def test_type_and_device_follow_the_input(scheme, dtype):
    scheme.to(dtype)
    exact = copy.deepcopy(scheme).double()
    x, heads = torch.randn(1, 11, D_MODEL).to(dtype), torch.randn(1, HEADS, 11, D_K).to(dtype)
    for call in (
        lambda positions, kind: positions(x.to(kind), offset=3),
        lambda positions, kind: positions.rotate(heads.to(kind), offset=3),
        lambda positions, kind: positions.bias(heads.to(kind), Places(11, 13, 2)),
        lambda positions, kind: positions.value_bias(heads.to(kind).softmax(-1), Places(11, D_K)),
    ):
        ours, expected = call(scheme, dtype), call(exact, torch.float64)
        if ours is not None:
            assert ours.dtype == dtype
            torch.testing.assert_close(
                ours.double(), expected, rtol=0, atol=16 * torch.finfo(dtype).eps
            )


def test_a_cast_there_and_back_loses_nothing_that_is_not_learned():
    for name in ("sinusoidal", "rotary", "alibi"):
        cast, never = create(name).float(), create(name).float()
        calls = (
            lambda positions: positions(torch.zeros(1, 9, D_MODEL)),
            lambda positions: positions.rotate(torch.ones(1, HEADS, 9, D_K)),
            lambda positions: positions.bias(torch.ones(1, HEADS, 9, D_K), Places(9, 9)),
        )
        for call in calls:
            call(cast)
            cast.half().float()
            ours, expected = call(cast), call(never)
            assert (ours is None and expected is None) or torch.equal(ours, expected)


def test_can_be_copied_and_stored(scheme):
    x = torch.randn(1, 5, D_MODEL).double()
    expected = attend(scheme, x)
    for twin in (copy.deepcopy(scheme), pickle.loads(pickle.dumps(scheme))):
        assert torch.equal(attend(twin, x), expected)


def test_only_what_is_learned_is_stored():
    stored = {name: sorted(create(name).state_dict()) for name in SCHEMES}
    assert stored == {
        "none": [],
        "sinusoidal": [],
        "learned": ["table"],
        "relative": ["keys", "values"],
        "relative, keys only": ["keys"],
        "buckets": ["table"],
        "buckets, looking back": ["table"],
        "rotary": [],
        "alibi": [],
    }


def first_use(name):
    """The method by which a scheme speaks, and the shape that it asks for."""
    scheme = create(name)
    inputs, heads = (1, 2, D_MODEL), (1, HEADS, 2, D_K)
    if name in ABSOLUTE:
        return scheme.forward, inputs
    if name == "rotary":
        return scheme.rotate, heads
    return lambda queries, offset=0: scheme.bias(queries, Places(2, 2, offset)), heads


speaking = pytest.mark.parametrize("name", [name for name in SCHEMES if name != "none"])


@speaking
def test_a_negative_offset_is_refused(name):
    call, shape = first_use(name)
    with pytest.raises(ValueError, match="offset: expected 0 or more, got -1"):
        call(torch.rand(shape).double(), offset=-1)


@speaking
def test_whole_numbers_and_wrong_sizes_get_clear_errors(name, unchecked):
    call, shape = first_use(name)
    with pytest.raises(TypeError, match=r"expected floating point tensors, got torch\.int64"):
        call(torch.ones(shape).long())
    wrong = list(shape)
    wrong[-3 if name.startswith(("buckets", "alibi")) else -1] += 1
    with pytest.raises(ValueError, match=r"expected .*got the shape \(1, "):
        call(torch.rand(wrong))


def test_the_settings_are_printed():
    printed = {name: str(create(name)) for name in SCHEMES}
    assert printed["none"] == "NoPositions()"
    assert printed["sinusoidal"] == "SinusoidalPositions(d_model=30, base=10000)"
    assert printed["learned"] == "LearnedPositions(d_model=30, max_positions=64)"
    assert printed["relative"] == "RelativePositions(d_k=10, max_distance=4, values=True)"
    assert printed["rotary"] == "RotaryPositions(d_k=10, base=10000)"
    assert printed["alibi"] == "AlibiPositions(num_heads=3)"
    assert printed["buckets"] == (
        "T5Buckets(num_heads=3, num_buckets=8, max_distance=20, bidirectional=True)"
    )


def test_distances_count_from_the_query_to_the_key():
    expected = [[j - i for j in range(7)] for i in range(3, 8)]
    assert distances(5, 7, offset=3).tolist() == expected


# A scheme that is handed over where it can't enter would be lost without a word: added to the
# input by somebody who only attends, or inside attention by somebody who only adds.

SIZES = {"d_model": D_MODEL, "num_heads": HEADS}
TAKERS = {
    "multi-head": lambda positions: MultiHeadAttention(**SIZES, positions=positions),
    "latent": lambda positions: LatentAttention(
        **SIZES, kv_rank=4, d_k=6, d_rope=D_K, positions=positions
    ),
    "layer": lambda positions: Layer(LayerConfig(**SIZES), positions),
    "block": lambda positions: Layer(LanguageConfig.today(vocabulary=9, **SIZES), positions),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_attention_refuses_what_is_added_to_the_input_and_the_advice_works(taker, unchecked):
    for name in ABSOLUTE:
        with pytest.raises(ValueError, match="positions: expected a scheme that enters inside"):
            TAKERS[taker](create(name))
        TAKERS[taker](within_attention(create(name)))  # who has called it on the input
    for nothing_yet, message in ((RotaryPositions, "got RotaryPositions"), ("rotary", "'rotary'")):
        with pytest.raises(TypeError, match=rf"positions: expected a scheme .*{message}"):
            TAKERS[taker](nothing_yet)


def test_latent_attention_refuses_what_it_would_not_do():
    TAKERS["latent"](create("rotary"))
    for name in ("relative", "buckets", "alibi"):
        with pytest.raises(ValueError, match="positions: expected a scheme that turns"):
            TAKERS["latent"](create(name))


@pytest.mark.parametrize("name", SCHEMES)
def test_who_only_adds_refuses_what_enters_inside_attention(name):
    inside = entrances(create(name)) - {"forward"}
    if not inside:
        check_at_input("place", create(name))
        OneLook(num_words=5, d_model=D_MODEL, place=create(name))
        return
    with pytest.raises(ValueError, match="place: expected a scheme that is added to the input"):
        OneLook(num_words=5, d_model=D_MODEL, place=create(name))


# What a scheme keeps between calls must mean the same to the next one, whatever the last was:
# an inference, a trace on stand-ins, another type, a transform, an autocast.


def within(make):
    """Call within a context, which is made anew each time."""

    def before(call, x):
        with make():
            call(torch.empty(x.shape, dtype=x.dtype) if make is fake else x)

    return before


def fake():
    return FakeTensorMode(allow_non_fake_inputs=True)


BEFORE = {
    "fake": within(fake),
    "traced on fakes": lambda call, x: make_fx(call, tracing_mode="fake")(x),
    "traced": lambda call, x: make_fx(call)(x),
    "traced on symbols": lambda call, x: make_fx(call, tracing_mode="symbolic")(x),
    "functional": lambda call, x: torch.func.functionalize(call)(x),
    "mapped": lambda call, x: torch.func.vmap(call)(x[None]),
    "differentiated": lambda call, x: torch.func.grad(lambda x: call(x).sum())(x),
    "inferred": within(torch.inference_mode),
    "half": lambda call, x: call(x.half()),
    "meta": lambda call, x: call(x.to("meta")),
    "autocast": within(lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    "default device": within(lambda: torch.device("meta")),
}


def biased(scheme):
    return lambda x: x[..., :1] + scheme.bias(x, Places(6, 6))


WITH_TABLES = {
    "sinusoidal": (lambda scheme: lambda x: scheme(x), (1, 6, D_MODEL)),
    "rotary": (lambda scheme: lambda x: scheme.rotate(x), (1, HEADS, 6, D_K)),
    "alibi": (biased, (1, HEADS, 6, D_K)),
    "buckets": (biased, (1, HEADS, 6, D_K)),
}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", WITH_TABLES)
def test_what_was_called_before_changes_nothing(name, before, unchecked):
    call_of, shape = WITH_TABLES[name]
    x = torch.randn(shape)
    if name == "buckets" and before.startswith(("fake", "traced on", "meta")):
        return  # its parameters stay where they are
    scheme = create(name).float()
    fresh = copy.deepcopy(scheme)
    BEFORE[before](call_of(scheme), x)
    x.requires_grad_()
    output = call_of(scheme)(x)
    assert type(output) is torch.Tensor
    assert torch.equal(output, call_of(fresh)(x))
    output.square().sum().backward()
    assert x.grad.isfinite().all()
    pickle.loads(pickle.dumps(scheme))


def test_types_in_turn_share_a_scheme_without_computing_anew():
    for name in ("sinusoidal", "rotary"):
        scheme = create(name)
        table = scheme._encoding if name == "sinusoidal" else scheme._table
        table.compute = counting = Mock(wraps=table.compute)
        call_of, shape = WITH_TABLES[name]
        for _ in range(5):
            for dtype in (torch.float32, torch.float64, torch.float32):
                call_of(scheme)(torch.zeros(shape, dtype=dtype))
        assert counting.call_count == 2


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("sizes", [(1, 0), (0, 3), (0, 0)], ids=str)
def test_nothing_is_placed_without_complaint_also_by_a_fresh_scheme(name, sizes):
    batch, length = sizes
    x, heads = torch.zeros(batch, length, D_MODEL), torch.zeros(batch, HEADS, length, D_K)
    for offset in (0, 3):
        assert create(name).float()(x, offset=offset).shape == x.shape
        assert create(name).float().rotate(heads, offset=offset).shape == heads.shape
        for num_keys in (0, 4):
            at = Places(length, num_keys, offset)
            bias = create(name).float().bias(heads, at)
            if bias is not None:
                assert bias.expand(batch, HEADS, length, num_keys).numel() == 0
            weights = torch.zeros(batch, HEADS, length, num_keys)
            create(name).float().value_bias(weights, at)


# A graph runs many times on one device: it makes no table in double precision on the CPU, which
# would also keep it from being recorded by the device. Its angles are exact all the same.

YARN = YarnScaling(factor=8.0, trained_length=64)


def nodes(call, *arguments):
    """What the operations return in the graph that a call compiles to, and the output."""
    found = []

    def keep(graph, inputs):
        found.extend(graph.graph.nodes)
        return graph

    torch.compiler.reset()
    output = torch.compile(call, fullgraph=True, backend=aot_autograd(fw_compiler=keep))(*arguments)
    values = [node.meta["val"] for node in found if node.op == "call_function"]
    return tree_leaves(values), output


GRAPHS = {
    "sinusoidal": lambda: SinusoidalPositions(d_model=D_MODEL),
    "odd sinusoidal": lambda: SinusoidalPositions(d_model=7),
    "rotary": lambda: RotaryPositions(d_k=D_K),
    "rotary, yarn": lambda: RotaryPositions(d_k=D_K, scaling=YARN, pairing="halves"),
    "alibi": lambda: AlibiPositions(num_heads=HEADS),
    "buckets": lambda: T5Buckets(num_heads=HEADS, bidirectional=True),
    "relative": lambda: RelativePositions(d_k=D_K, max_distance=4),
}


def speaks(name, scheme, dtype=torch.float32):
    """What a scheme does far into a text, and what it is given."""
    if name.endswith("sinusoidal"):
        x = torch.zeros(1, 5, scheme.d_model, dtype=dtype)
        return lambda x: scheme(x, offset=77_777), x
    x = torch.ones(1, HEADS, 5, D_K, dtype=dtype)
    if name.startswith("rotary"):
        return lambda x: scheme.rotate(x, offset=77_777), x
    return lambda x: scheme.bias(x, Places(5, 6, 77_777)), x


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_holds_no_double_precision_and_nothing_of_the_cpu(name, unchecked):
    scheme = GRAPHS[name]().requires_grad_(False)
    call, x = speaks(name, scheme)
    operations, output = nodes(call, x)
    torch.testing.assert_close(output, call(x), rtol=3e-6, atol=3e-6)
    assert torch.float64 not in [value.dtype for value in operations]
    scheme.to("meta")
    operations, _ = nodes(call, x.to("meta"))
    assert {value.device.type for value in operations} == {"meta"}


@pytest.mark.parametrize("name", ["odd sinusoidal", "rotary, yarn"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.bfloat16, 0.02)])
def test_a_graph_is_as_exact_as_its_type(name, dtype, tolerance, unchecked):
    call, x = speaks(name, GRAPHS[name](), dtype)
    torch.testing.assert_close(nodes(call, x)[1], call(x), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["sinusoidal", "rotary, yarn"])
def test_what_a_graph_needs_survives_casts_and_comes_back_from_no_memory(name, unchecked):
    with torch.device("meta"):
        built = GRAPHS[name]()
    for scheme in (built.to_empty(device="cpu"), GRAPHS[name]().half().to("meta").float()):
        scheme.to_empty(device="cpu")
        shape = (1, 5, D_MODEL) if name == "sinusoidal" else (1, HEADS, 5, D_K)
        x = torch.ones(shape)
        call = scheme.forward if name == "sinusoidal" else scheme.rotate
        torch.testing.assert_close(nodes(call, x)[1], call(x), rtol=3e-6, atol=3e-6)
