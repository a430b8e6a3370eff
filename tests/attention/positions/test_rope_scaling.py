"""RoPE scalings against the library's functions, and the laws that each of them keeps."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NtkScaling,
    RopeScaling,
    RotaryPositions,
    YarnScaling,
    rotary_frequencies,
)

LENGTH = 64
SCALINGS = {
    "none": lambda s: RopeScaling(factor=s),
    "linear": lambda s: LinearScaling(factor=s),
    "ntk": lambda s: NtkScaling(factor=s),
    "dynamic": lambda s: DynamicNtkScaling(
        factor=1.0, trained_length=LENGTH, length=round(s * LENGTH)
    ),
    "yarn": lambda s: YarnScaling(factor=s, trained_length=LENGTH),
    "llama3": lambda s: Llama3Scaling(factor=s, trained_length=LENGTH),
}
everywhere = pytest.mark.parametrize("name", SCALINGS)


@everywhere
def test_a_factor_of_one_changes_nothing(name):
    scaling = SCALINGS[name](1.0)
    torch.testing.assert_close(
        scaling.frequencies(32, base=500.0), rotary_frequencies(32, base=500.0), rtol=1e-15, atol=0
    )
    assert scaling.magnitude == 1.0
    x = torch.randn(1, 2, 100, 32, dtype=torch.float64)
    plain, scaled = RotaryPositions(d_k=32), RotaryPositions(d_k=32, scaling=scaling)
    torch.testing.assert_close(scaled.rotate(x), plain.rotate(x), rtol=1e-12, atol=1e-12)


@given(name=st.sampled_from([*SCALINGS]), s=st.integers(2, 40), half=st.integers(2, 40))
def test_no_pair_turns_faster_than_trained_nor_slower_than_interpolated(name, s, half):
    trained = rotary_frequencies(2 * half, base=10000.0)
    scaled = SCALINGS[name](float(s)).frequencies(2 * half)
    assert (scaled <= trained * (1 + 1e-12)).all()
    assert (scaled >= trained / s * (1 - 1e-12)).all()
    assert (scaled.diff() < 0).all()  # still from fast to slow


def test_interpolated_positions_are_divided_positions():
    x = torch.randn(1, 1, 1, 8, dtype=torch.float64)
    scaled = RotaryPositions(d_k=8, scaling=LinearScaling(factor=4.0))
    for position in (0, 4, 400):
        torch.testing.assert_close(
            scaled.rotate(x, offset=position),
            RotaryPositions(d_k=8).rotate(x, offset=position // 4),
        )


def test_ntk_keeps_the_first_pair_and_interpolates_the_last():
    ratio = NtkScaling(factor=8.0).frequencies(32) / rotary_frequencies(32)
    assert ratio[0] == 1
    torch.testing.assert_close(ratio[-1], torch.tensor(1 / 8, dtype=torch.float64))
    steps = ratio.log().diff()
    torch.testing.assert_close(steps, steps[:1].expand_as(steps))  # a straight line between


@pytest.mark.parametrize(("length", "factor", "static"), [(64, 2, 1), (32, 2, 1), (256, 2, 7)])
def test_dynamic_ntk_is_the_static_one_that_the_length_needs(length, factor, static):
    dynamic = DynamicNtkScaling(factor=float(factor), trained_length=LENGTH, length=length)
    assert torch.equal(dynamic.frequencies(32), NtkScaling(factor=float(static)).frequencies(32))


def test_yarn_and_llama_keep_what_turns_often_and_interpolate_what_does_not():
    trained, n, s = rotary_frequencies(128, base=10000.0), 8192, 8.0
    turns = n * trained / (2 * math.pi)
    for scaling, fast, slow in (
        (YarnScaling(factor=s, trained_length=n, truncate=False), 32, 1),
        (
            YarnScaling(factor=s, trained_length=n, truncate=False, beta_fast=9.0, beta_slow=3.0),
            9,
            3,
        ),
        (Llama3Scaling(factor=s, trained_length=n), 4, 1),
    ):
        ratio = scaling.frequencies(128) / trained
        torch.testing.assert_close(ratio[turns >= fast], torch.ones_like(ratio[turns >= fast]))
        torch.testing.assert_close(
            ratio[turns <= slow], torch.full_like(ratio[turns <= slow], 1 / s)
        )
        between = ratio[(turns < fast) & (turns > slow)]
        assert len(between) > 2
        assert ((between < 1) & (between > 1 / s)).all()


def test_yarns_ramp_is_straight_over_the_pairs_and_llamas_over_the_turns():
    trained = rotary_frequencies(128)
    yarn = YarnScaling(factor=8.0, trained_length=8192).frequencies(128) / trained
    inside = (yarn > 0.2) & (yarn < 0.95)
    torch.testing.assert_close(yarn[inside].diff().diff(), torch.zeros_like(yarn[inside])[2:])
    llama = Llama3Scaling(factor=8.0, trained_length=8192).frequencies(128) / trained
    inside = (llama > 0.2) & (llama < 0.95)
    slopes = llama[inside].diff() / trained[inside].diff()
    torch.testing.assert_close(slopes, slopes[:1].expand_as(slopes))


def test_yarns_magnitude():
    yarn = YarnScaling(factor=16.0, trained_length=LENGTH)
    assert yarn.magnitude == 0.1 * math.log(16) + 1
    assert YarnScaling(factor=16.0, trained_length=64, attention_factor=1.5).magnitude == 1.5
    both = YarnScaling(factor=16.0, trained_length=64, mscale=1.0, mscale_all_dim=1.0)
    assert both.magnitude == 1.0
    deep = YarnScaling(factor=40.0, trained_length=4096, mscale=0.707, mscale_all_dim=0.5)
    expected = (0.0707 * math.log(40) + 1) / (0.05 * math.log(40) + 1)
    assert deep.magnitude == pytest.approx(expected, rel=1e-15)
    x = torch.randn(1, 1, 9, 8, dtype=torch.float64)
    grown = RotaryPositions(d_k=8, scaling=yarn).rotate(x).norm(dim=-1) / x.norm(dim=-1)
    torch.testing.assert_close(grown, torch.full_like(grown, yarn.magnitude))


@everywhere
@pytest.mark.parametrize("pairing", ["neighbors", "halves"])
def test_the_score_knows_the_distance_only(name, pairing):
    rotate = RotaryPositions(d_k=12, scaling=SCALINGS[name](8.0), pairing=pairing).rotate
    q, k = torch.randn(2, 1, 12, dtype=torch.float64)
    here = rotate(q, offset=300) @ rotate(k, offset=7).T
    torch.testing.assert_close(here, rotate(q, offset=493) @ rotate(k, offset=200).T)


BY_LENGTH = {
    "dynamic": lambda length: DynamicNtkScaling(factor=2.0, trained_length=9, length=length),
    "longrope": lambda length: LongRopeScaling(
        factor=3.0,
        trained_length=9,
        short_factors=(1.0, 1.5, 2.0),
        long_factors=(1.0, 4.0, 9.0),
        length=length,
    ),
}


@pytest.mark.parametrize("name", BY_LENGTH)
@pytest.mark.parametrize(("count", "offset"), [(1, 0), (9, 0), (10, 0), (30, 0), (1, 9), (7, 20)])
def test_without_a_fixed_length_a_call_turns_by_the_length_it_reaches(name, count, offset):
    x = torch.randn(2, 3, count, 6)
    free = RotaryPositions(d_k=6, scaling=BY_LENGTH[name](None))
    fixed = RotaryPositions(d_k=6, scaling=BY_LENGTH[name](count + offset))
    found = free.rotate(x, offset=offset)
    assert torch.equal(found, fixed.rotate(x, offset=offset))
    other = RotaryPositions(d_k=6, scaling=BY_LENGTH[name](1))
    assert torch.equal(found, other.rotate(x, offset=offset)) == (count + offset <= 9)
    free.rotate(torch.randn(1, 1, 50, 6))  # a longer text before leaves no trace
    assert torch.equal(free.rotate(x, offset=offset), found)


def test_refused():
    uneven = LongRopeScaling(trained_length=9, short_factors=(1.0,) * 3, long_factors=(1.0,) * 2)
    with pytest.raises(ValueError, match="long_factors: expected one for each of 3 pairs, got 2"):
        uneven.frequencies(6)
    with pytest.raises(ValueError, match="short_factors: expected numbers above 0, got"):
        LongRopeScaling(trained_length=9, short_factors=(0.0,), long_factors=(1.0,))
    with pytest.raises(ValueError, match="d_k: expected 4 or more, for two pairs, got 2"):
        RotaryPositions(d_k=2, scaling=NtkScaling(factor=2.0))  # before it is used
    with pytest.raises(ValueError, match=r"factor: expected a number of 1 or more, got 0\.5"):
        LinearScaling(factor=0.5)
    with pytest.raises(ValueError, match="factor: expected a number of 1 or more, got nan"):
        NtkScaling(factor=math.nan)
    with pytest.raises(ValueError, match="d_k: expected 4 or more, for two pairs, got 2"):
        NtkScaling(factor=2.0).frequencies(2)
    with pytest.raises(ValueError, match="trained_length"):
        YarnScaling(factor=2.0, trained_length=0)
    with pytest.raises(ValueError, match="length"):
        DynamicNtkScaling(factor=2.0, trained_length=64, length=0)
    with pytest.raises(ValueError, match="expected beta_fast >= beta_slow > 0"):
        YarnScaling(factor=2.0, trained_length=64, beta_fast=1.0, beta_slow=32.0)
    with pytest.raises(ValueError, match="expected high > low > 0"):
        Llama3Scaling(factor=2.0, trained_length=64, low_freq_factor=2.0, high_freq_factor=2.0)
    with pytest.raises(ValueError, match="d_k: expected an even number"):
        rotary_frequencies(7)


# The library computes frequencies in single precision: about 1e-7 is all it can agree to.
# name: (what its configuration says, the length that is read, ours)
CASES = {
    "linear": ({"factor": 4.0}, None, LinearScaling(factor=4.0)),
    "dynamic": (
        {"factor": 4.0},
        3000,
        DynamicNtkScaling(factor=4.0, trained_length=1024, length=3000),
    ),
    "dynamic, short": (
        {"factor": 4.0},
        30,
        DynamicNtkScaling(factor=4.0, trained_length=1024, length=30),
    ),
    "yarn": ({"factor": 16.0}, None, YarnScaling(factor=16.0, trained_length=1024)),
    "yarn of gpt-oss": (
        {"factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False},
        None,
        YarnScaling(factor=32.0, trained_length=4096, truncate=False),
    ),
    "yarn of DeepSeek": (
        {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.7},
        None,
        YarnScaling(factor=40.0, trained_length=4096, mscale=1.0, mscale_all_dim=0.7),
    ),
    "yarn, short": ({"factor": 8.0}, None, YarnScaling(factor=8.0, trained_length=64)),
    "llama3": (
        {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        None,
        Llama3Scaling(factor=8.0, trained_length=8192),
    ),
}


def of_the_library(kind, d_k, length, *, longest=1024, **settings):
    """The library's frequencies and magnitude, from the configuration of a model."""
    rope_utils = pytest.importorskip("transformers.modeling_rope_utils", exc_type=ImportError)
    LlamaConfig = pytest.importorskip("transformers.models.llama").LlamaConfig
    if not hasattr(LlamaConfig(), "rope_parameters"):
        pytest.skip("expects transformers 5")
    config = LlamaConfig(
        hidden_size=4 * d_k,
        num_attention_heads=4,
        max_position_embeddings=longest,
        rope_parameters={"rope_type": kind, **settings},
    )
    theirs, magnitude = rope_utils.ROPE_INIT_FUNCTIONS[kind](config, None, seq_len=length)
    return theirs.double(), pytest.approx(magnitude, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("base", "d_k"), [(10000.0, 32), (150000.0, 64)])
