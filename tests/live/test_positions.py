"""Live figures of positions compute what the package computes."""

import itertools
import math
import re

import pytest
import torch

from attention_book.attention import (
    AlibiPositions,
    LinearScaling,
    NtkScaling,
    Places,
    RopeScaling,
    RotaryPositions,
    SinusoidalPositions,
    YarnScaling,
    alibi_slopes,
    rotary_frequencies,
)

# --- positions ---------------------------------------------------------------------------------


FAR = 24
SIZES = [(2, 4), (8, 1), (32, 4), (32, 5), (16, 2.5)]
WHERE = [0, 3, 24, 40, 100]


def expected_curve(scores: torch.Tensor, position: int) -> list[float | None]:
    """Pick the offsets −24, …, 24 of a row of scores; there is no key before position 0."""
    places = range(position - FAR, position + FAR + 1)
    return [None if place < 0 else scores[place].item() for place in places]


def agree(found: list, expected: list[float | None]) -> None:
    assert len(found) == len(expected) == 2 * FAR + 1
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours is None) == (theirs is None)
        assert theirs is None or ours == [pytest.approx(theirs, abs=1e-9)]


@pytest.mark.parametrize("position", WHERE)
@pytest.mark.parametrize(("d", "power"), SIZES)
@pytest.mark.parametrize("word", [0.0, 0.5])
def test_sinusoids(word: float, d: int, power: float, position: int, compute) -> None:
    scheme = "added" if word else "sinusoidal"
    found = compute("positions", scheme=scheme, d=d, power=power, position=position)
    positions = SinusoidalPositions(d_model=d, base=10.0**power)
    rows = positions(torch.full((1, 125, d), word, dtype=torch.float64))[0]
    agree(found["curve"], expected_curve(rows @ rows[position], position))
    agree(found["reference"], expected_curve(rows @ rows[FAR], FAR))


