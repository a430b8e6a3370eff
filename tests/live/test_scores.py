"""Live figures of scores, weights and masks compute what the package computes."""

import itertools
import math
import re
from typing import Any

import pytest
import torch
from torch.distributions import Categorical

from attention_book import attention as ab
from attention_book.attention import (
    AdditiveScore,
    Attention,
    CosineScore,
    DotScore,
    ScaledDotScore,
    additive_from_mask,
    causal_mask,
    ignore_from_mask,
    mask_from_additive,
    mask_from_ignore,
    mask_from_lengths,
    masked_softmax,
    tiled_attention,
    window_mask,
)
from attention_book.attention.efficient.online_softmax import PartialAttention

# --- softmax -----------------------------------------------------------------------------------


SPREADS = torch.tensor([0.5, -1.2, 0.8, 1.5, -0.5, -1.1], dtype=torch.float64)
SOFTMAX_STATES = [(0, "no", 0.2), (0, "yes", 5.0), (6, "no", 1.0), (9, "no", 0.2), (9, "yes", 1.0)]


def doubles(numbers: Any) -> torch.Tensor:
    """As a tensor in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize(("doublings", "divide", "temperature"), SOFTMAX_STATES)
def test_weights_entropy_and_derivatives(
    doublings: int, divide: str, temperature: float, compute: Any
) -> None:
    found = compute("softmax", doublings=doublings, divide=divide, temperature=temperature)
    d = 2**doublings
    scores = SPREADS * math.sqrt(d) / (math.sqrt(d) if divide == "yes" else 1) / temperature
    weights = masked_softmax(scores[None])[0]
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    assert found["d"] == d
    close = {"rtol": 0, "atol": 1e-12}
    torch.testing.assert_close(doubles(found["scores"]), SPREADS * math.sqrt(d), **close)
    torch.testing.assert_close(doubles(found["weights"]), weights, **close)
    torch.testing.assert_close(doubles(found["slopes"]), jacobian.diagonal(), **close)
    entropy = Categorical(probs=weights).entropy()
    assert found["entropy"] == pytest.approx(entropy.item(), abs=1e-6)


@pytest.mark.parametrize("doublings", [0, 6, 9])
@pytest.mark.parametrize(("divide", "score"), [("no", DotScore()), ("yes", ScaledDotScore())])
def test_queries_and_keys_of_that_size(
    doublings: int, divide: str, score: Any, compute: Any
) -> None:
    d = 2**doublings
    queries = torch.ones(1, d, dtype=torch.float64)
    keys = SPREADS[:, None] / math.sqrt(d) * queries
    found = compute("softmax", doublings=doublings, divide=divide)
    weights = Attention(score).weights(queries, keys)[0]
    torch.testing.assert_close(doubles(found["weights"]), weights, rtol=0, atol=1e-12)


def test_a_saturated_derivative_keeps_its_digits(compute: Any) -> None:
    found = compute("softmax", doublings=9, temperature=0.2)
    rest = doubles(sorted(found["weights"])[:-1]).sum()
    assert max(found["slopes"]) > 0
    assert found["slopes"][3] == pytest.approx(rest.item(), rel=1e-9)


def test_what_the_caption_says(compute: Any, draw: Any) -> None:
    begin = compute("softmax")
    assert max(begin["weights"]) > 0.9999
    assert max(begin["slopes"]) < 1e-4
    scaled = [compute("softmax", divide="yes", doublings=doublings) for doublings in range(10)]
    for each in scaled:
        torch.testing.assert_close(doubles(each["weights"]), SPREADS.softmax(-1))
    assert max(scaled[0]["slopes"]) > 0.2
    assert re.search(r"导数是 0\.0000\d\d，", draw("softmax")), "a small number keeps two digits"


# --- online softmax ----------------------------------------------------------------------------


SIZES = [1, 2, 3, 5, 8, 24]
PLACES = [(row, score) for row in ("desk", "long") for score in (-2, 0.5, 5, 8)]


def tensors(found) -> tuple[torch.Tensor, torch.Tensor]:
    scores = torch.tensor([found["scores"]], dtype=torch.float64)
    return scores, torch.tensor(found["values"], dtype=torch.float64)[:, None]


def numbers(part: PartialAttention) -> tuple[float, float, float]:
    return part.maximum.item(), part.total.item(), part.weighted.item()


@pytest.mark.parametrize("tile", SIZES)
@pytest.mark.parametrize(("row", "score"), PLACES)
def test_each_tile_is_merged_as_in_the_package(row, score, tile, compute) -> None:
    found = compute("online-softmax", row=row, score=score, tile=tile)
    scores, values = tensors(found)
    merged = None
    cuts = zip(found["tiles"], scores.split(tile, dim=1), values.split(tile), strict=True)
    for mine, *cut in cuts:
        part = PartialAttention.of(*cut)
        before, merged = merged, part if merged is None else merged.merge(part)
        for name, theirs in (("before", before), ("part", part), ("now", merged)):
            if theirs is not None:
                got = [mine[name][key] for key in "msu"]
                assert got == pytest.approx(numbers(theirs), rel=1e-13, abs=1e-12)
        assert mine["output"] == pytest.approx(merged.output.item(), rel=1e-13)
        past = 0 if before is None else mine["now"]["first"] * mine["before"]["s"]
        assert past + mine["now"]["second"] * mine["part"]["s"] == mine["now"]["s"]
    # In the end it is softmax, whatever the tiles.
    weights = masked_softmax(scores)
    torch.testing.assert_close(doubles([found["weights"]]), weights, rtol=0, atol=1e-14)
    query = torch.ones(1, 1, dtype=torch.float64)
    tiled = tiled_attention(query, scores.mT, values, query_tile=1, key_tile=tile, scale=1.0)
    for output in (weights @ values, tiled):
        assert found["tiles"][-1]["output"] == pytest.approx(output.item(), rel=1e-13)
        assert found["output"] == pytest.approx(output.item(), rel=1e-13)


def test_the_desk_in_two_glances_is_the_chapter_s_table(compute) -> None:
    first, second = compute("online-softmax", row="desk", tile=3)["tiles"]
    rows = [first["part"], second["part"], second["now"]]
    printed = [[each["m"], round(each["s"], 3), round(each["u"], 1)] for each in rows]
    assert printed == [[3, 1.591, 30.9], [5, 1.007, 300.0], [5, 1.222, 304.2]]
    assert round(second["output"], 1) == 248.9
    # A step beyond the last tile is the last.
    assert compute("online-softmax", row="desk", tile=3, step=24)["step"] == 2


LENGTH = re.compile(r'<rect class="([\w -]+)" x="([\d.]+)" y="25" width="([\d.e-]+)"')


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_lengths_say_what_is_kept_and_what_a_tile_adds(step: int, compute, draw) -> None:
    tile = compute("online-softmax", step=step)["tiles"][step - 1]
    lengths = LENGTH.findall(draw("online-softmax", step=step))
    half = len(lengths) // 2
    for name, own in (("s", lengths[:half]), ("u", lengths[half:])):
        rects = {kind: float(wide) for kind, _, wide in own}
        added = tile["now"]["second"] * tile["part"][name]
        unit = rects["live-fill-warm"] / added
        assert rects["live-bar"] + rects["live-fill-warm"] == pytest.approx(
            unit * tile["now"][name]
        )
        # Outlined is the earlier length wherever it shrinks.
        outline = rects.get("live-axis live-dashed")
        shrinks = step > 1 and tile["now"]["first"] < 1
        assert outline == (pytest.approx(unit * tile["before"][name]) if shrinks else None)


def test_only_a_tile_and_three_numbers_are_at_hand(compute) -> None:
    for tile in SIZES:
        assert compute("online-softmax", tile=tile)["memory"] == {"row": 24, "tiles": tile + 3}
    assert compute("online-softmax", row="desk", tile=24)["memory"] == {"row": 5, "tiles": 8}


# --- scores ------------------------------------------------------------------------------------


BEGIN = {
    **{"qLength": 2, "qAngle": 45, "aLength": 1, "aAngle": 60, "bLength": 2.8, "bAngle": 5},
    **{"cLength": 1.2, "cAngle": 115, "dLength": 2.4, "dAngle": 115},
    **{"wk1": 1, "wk2": 1, "wq2": -0.5, "wv": 3},
}
SCORE_STATES: list[dict[str, float]] = [
    {},
    {"qLength": 0, "aLength": 0},
    {"qLength": 3, "qAngle": -180, "bLength": 3, "bAngle": 180, "cAngle": -91},
    {"wk1": -2, "wk2": 2, "wq2": 2, "wv": 5},
    {"wk1": 0, "wk2": 0.3, "wv": 0},
]


def vector(state: dict[str, Any], point: str) -> list[float]:
    angle = math.radians(state[f"{point}Angle"])
    return [state[f"{point}Length"] * math.cos(angle), state[f"{point}Length"] * math.sin(angle)]


def package(state: dict[str, float]) -> dict[str, torch.nn.Module]:
    additive = AdditiveScore(d_q=2, d_k=2, d_hidden=1).double().requires_grad_(False)
    additive.W_k.weight.copy_(torch.tensor([[state["wk1"], state["wk2"]]], dtype=torch.float64))
    additive.W_q.weight.copy_(torch.tensor([[0, state["wq2"]]], dtype=torch.float64))
    additive.w_v.weight.fill_(state["wv"])
    return {
        "dot": DotScore(),
        "scaled": ScaledDotScore(),
        "cosine": CosineScore(),
        "additive": additive,
    }


@pytest.mark.parametrize("changes", SCORE_STATES)
def test_scores_and_weights(changes: dict[str, float], compute) -> None:
    state = BEGIN | changes
    query, keys = doubles([vector(state, "q")]), doubles([vector(state, each) for each in "abcd"])
    found = compute("scores", **state)
    for name, score in package(state).items():
        expected = score(query, keys)[0]
        close = dict(rtol=0, atol=1e-12)
        torch.testing.assert_close(doubles(found["scores"][name]), expected, **close)
        torch.testing.assert_close(doubles(found["weights"][name]), expected.softmax(-1), **close)


@pytest.mark.parametrize("name", ["dot", "scaled", "cosine", "additive"])
@pytest.mark.parametrize("changes", SCORE_STATES)
def test_the_field_is_the_score_of_a_key_in_each_cell(name: str, changes: dict, compute) -> None:
    state = BEGIN | changes
    field = doubles(compute("scores", score=name, **state)["field"])
    places = (torch.arange(18, dtype=torch.float64) + 0.5) / 18 * 6.4 - 3.2
    keys = torch.stack(torch.meshgrid(places, places, indexing="xy"), -1)  # rows from below
    expected = package(state)[name](doubles([vector(state, "q")]), keys.reshape(-1, 2)).reshape(
        18, 18
    )
    torch.testing.assert_close(field, expected, rtol=0, atol=1e-12)


def test_the_start_shows_what_length_does(compute) -> None:
    found = compute("scores")
    winner = {name: row.index(max(row)) for name, row in found["scores"].items()}
    assert winner == {"dot": 1, "scaled": 1, "cosine": 0, "additive": 1}
    longer = compute("scores", bLength=3)
    assert longer["scores"]["dot"][1] > found["scores"]["dot"][1]
    assert longer["scores"]["cosine"][1] == pytest.approx(found["scores"]["cosine"][1], abs=1e-15)
    assert longer["scores"]["additive"][1] < 3
    assert found["scores"]["cosine"][2] == pytest.approx(found["scores"]["cosine"][3], abs=1e-15)


# --- masks -------------------------------------------------------------------------------------


SIZE = 6
UNTOUCHED, ALL_PRESSED = "0" * SIZE**2, "1" * SIZE**2
LENGTHS, RADII = (0, 1, 4, SIZE), (0, 1, 3, SIZE - 1)
ROLLED = "000000001000010000000000000000100001"


def rule(length: int, causal: str, radius: int) -> torch.Tensor:
    """The package's mask of the three rules together."""
    mask = mask_from_lengths(torch.tensor(length), SIZE) & window_mask(SIZE, radius=radius)
    return mask & causal_mask(SIZE) if causal == "1" else mask