def test_equals_the_library(name, base, d_k):
    settings, length, ours = CASES[name]
    kind = name.split()[0].strip(",")
    if kind in ("yarn", "llama3"):
        settings = settings | {"original_max_position_embeddings": ours.trained_length}
    theirs, magnitude = of_the_library(kind, d_k, length, rope_theta=base, **settings)
    torch.testing.assert_close(ours.frequencies(d_k, base=base), theirs, rtol=3e-6, atol=0)
    assert ours.magnitude == magnitude


@pytest.mark.parametrize(
    ("length", "factor", "attention_factor"),
    [(1024, 4.0, None), (1025, 4.0, 1.2), (5000, 1.0, None), (7, None, None), (5000, None, 1.2)],
)
def test_longrope_equals_the_library(length, factor, attention_factor):
    pairs = torch.arange(16, dtype=torch.float64)
    short, long = (1 + pairs / 32).tolist(), (1 + pairs).tolist()  # one for each pair
    settings = {"short_factor": short, "long_factor": long, "attention_factor": attention_factor}
    settings |= {"original_max_position_embeddings": 1024, "rope_theta": 1e4}
    settings |= {"factor": factor} if factor else {}
    theirs, magnitude = of_the_library("longrope", 32, length, longest=4096, **settings)
    ours = LongRopeScaling(
        factor=factor or 4.0,
        trained_length=1024,
        short_factors=tuple(short),
        long_factors=tuple(long),
        attention_factor=attention_factor,
    ).for_length(length)
    torch.testing.assert_close(ours.frequencies(32), theirs, rtol=3e-6, atol=0)
    assert ours.magnitude == magnitude
