"""Sparse patterns: the figure's masks, their reach and their cost are the package's."""

import pytest
import torch

from attention_book import attention as ab

N = 24
GLOBAL = [[], [0], [0, 12], [0, 8, 16]]
STATES = [
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


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_mask_and_its_cost(state, compute) -> None:
    found, (mask, among) = compute("sparse-patterns", **state), pattern(**state)
    assert torch.equal(torch.tensor(found["mask"]), mask)
    assert found["pairs"] == among.sum()
    assert found["kept"] / found["pairs"] == ab.density(mask, among=among)


@pytest.mark.parametrize("state", STATES, ids=str)
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


@pytest.mark.parametrize("state", STATES, ids=str)
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