@pytest.mark.parametrize("changed", [UNTOUCHED, ALL_PRESSED, ROLLED])
@pytest.mark.parametrize("causal", ["0", "1"])
def test_rules_changes_and_weights(changed: str, causal: str, compute: Any) -> None:
    pressed = torch.tensor([digit == "1" for digit in changed]).view(SIZE, SIZE)
    for length, radius in itertools.product(LENGTHS, RADII):
        found = compute("masks", length=length, causal=causal, radius=radius, changed=changed)
        expected = rule(length, causal, radius)
        mask = expected ^ pressed
        assert found["rule"] == expected.tolist()
        assert found["mask"] == mask.tolist()
        weights = masked_softmax(torch.zeros(SIZE, SIZE, dtype=torch.float64), mask)
        ours = torch.tensor(found["weights"], dtype=torch.float64)
        torch.testing.assert_close(ours, weights, rtol=0, atol=1e-12)
        assert torch.equal(ours == 0, ~mask), "a hidden key weighs exactly 0"
        assert found["empty"] == (~mask).all(-1).tolist()


@pytest.mark.parametrize("causal", ["0", "1"])
@pytest.mark.parametrize("changed", [UNTOUCHED, ALL_PRESSED, ROLLED])
def test_what_leaks(changed: str, causal: str, compute: Any) -> None:
    for length, radius in itertools.product(LENGTHS, RADII):
        found = compute("masks", length=length, causal=causal, radius=radius, changed=changed)
        mask = torch.tensor(found["mask"])
        padded = mask & ~mask_from_lengths(torch.tensor(length), SIZE)
        later = mask & ~causal_mask(SIZE) & torch.tensor(causal == "1")
        leaks = [[bool(why) for why in row] for row in found["leaks"]]
        assert leaks == (padded | later).tolist()
        named = [[why == "padding" for why in row] for row in found["leaks"]]
        assert named == padded.tolist()
        if changed == UNTOUCHED:
            assert not any(itertools.chain(*leaks)), "the rules themselves leak nothing"


