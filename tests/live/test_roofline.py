"""The roofline in the browser: bytes, operations and limits are the package's."""

import pytest

from attention_book.inspection import CachedToken, Roofline, decoding_step

KEPT = {
    "own": CachedToken.heads(num_heads=32, d_k=128),
    "shared": CachedToken.heads(num_heads=32, d_k=128, num_kv_heads=8),
    "latent": CachedToken.latent(num_heads=32, kv_rank=512, d_rope=64),
}
WEIGHTS = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 4096 * 128256
STATES = [
    {},
    {"batch": 6},
    {"batch": 10, "tokens": 8192},
    {"batch": 3, "tokens": 131072, "kept": "own", "ridge": 5},
    {"batch": 8, "tokens": 1024, "kept": "latent", "ridge": 50},
]
BEGIN = {"batch": 0, "tokens": 0, "kept": "shared", "ridge": 300}


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_step_is_the_packages(state, compute) -> None:
    found, state = compute("roofline", **state), BEGIN | state
    machine = Roofline(bandwidth=1.0, peak=float(state["ridge"]))
    assert found["weights"] == 2 * WEIGHTS
    for power, step in enumerate(found["steps"]):
        cost = decoding_step(
            num_weights=WEIGHTS,
            cached=KEPT[state["kept"]],
            num_layers=32,
            num_tokens=state["tokens"],
            batch_size=2**power,
            bytes_per_number=2,
        )
        assert (step["bytes"], step["operations"]) == (cost.bytes_read, cost.operations)
        share = machine.attainable(cost.intensity) / machine.peak
        assert step["share"] == pytest.approx(share, rel=1e-12)
    assert found["now"] == found["steps"][state["batch"]]


def test_the_caption_is_true(compute) -> None:
    assert compute("roofline")["now"]["share"] < 0.004
    empty, long = (compute("roofline", batch=6, tokens=n)["now"]["share"] for n in (0, 8192))
    assert empty > 0.2
    assert long < empty / 4
    assert compute("roofline", batch=10)["now"]["share"] == 1
    assert compute("roofline", batch=10, tokens=8192)["now"]["share"] < 0.1
