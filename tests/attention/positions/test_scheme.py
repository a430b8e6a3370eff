"""Positions: the laws that every scheme keeps, wherever its positions enter."""

import copy
import math
import pickle

import pytest
import torch

from attention_book.attention import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
    Positions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Buckets,
)
from attention_book.attention.positions.scheme import distances

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
    bias = scheme.bias(queries, keys.shape[-2], offset=num_before)
    weights = (scores if bias is None else scores + bias).softmax(-1)
    added = scheme.value_bias(weights, offset=num_before)
    return weights @ heads if added is None else weights @ heads + added


def test_a_piece_with_its_offset_is_the_slice_of_the_whole(scheme):
    x, heads = torch.randn(2, 13, D_MODEL).double(), torch.randn(2, HEADS, 13, D_K).double()
    weights = torch.randn(2, HEADS, 13, 17).double().softmax(-1)
    for start, stop in ((0, 5), (4, 5), (7, 13)):
        piece = slice(start, stop)
        assert torch.equal(scheme(x[:, piece], offset=start), scheme(x)[:, piece])
        rotated = scheme.rotate(heads[:, :, piece], offset=start)
        assert torch.equal(rotated, scheme.rotate(heads)[:, :, piece])
        whole = scheme.bias(heads, 17)
        part = scheme.bias(heads[:, :, piece], 17, offset=start)
        if whole is None:
            assert part is None
        else:
            torch.testing.assert_close(part, whole[:, :, piece])
        whole, part = (
            scheme.value_bias(weights),
            scheme.value_bias(weights[:, :, piece], offset=start),
        )
        if whole is None:
            assert part is None
        else:
            torch.testing.assert_close(part, whole[:, :, piece])


def test_a_cache_changes_nothing(scheme):
    x = torch.randn(2, 13, D_MODEL).double()
    whole = attend(scheme, x)
    for before in (1, 6, 12):
        later = attend(scheme, x, num_before=before)
        torch.testing.assert_close(later, whole[:, :, before:])


@pytest.mark.parametrize("name", SCHEMES)
def test_the_relative_ones_see_distances_only(name):
    scheme, x = create(name), torch.randn(2, 11, D_MODEL).double()
    moved = attend(scheme, x, start=29)
    assert torch.allclose(moved, attend(scheme, x)) == (name not in ABSOLUTE)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_bias_depends_on_the_distance_only(name):
    scheme, queries = create(name), torch.randn(2, HEADS, 1, D_K).double()
    rows = [scheme.bias(queries, 19, offset=offset) for offset in range(19)]
    for offset in range(1, 19):
        if rows[0] is None:
            assert rows[offset] is None
        else:  # one step later, one key further
            torch.testing.assert_close(rows[offset][..., 1:], rows[offset - 1][..., :-1])


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
        assert neutral.bias(heads, 11, offset=3) is None
        assert neutral.value_bias(heads.softmax(-1), offset=3) is None
        assert not neutral.biases_values


def test_a_scheme_says_whether_it_adds_to_the_values(scheme):
    added = scheme.value_bias(torch.rand(2, HEADS, 5, 7).double())
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
        lambda positions, kind: positions.bias(heads.to(kind), 13, offset=2),
        lambda positions, kind: positions.value_bias(heads.to(kind).softmax(-1)),
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
            lambda positions: positions.bias(torch.ones(1, HEADS, 9, D_K), 9),
        )
        for call in calls:
            call(cast)
            cast.half().float()
            ours, expected = call(cast), call(never)
            assert (ours is None and expected is None) or torch.equal(ours, expected)


def test_used_first_for_inference_then_for_training(scheme):
    x = torch.randn(1, 5, D_MODEL).double()
    with torch.inference_mode():
        attend(scheme, x)
    attend(scheme, x.requires_grad_()).sum().backward()


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
    return lambda queries, offset=0: scheme.bias(queries, 2, offset=offset), heads


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