def written(html: str) -> list[str]:
    """What stands in the cells, row by row."""
    cells = re.findall(r'class="live-square".*?<text[^>]*>([^<]+)<', html)
    assert len(cells) == SIZE**2
    return cells


def test_four_conventions(draw: Any, compute: Any) -> None:
    state = {"changed": ROLLED}
    mask = torch.tensor(compute("masks", **state)["mask"])
    shown = {
        convention: written(draw("masks", convention=convention, **state))
        for convention in ("see", "ignore", "numbers", "additive")
    }
    letters = {True: "T", False: "F"}
    assert shown["see"] == [letters[cell] for cell in mask.flatten().tolist()]
    ignore = ignore_from_mask(mask)
    assert shown["ignore"] == [letters[cell] for cell in ignore.flatten().tolist()]
    numbers = torch.tensor([int(cell) for cell in shown["numbers"]]).view(SIZE, SIZE)
    assert torch.equal(mask_from_ignore(numbers), mask)
    infinity = {"0": 0.0, "−∞": -torch.inf}
    additive = torch.tensor([infinity[cell] for cell in shown["additive"]]).view(SIZE, SIZE)
    assert torch.equal(additive, additive_from_mask(mask))
    assert torch.equal(mask_from_additive(additive), mask)


def test_what_the_caption_of_masks_says(compute: Any, draw: Any) -> None:
    found = compute("masks")
    leaking = [
        (query + 1, key + 1)
        for query, key in itertools.product(range(SIZE), repeat=2)
        if found["leaks"][query][key]
    ]
    assert leaking == [(2, 3)]
    assert found["empty"] == [False] * 5 + [True]
    assert draw("masks").count('class="live-alarm"') == 1
    assert "没有漏" in draw("masks", changed=UNTOUCHED, radius=5)


