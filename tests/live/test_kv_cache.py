"""The KV cache: bytes are those of the package's caches, operations are counted while it runs."""

import pytest
import torch

from attention_book.attention import MultiHeadAttention, NoPositions
from attention_book.inspection import operations
from attention_book.models import DecoderLayer, LayerConfig

DTYPES = {4: torch.float32, 2: torch.bfloat16, 1: torch.int8}
STATES = [
    {},
    {"shared": "2"},
    {"shared": "all", "layers": 3},
    {"heads": 8, "shared": "4", "d_model": 256, "bytes": 2},
    {"heads": 32, "shared": "all", "bytes": 1, "words": 12},
    {"heads": 32, "shared": "4", "d_model": 256, "layers": 32, "bytes": 2, "words": 1},
]
BEGIN = {"layers": 2, "d_model": 64, "heads": 4, "shared": "1", "bytes": 4, "words": 7}


def attention_of(state) -> MultiHeadAttention:
    heads = state["heads"]
    kv_heads = 1 if state["shared"] == "all" else heads // int(state["shared"])
    return MultiHeadAttention(
        d_model=state["d_model"], num_heads=heads, num_kv_heads=kv_heads, fused=False
    )


def layer_of(state) -> DecoderLayer:
    """A decoder layer as in the chapter, whose heads share keys and values as the state says."""
    width = state["d_model"]
    config = LayerConfig(d_model=width, num_heads=state["heads"], d_ff=2 * width, dropout=0.0)
    layer = DecoderLayer(config, NoPositions()).eval()
    layer.self_attention = attention_of(state).eval()
    return layer


@pytest.mark.parametrize("state", STATES, ids=str)
def test_bytes_of_the_cache(state, compute) -> None:
    found, state = compute("kv-cache", **state), BEGIN | state
    attention = attention_of(state)
    for t in (1, 7, 12):
        cache = attention.project(torch.zeros(1, t, state["d_model"]))
        numbers = [each.to(DTYPES[state["bytes"]]) for each in (cache.keys, cache.values)]
        assert cache.num_heads == found["kv_heads"]
        taken = state["layers"] * sum(each.nbytes for each in numbers)
        assert found["bytes"][t - 1] == taken == t * found["bytesEach"]
        assert taken == state["layers"] * attention.cache_bytes(t) * state["bytes"] // 4
    assert found["context"] == 2**17 * found["bytesEach"]
    alone = compute("kv-cache", **(state | {"shared": "1"}))
    assert found["unshared"] == alone["bytes"]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_operations_of_a_step(state, compute) -> None:
    found, state = compute("kv-cache", **state), BEGIN | state
    layer, width = layer_of(state), state["d_model"]
    x, project = torch.zeros(1, 12, width), layer.self_attention.project
    source = layer.read(torch.zeros(1, 10, width))

    def anew(t: int) -> int:
        return operations(lambda: layer(x[:, :t], source, is_causal=True))

    def kept(t: int, past) -> int:
        return operations(lambda: layer.step(x[:, t - 1 : t], source, past=past()))

    for t in (1, 2, 7, 12):
        already = project(x[:, : t - 1])
        counted = {
            "kept": kept(t, lambda past=already: past),
            "inputs": kept(t, lambda end=t - 1: project(x[:, :end])),
            "anew": anew(t),
        }
        expected = {kind: state["layers"] * each for kind, each in counted.items()}
        assert found["steps"][t - 1] == expected
        assert expected["anew"] == t * expected["kept"]


def test_operations_follow_the_chapter_s_formula(compute) -> None:
    d, f, n = 64, 128, 10
    for t, step in enumerate(compute("kv-cache")["steps"], start=1):
        kept = 12 * d * d + 4 * d * f + 4 * d * (t + n)
        inputs = kept + 4 * d * d * (t - 1)
        assert step == {"kept": 2 * kept, "inputs": 2 * inputs, "anew": 2 * t * kept}


def test_totals_are_sums_up_to_this_word(compute) -> None:
    found = compute("kv-cache", words=5)
    for kind, total in found["totals"].items():
        assert total == sum(step[kind] for step in found["steps"][:5])


def test_llama_takes_what_the_chapter_says(compute) -> None:
    llama = {"layers": 32, "d_model": 4096, "heads": 32, "bytes": 2}
    assert compute("kv-cache", shared="4", **llama)["context"] == 16 * 2**30
    assert compute("kv-cache", shared="1", **llama)["context"] == 64 * 2**30
