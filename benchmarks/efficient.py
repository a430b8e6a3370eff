"""Efficient attention: memory and time by length, cache and decoding by key-value heads.

    python benchmarks/efficient.py           # all
    python benchmarks/efficient.py --quick   # shorter lengths, fewer turns

One thread; CPU time counts, and the programs take turns (benchmarks/paired.py). The results
are kept in benchmarks/efficient.md, with machine and date.

1. memory: the peak of a call, and of a training step, by length: the square of scores written
   out, tiles, torch's fused kernel, linear attention. Torch's profiler also sees what a kernel
   takes for itself while it computes; the package's peak_bytes does not.
2. time: the same four by length.
3. decoding: one token at a cache of some length, by the number of key-value heads.
"""

import argparse
import platform
from collections.abc import Callable
from datetime import date
from functools import partial

import torch
from paired import compare, table
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from attention_book import set_seed
from attention_book.attention import (
    MultiHeadAttention,
    dot_product_attention,
    linear_attention,
    tiled_attention,
)
from attention_book.inspection import peak_bytes

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
TILE = 256
FEATURES = 16
HEADS, D_MODEL, BATCH = 8, 256, 4


def square(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Write out all scores and all weights."""
    return ((queries / queries.shape[-1] ** 0.5) @ keys.mT).softmax(-1) @ values


def tiles(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Hold the scores of one tile at a time."""
    return tiled_attention(queries, keys, values, query_tile=TILE, key_tile=TILE)


WAYS: dict[str, Attend] = {
    "square": square,
    "tiles": tiles,
    "fused": dot_product_attention,
    "linear": linear_attention,
}


def draw(length: int) -> tuple[Tensor, ...]:
    """Return queries, keys and values of one head."""
    return torch.randn(3, 1, 1, length, FEATURES).unbind()


def training(attend: Attend) -> Callable[..., object]:
    """Return a function that runs forward and backward."""

    def run(*inputs: Tensor) -> object:
        inputs = tuple(each.detach().requires_grad_() for each in inputs)
        return torch.autograd.grad(attend(*inputs).sum(), inputs)

    return run


def profiled_bytes(function: Callable[..., object], *inputs: Tensor) -> int:
    """Return the peak that torch's profiler sees."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        result = function(*inputs)
    del result
    held = peak = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def memory(lengths: list[int]) -> None:
    """Print peaks by length."""
    print(f"peak MiB by length, one head, {FEATURES} features (in brackets: the profiler's)")
    for kind, wrap in {"forward": lambda attend: attend, "training": training}.items():
        print(f" {kind:12}" + "".join(f"{length:>18}" for length in lengths))
        for name, attend in WAYS.items():
            cells = []
            for length in lengths:
                inputs = draw(length)
                program = wrap(attend)
                seen = peak_bytes(program, *inputs) / 2**20
                profiled = profiled_bytes(program, *inputs) / 2**20
                cells.append(f"{seen:9.2f} ({profiled:.2f})")
            print(f"  {name:11}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def times(lengths: list[int], rounds: int) -> None:
    """Print times by length."""
    for kind, wrap in {"forward": lambda attend: attend, "training": training}.items():
        for length in lengths:
            inputs = draw(length)
            programs = {name: partial(wrap(each), *inputs) for name, each in WAYS.items()}
            print(f"{kind}, length {length}, {rounds} rounds")
            timings = compare(programs, baseline="square", rounds=rounds)
            print(table(timings, baseline="square"), flush=True)


@torch.no_grad()
def decoding(lengths: list[int], rounds: int) -> None:
    """Print cache and time of one step by key-value heads."""
    token = torch.randn(BATCH, 1, D_MODEL)
    for length in lengths:
        programs = {}
        for heads in (8, 4, 2, 1):
            layer = MultiHeadAttention(d_model=D_MODEL, num_heads=HEADS, num_kv_heads=heads)
            cache = layer.project(torch.randn(BATCH, length, D_MODEL)).contiguous()
            size = cache.keys.nbytes + cache.values.nbytes
            assert size == BATCH * layer.cache_bytes(length)
            name = f"{heads} ({size / 2**20:.0f} MiB)"
            programs[name] = partial(layer, token, cache)
        first = next(iter(programs))
        print(f"one step, {length} keys, batch {BATCH}, d_model {D_MODEL}, {HEADS} query heads")
        timings = compare(programs, baseline=first, rounds=rounds)
        print(table(timings, baseline=first), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter lengths, fewer turns")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    set_seed(42)
    print(f"{date.today()}, torch {torch.__version__}, {platform.machine()}, one thread")
    memory([1024, 4096] if quick else [1024, 4096, 16384])
    times([256, 512, 1024, 2048] if quick else [256, 512, 1024, 2048, 4096], 5 if quick else 15)
    decoding([2048] if quick else [2048, 8192], 10 if quick else 30)


if __name__ == "__main__":
    main()