# --- sparse patterns ---------------------------------------------------------------------------


N = 24
GLOBAL = [[], [0], [0, 12], [0, 8, 16]]
PATTERN_STATES = [
    {},
    {"causal": "0"},
    {"radius": 0, "gap": 1, "causal": "0", "query": 0, "layers": 1},
    {"stride": 4},
    {"radius": 4, "stride": 5, "layers": 2},
    {"radius": 2, "global": 2, "random": 2, "causal": "0"},
    {"radius": 2, "global": 3, "random": 2, "query": 12},
    {"radius": 2, "gap": 3, "causal": "0"},
    {"radius": 8, "gap": 4, "stride": 1, "global": 3, "random": 4, "layers": 6},
    {"radius": 0, "random": 4, "causal": "0", "layers": 6},
    {"radius": 1, "gap": 4, "stride": 8, "global": 1, "query": 23},
]


def pattern(**state: object) -> tuple[torch.Tensor, torch.Tensor]:
    """The mask that a state stands for, and the pairs that full attention would compute."""
    begin = {"radius": 3, "gap": 1, "stride": 0, "global": 0, "random": 0, "causal": "1"}
    of = begin | state
    mask = ab.dilated_mask(N, radius=of["radius"], dilation=of["gap"])
    if of["stride"]:
        mask = mask | ab.strided_mask(N, stride=of["stride"])
    if of["global"]:
        mask = mask | ab.global_mask(N, positions=GLOBAL[of["global"]])
    dice = torch.Generator().manual_seed(0)
    mask = mask | ab.random_mask(N, num_keys=of["random"], generator=dice)
    among = ab.causal_mask(N) if of["causal"] == "1" else torch.ones(N, N, dtype=torch.bool)
    return mask & among, among