@pytest.mark.parametrize("position", WHERE)
@pytest.mark.parametrize(("d", "power"), SIZES)
@pytest.mark.parametrize("phase", [-180, 0, 60])
def test_rotary(phase: int, d: int, power: float, position: int, compute) -> None:
    found = compute(
        "positions", scheme="rotary", d=d, power=power, position=position, phase=phase, offset=-1
    )
    rotary, angle = RotaryPositions(d_k=d, base=10.0**power), math.radians(phase)
    query = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(d // 2)
    key = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64).repeat(d // 2)
    turned = rotary.rotate(key.expand(1, 1, 125, d))[0, 0]
    scores = turned @ rotary.rotate(query[None, None, None], offset=position)[0, 0, 0]
    agree(found["curve"], expected_curve(scores, position))
    # the clocks below are the same numbers: one cosine of an angle for each pair
    if position:
        hands = sum(math.cos(own - other) for own, other in found["turned"])
        assert hands == pytest.approx(scores[position - 1].item(), abs=1e-9)


@pytest.mark.parametrize("heads", range(1, 17))
@pytest.mark.parametrize("position", WHERE)
def test_alibi(position: int, heads: int, compute) -> None:
    found = compute("positions", scheme="alibi", heads=heads, position=position)
    queries = torch.zeros(1, heads, 1, 4, dtype=torch.float64)
    bias = AlibiPositions(num_heads=heads).bias(queries, Places(queries.shape[-2], 125, position))[
        0, :, 0
    ]
    assert found["slopes"] == pytest.approx(alibi_slopes(heads, dtype=torch.float64).tolist())
    for place, ours in zip(range(position - FAR, position + FAR + 1), found["curve"], strict=True):
        assert ours == (None if place < 0 else pytest.approx(bias[:, place].tolist(), abs=1e-12))


@pytest.mark.parametrize("scheme", ["sinusoidal", "rotary", "alibi"])
def test_what_depends_on_the_offset_alone_does_not_move(scheme: str, compute) -> None:
    for position in (24, 61, 100):
        found = compute("positions", scheme=scheme, position=position, phase=75)
        for ours, reference in zip(found["curve"], found["reference"], strict=True):
            assert ours == pytest.approx(reference, abs=1e-10)


def test_added_to_a_word_the_curve_moves(compute) -> None:
    found = compute("positions", scheme="added", position=40)
    moved = zip(found["curve"], found["reference"], strict=True)
    assert max(abs(ours[0] - reference[0]) for ours, reference in moved) > 1


@pytest.mark.parametrize("scheme", ["sinusoidal", "rotary", "alibi", "added"])
def test_the_curve_leaves_its_ghost_only_where_the_place_matters(scheme: str, draw) -> None:
    drawing = draw("positions", scheme=scheme, d=8, power=2, position=60)
    lines = re.findall(r'<polyline class="(live-ghost|live-stroke)" points="([^"]*)"', drawing)
    drawn = {kind: [] for kind, _ in lines}
    for kind, points in lines:
        drawn[kind] += [float(each) for each in re.split("[ ,]", points)]
    same = drawn["live-stroke"] == pytest.approx(drawn["live-ghost"], abs=1e-6)
    assert same == (scheme != "added")


def test_query_and_key_move_together(draw) -> None:
    def apart(position: int) -> float:
        drawing = draw("positions", scheme="rotary", position=position, offset=-3)
        query, key = (
            float(re.search(f'class="{kind}"[^>]* cx="([^"]+)"', drawing)[1])
            for kind in ("live-handle live-query", "live-key live-full")
        )
        return query - key

    assert apart(10) == pytest.approx(apart(90))
    assert apart(10) > 0


# --- scaled rotary frequencies -----------------------------------------------------------------


METHODS = {
    "none": lambda s: RopeScaling(factor=s),
    "linear": lambda s: LinearScaling(factor=s),
    "ntk": lambda s: NtkScaling(factor=s),
    "yarn": lambda s: YarnScaling(factor=s, trained_length=64),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("s", [1.0, 1.5, 4.0, 8.0, 16.0])
def test_it_is_the_packages(method: str, s: float, compute) -> None:
    found, scaling = compute("rope-scaling", method=method, s=s), METHODS[method](s)
    trained, scaled = rotary_frequencies(32), scaling.frequencies(32)
    assert found["frequencies"] == pytest.approx(scaled.tolist(), rel=1e-9)
    assert found["magnitude"] == pytest.approx(scaling.magnitude, rel=1e-12)
    assert found["steps"] == pytest.approx((scaled / trained).tolist(), rel=1e-9)
    assert found["trained"] == pytest.approx((64 * trained / math.tau).tolist(), rel=1e-9)
    assert found["reached"] == pytest.approx((64 * s * scaled / math.tau).tolist(), rel=1e-9)


def test_what_the_caption_says(compute) -> None:
    unseen = {method: sum(compute("rope-scaling", method=method)["unseen"]) for method in METHODS}
    assert unseen["none"] == 11
    assert unseen["linear"] == unseen["yarn"] == 0
    steps = {method: compute("rope-scaling", method=method)["steps"][0] for method in METHODS}
    assert steps == pytest.approx({"none": 1, "linear": 1 / 8, "ntk": 1, "yarn": 1})


@pytest.mark.parametrize("method", METHODS)
def test_at_the_trained_length_nothing_is_unseen(method: str, compute) -> None:
    found = compute("rope-scaling", method=method, s=1)
    assert not any(found["unseen"])
    assert found["reached"] == pytest.approx(found["trained"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("s", [1, 4, 8, 16])
def test_the_dials_show_steps_and_angles_never_had(method: str, s: float, compute, draw) -> None:
    found, drawing = (
        compute("rope-scaling", method=method, s=s),
        draw("rope-scaling", method=method, s=s),
    )
    # Five words in a row, each one step of the fastest pair further.
    words = re.findall(r'class="live-word-dot" cx="([^"]+)" cy="([^"]+)"', drawing)
    turns = [complex(float(x), -float(y)) for x, y in words]
    step = complex(math.cos(found["frequencies"][0]), math.sin(found["frequencies"][0]))
    for now, following in itertools.pairwise(turns):
        assert abs(following - now * step) < 1e-6 * abs(now)
    # A warm ring and hand for each slow pair in sight that reaches what it never had.
    unseen = sum(found["unseen"][j] for j in (6, 9))
    assert drawing.count('class="live-stroke-warm"') == 2 * unseen
