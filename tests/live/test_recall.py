"""Recall in the page: every memory reads what the package's reads, and the chapter's laws hold."""

import pytest
import torch

from attention_book.attention import FixedState, dot_product_attention

STATES = [{"pairs": n, "size": d, "times": t} for n in (2, 16, 32) for d in (8, 16) for t in (1, 2)]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_each_memory_reads_what_the_package_reads(state, compute) -> None:
    first = compute("recall", **state)["first"]
    keys, values = (torch.tensor(first[name], dtype=torch.float64) for name in ("keys", "values"))
    assert keys.shape == (state["pairs"] * state["times"], state["size"])
    for vectors in (keys, values):
        torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(len(vectors)).double())
    asked, ones = keys[-state["pairs"] :], torch.ones(len(keys), dtype=torch.float64)
    empty = FixedState.empty(keys, values)
    expected = {
        "sum": empty.write(keys, values).read(asked),
        "delta": empty.write(keys, values, strength=ones).read(asked),
        "softmax": dot_product_attention(asked, keys, values, scale=16.0),
    }
    for kind, reads in expected.items():
        found = torch.tensor(first["reads"][kind], dtype=torch.float64)
        torch.testing.assert_close(found, reads, rtol=0, atol=1e-12)


def test_the_keys_are_random_directions(compute) -> None:
    keys = torch.tensor(compute("recall", pairs=32)["first"]["keys"], dtype=torch.float64)
    products = (keys @ keys.T)[~torch.eye(32, dtype=torch.bool)]
    assert abs(products.mean()) < 0.03
    assert products.square().mean() == pytest.approx(1 / 16, rel=0.2)


def test_the_page_says_what_the_chapter_says(compute) -> None:
    once, twice = compute("recall")["means"], compute("recall", times=2)["means"]
    assert once["sum"] > once["delta"] + 0.05
    assert twice["delta"] > twice["sum"] + 0.1
    assert once["softmax"] > 0.99
    assert twice["softmax"] < 0.6
    found = compute("recall")["shares"]
    assert found["delta"][-1] == pytest.approx(1)
    assert found["delta"][0] < found["sum"][0] - 0.2