@pytest.mark.parametrize("state", PATTERN_STATES, ids=str)
def test_the_mask_and_its_cost(state, compute) -> None:
    found, (mask, among) = compute("sparse-patterns", **state), pattern(**state)
    assert torch.equal(torch.tensor(found["mask"]), mask)
    assert found["pairs"] == among.sum()
    assert found["kept"] / found["pairs"] == ab.density(mask, among=among)


@pytest.mark.parametrize("state", PATTERN_STATES, ids=str)
def test_the_layer_in_which_a_key_is_reached(state, compute) -> None:
    found, (mask, _) = compute("sparse-patterns", **state), pattern(**state)
    first = torch.tensor(found["first"])
    for layers in range(N + 1):
        assert torch.equal(first <= layers, ab.reach(mask, layers))
    assert found["reached"] == [int(ab.reach(mask, layers).sum()) for layers in range(7)]
    assert found["reachable"] == ab.reach(mask, N).sum()
    last = found["enough"]
    assert torch.equal(ab.reach(mask, last), ab.reach(mask, N))
    assert last == 0 or not torch.equal(ab.reach(mask, last - 1), ab.reach(mask, N))


@pytest.mark.parametrize("state", PATTERN_STATES, ids=str)
def test_what_the_chosen_query_sees(state, compute) -> None:
    found, (mask, among) = compute("sparse-patterns", **state), pattern(**state)
    query, layers = state.get("query", 23), state.get("layers", 4)
    assert found["mine"] == {
        "allowed": among[query].sum(),
        "seen": mask[query].sum(),
        "reached": ab.reach(mask, layers)[query].sum(),
        "reachable": ab.reach(mask, N)[query].sum(),
    }


def test_the_start_says_what_the_caption_says(compute) -> None:
    start, strides = compute("sparse-patterns")["mine"], {"stride": 4}
    assert (start["seen"], start["reached"]) == (4, 13)
    found = compute("sparse-patterns", **strides)
    assert found["reached"][2] == found["pairs"]
    assert found["kept"] < 0.6 * found["pairs"]


# --- the desk of the first chapter -------------------------------------------------------------


KEYS = torch.tensor(
    [[0.1, 0.3, 0.0], [0.3, 0.6, 0.0], [0.2, 0.4, 0.0], [0.2, 1.0, 0.0], [1.0, 0.0, 1.0]],
    dtype=torch.float64,
)
PAGES = torch.tensor([[1.0], [16.0], [40.0], [300.0], [0.0]], dtype=torch.float64)
QUERIES = {"reader": [[0.0, 5.0, 0.0]], "idle": [[5.0, 0.0, 0.0]]}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.7])
@pytest.mark.parametrize("hidden", ["00000", "00010", "10101", "11111"])
def test_weights_and_output(query: str, temperature: float, hidden: str, compute) -> None:
    found = compute("steps", query=query, temperature=temperature, hidden=hidden)
    queries = torch.tensor(QUERIES[query], dtype=torch.float64) / temperature
    mask = torch.tensor([[digit == "0" for digit in hidden]])
    desk = Attention(DotScore())
    weights = desk.weights(queries, KEYS, mask)
    torch.testing.assert_close(
        torch.tensor([found["weights"]], dtype=torch.float64), weights, rtol=0, atol=1e-12
    )
    output = desk(queries, KEYS, PAGES, mask).item()
    assert found["output"] == pytest.approx(output, abs=1e-9)


@pytest.mark.parametrize(
    ("state", "numbers"),
    [
        ({}, ["1", "4", "5"]),
        ({"temperature": 2}, ["1", "2", "4", "5"]),
        ({"hidden": "00010"}, ["1", "3", "4", "5"]),
        ({"step": 2}, ["1", "2", "4", "5"]),
        ({"step": 3}, ["1", "3", "4", "5"]),
        ({"step": 3, "temperature": 2}, ["1", "2", "3", "4", "5"]),
    ],
)
def test_scaling_and_mask_show_only_where_they_do_something(
    state: dict[str, Any], numbers: list[str], draw: Any
) -> None:
    assert re.findall(r'class="live-count"[^>]*>(\d)<', draw("steps", **state)) == numbers
