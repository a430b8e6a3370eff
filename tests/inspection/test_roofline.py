"""The cost of a step: formulas against what is counted while a layer runs. No time is tested."""

import pytest
import torch
from torch import nn

from attention_book.attention import LatentAttention, MultiHeadAttention
from attention_book.inspection import (
    CachedToken,
    Roofline,
    StepCost,
    decoding_step,
    fastest_seconds,
    measured_roofline,
    operations,
)

D_MODEL, HEADS, D_K = 24, 6, 4


class Block(nn.Module):
    """A layer that reads its cache, and a map after it: every weight meets every word."""

    def __init__(self, attention) -> None:
        super().__init__()
        self.attention, self.rest = attention, nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)

    def step(self, x, cache):
        return self.rest(self.attention(x, cache=cache.fork()))


def multi_head(num_kv_heads):
    layer = MultiHeadAttention(d_model=D_MODEL, num_heads=HEADS, num_kv_heads=num_kv_heads)
    return layer, CachedToken.heads(num_heads=HEADS, d_k=D_K, num_kv_heads=num_kv_heads)


def latent():
    sizes = {"num_heads": HEADS, "kv_rank": 5, "d_rope": 2}
    return LatentAttention(d_model=D_MODEL, d_k=D_K, **sizes), CachedToken.latent(**sizes)


LAYERS = {
    "MHA": lambda: multi_head(6),
    "GQA": lambda: multi_head(2),
    "MQA": lambda: multi_head(1),
    "MLA": latent,
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("batch", "tokens"), [(1, 7), (3, 11)])
def test_the_formula_is_what_is_counted(name, batch, tokens) -> None:
    layer, cached = LAYERS[name]()
    block = Block(layer)
    x, cache = torch.rand(batch, 1, D_MODEL), layer.new_cache()
    cache.extend(*layer.project(torch.rand(batch, tokens - 1, D_MODEL)))
    weights = sum(each.numel() for each in block.parameters() if each.ndim == 2)
    cost = decoding_step(num_weights=weights, cached=cached, num_tokens=tokens, batch_size=batch)
    assert operations(lambda x: block.step(x, cache), x) == cost.operations
    kept = cache.extend(*layer.project(x))
    read = sum(each.nbytes for each in block.parameters() if each.ndim == 2)
    assert read + sum(rows.nbytes for rows in kept) == cost.bytes_read
    assert cost.bytes_read - read == batch * layer.cache_bytes(tokens)


def test_the_batch_shares_the_weights_and_not_the_cache() -> None:
    cached = CachedToken.heads(num_heads=HEADS, d_k=D_K)
    costs = [decoding_step(num_weights=1000, cached=cached, batch_size=n) for n in (1, 2, 64)]
    assert [cost.intensity for cost in costs] == [0.5, 1, 32]
    long = {"num_weights": 1000, "cached": cached, "num_tokens": 10**9}
    one, many = (decoding_step(batch_size=n, **long).intensity for n in (1, 64))
    assert one == pytest.approx(cached.intensity / 4)
    assert many == pytest.approx(one, rel=1e-6)


def test_the_roof_has_two_parts_that_meet_at_the_ridge() -> None:
    machine = Roofline(bandwidth=8.0, peak=100.0)
    assert machine.attainable(machine.ridge) == 100.0
    assert machine.attainable(machine.ridge / 2) == 50.0
    assert machine.attainable(machine.ridge * 2) == 100.0
    for cost in (StepCost(80, 10), StepCost(1, 1000), StepCost(8, 100)):
        least = cost.operations / machine.attainable(cost.intensity)
        assert machine.seconds(cost) == pytest.approx(least)


def test_what_is_measured_is_positive_and_calls_are_counted() -> None:
    calls = []
    assert fastest_seconds(lambda: calls.append(1), repeats=3) >= 0
    assert len(calls) == 4
    machine = measured_roofline(megabytes=1, size=32, repeats=1)
    assert machine.bandwidth > 0
    assert machine.peak > 0


@pytest.mark.parametrize("name", ["num_weights", "num_layers", "batch_size", "bytes_per_number"])
def test_numbers_are_checked(name) -> None:
    cached = CachedToken.heads(num_heads=1, d_k=1)
    with pytest.raises(ValueError, match=rf"^{name}: expected at least 1, got 0$"):
        decoding_step(**{"num_weights": 1, "cached": cached, name: 0})
    with pytest.raises(ValueError, match="bandwidth: expected a positive number"):
        Roofline(bandwidth=0.0, peak=1.0)
