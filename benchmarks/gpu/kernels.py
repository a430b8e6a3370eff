"""Part (a): attention, forward and backward: eager, the package's, torch's backends, FlexAttention.

16 heads of 64 features, bfloat16, about 16,384 tokens in a batch whatever the length. Operations
are counted as is usual: 4 b h n² d forward (half of it where causal), 2.5 times that backward.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import torch
from measuring import Results, ceilings, compiled, relative_error, run, timed
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_book.attention import (
    Places,
    RotaryPositions,
    Visibility,
    block_sparse_attention,
    dot_product_attention,
    fixed_state_attention,
    linear_attention,
    masked_softmax,
    plan_blocks,
    tiled_attention,
    unit_length,
    window_mask,
)
from attention_book.models import RMSNorm

HEADS, SIZE, TOKENS = 16, 64, 16384
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}


def main(results: Results) -> None:
    """Measure from the most asked for to the least."""
    tiny = results.tiny
    top = ceilings(results)
    lengths = (32, 48) if tiny else (1024, 2048, 4096, 8192, 16384, 32768)
    for causal in (True, False):
        word = "causal" if causal else "all"
        for n in lengths:
            case = Case(results, n, top)
            for name, call in case.dense(causal).items():
                results.measure(
                    f"{word} {n} {name}",
                    lambda case=case, call=call, c=causal: case.measured(call, causal=c),
                    needs=6,
                )
    for n in lengths[1::2]:
        case = Case(results, n, top)
        for name, (call, share) in case.package().items():
            results.measure(
                f"package {n} {name}",
                lambda case=case, call=call, share=share: case.measured(call(), share=share),
                needs=8,
            )
    for n in lengths:
        for name, call in one_query(results, n).items():
            results.measure(f"one query {n} {name}", lambda c=call, n=n: read(results, c, n, top))
    results.measure("parts of a block", lambda: parts_of_a_block(results, top), needs=4)
    for n in lengths[1::2]:
        case = Case(results, n, top)
        for name, (call, share) in case.flex().items():
            results.measure(
                f"flex {n} {name}",
                lambda case=case, call=call, share=share: case.measured(
                    call(), share=share, flex=True
                ),
                needs=20,
            )


class Case:
    """Queries, keys and values of one length, and what is asked of them."""

    def __init__(self, results: Results, n: int, top: dict[str, float]) -> None:
        self.results, self.n, self.top = results, n, top
        self.batch = 1 if results.tiny else max(1, TOKENS // n)
        self.heads = 2 if results.tiny else HEADS
        self.dtype = torch.float32 if results.tiny else torch.bfloat16

    def drawn(self) -> list[Tensor]:
        """Draw fresh queries, keys and values."""
        shape = (self.batch, self.heads, self.n, SIZE)
        return [
            torch.randn(shape, device=self.results.device, dtype=self.dtype).requires_grad_()
            for _ in range(3)
        ]

    def dense(self, causal: bool) -> dict[str, Callable[..., Tensor]]:
        """Return what computes all pairs."""

        def sdpa(backend: SDPBackend) -> Callable[..., Tensor]:
            def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            return call

        def eager(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            scores = (q / math.sqrt(SIZE)) @ k.mT
            if causal:
                seen = torch.ones(self.n, self.n, dtype=torch.bool, device=q.device).tril()
                scores = scores.masked_fill(~seen, -math.inf)
            return scores.softmax(-1) @ v

        def own_weights(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            scores = (q / math.sqrt(SIZE)) @ k.mT
            seen = torch.ones(self.n, self.n, dtype=torch.bool, device=q.device)
            return masked_softmax(scores, seen.tril() if causal else seen) @ v

        found: dict[str, Callable[..., Tensor]] = {
            "package": lambda q, k, v: dot_product_attention(q, k, v, is_causal=causal),
            **{f"sdpa {name}": sdpa(each) for name, each in BACKENDS.items() if name != "math"},
        }
        if causal and self.n <= 16384:  # the mask alone takes n² bytes
            mask = torch.ones(self.n, self.n, dtype=torch.bool, device=self.results.device).tril()
            found["package, mask given"] = lambda q, k, v: dot_product_attention(q, k, v, mask)
        if self.n <= 8192:
            found["eager"] = eager
            found["sdpa math"] = sdpa(SDPBackend.MATH)
            found["package, weights kept"] = own_weights
        return found

    def package(self) -> dict[str, tuple[Callable[[], Any], float | None]]:
        """Return the package's own ways: what makes the function, and its share of all pairs."""
        n, device = self.n, self.results.device
        window = 8 if self.results.tiny else 1024
        found: dict[str, tuple[Callable[[], Any], float | None]] = {
            "linear, causal": (
                lambda: lambda q, k, v: linear_attention(q, k, v, is_causal=True, chunk=128),
                None,
            ),
            "gated delta rule": (self._delta, None),
        }
        if n <= 16384:

            def sparse() -> Any:
                near = window_mask(n, radius=window - 1, causal=True, device=device)
                plan = plan_blocks(near, block_size=128)
                return lambda q, k, v: block_sparse_attention(q, k, v, plan)

            found["block sparse, window"] = (sparse, min(1.0, window / n))
        if n <= 8192:
            tile = 16 if self.results.tiny else 1024
            found["tiled, causal"] = (
                lambda: (
                    lambda q, k, v: tiled_attention(
                        q, k, v, query_tile=tile, key_tile=tile, is_causal=True
                    )
                ),
                0.5,
            )
        return found

    def _delta(self) -> Any:
        shape = (self.batch, self.heads, self.n)
        strength = torch.rand(shape, device=self.results.device, dtype=self.dtype)
        decay = -torch.rand(shape, device=self.results.device, dtype=self.dtype) / 10
        return lambda q, k, v: fixed_state_attention(
            q, unit_length(k), v, strength=strength, log_decay=decay, chunk=64
        )[0]

    def flex(self) -> dict[str, tuple[Callable[[], Any], float | None]]:
        """Return FlexAttention, compiled for this length: causal, a window, documents."""
        n, device, tiny = self.n, self.results.device, self.results.tiny
        window, document = (8, 16) if tiny else (1024, 2048)
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        def within(b: Any, h: Any, q: Any, k: Any) -> Any:
            return (q >= k) & (q // document == k // document)

        def made(rule: Any) -> Callable[[], Any]:
            def make() -> Any:
                if isinstance(rule, Visibility):  # the package's own rule, block by block
                    mask = rule.blocks(Places(n, n), device=str(device))
                else:
                    mask = create_block_mask(rule, None, None, n, n, device=str(device))
                call = (
                    flex_attention if tiny else compiled(flex_attention, tiny=tiny, dynamic=False)
                )
                return lambda q, k, v: call(q, k, v, block_mask=mask)

            return make

        found: dict[str, tuple[Callable[[], Any], float | None]] = {
            "causal": (made(Visibility(causal=True)), 0.5)
        }
        if n >= window:
            found["window"] = (made(Visibility(causal=True, window=window)), min(1.0, window / n))
        if n >= document:
            found["documents"] = (made(within), 0.5 * min(1.0, document / n))
        return found

    def measured(
        self,
        call: Callable[..., Tensor],
        *,
        causal: bool = False,
        share: float | None = -1.0,
        flex: bool = False,
    ) -> dict[str, Any]:
        """Return times, rates and memory of a way, forward and backward."""
        device = self.results.device
        q, k, v = self.drawn()
        if flex and device.type == "cpu":  # there FlexAttention has no backward
            q, k, v = (each.detach() for each in (q, k, v))
        share = (0.5 if causal else 1.0) if share == -1.0 else share
        pairs = self.batch * self.heads * self.n * self.n
        operations = None if share is None else 4 * pairs * SIZE * share
        least_bytes = 4 * q.nbytes  # three read, one written
        found: dict[str, Any] = {"batch": self.batch, "heads": self.heads, "share": share}
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() if device.type == "cuda" else 0
        with torch.no_grad():
            forward = timed(lambda: call(q, k, v), device, most_s=1.5)
        found["forward"] = self._rates(forward, operations, least_bytes)
        if not q.requires_grad:
            return found
        output = call(q, k, v)
        push = torch.randn_like(output)
        after = None if operations is None else 2.5 * operations
        try:
            backward = timed(
                lambda: torch.autograd.grad(output, (q, k, v), push, retain_graph=True),
                device,
                most_s=1.5,
            )
            found["backward"] = self._rates(backward, after, 2 * least_bytes)
        except torch.OutOfMemoryError:  # the forward pass is worth keeping
            found["backward"] = {"error": "out of memory"}
        if device.type == "cuda":
            found["peak_mib"] = round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)
        if self.n <= 2048:
            with torch.no_grad(), contextlib.suppress(Exception):
                if share in (0.5, 1.0):
                    exact = F.scaled_dot_product_attention(
                        *(each.double() for each in (q, k, v)), is_causal=share == 0.5
                    )
                    found["difference_to_fp64"] = relative_error(output, exact)
        return found

    def _rates(
        self, clock: dict[str, Any], operations: float | None, num_bytes: int
    ) -> dict[str, Any]:
        seconds = clock["median_s"]
        found = dict(clock)
        found["bytes_per_s_at_least"] = num_bytes / seconds
        found["tokens_per_s"] = self.batch * self.n / seconds
        if "copy" in self.top:
            found["share_of_copy"] = num_bytes / seconds / self.top["copy"]
        if operations is not None:
            found["tflops"] = operations / seconds / 1e12
            if "bf16" in self.top:
                found["share_of_matmul"] = operations / seconds / self.top["bf16"]
        return found


def one_query(results: Results, n: int) -> dict[str, Callable[[], Tensor]]:
    """Return one query over n keys at batch 1: a decoding step, whole and in parts (split-KV).

    A kernel gives each head to one processor of the card; in parts of 256 keys all have work, and
    the parts are merged by the logarithms of their sums.
    """
    device, tiny = results.device, results.tiny
    heads, part = (2, 8) if tiny else (HEADS, 256)
    dtype = torch.float32 if tiny else torch.bfloat16
    q = torch.randn(1, heads, 1, SIZE, device=device, dtype=dtype)
    k, v = (torch.randn(1, heads, n, SIZE, device=device, dtype=dtype) for _ in "kv")

    def split() -> Tensor:
        keys, values = (each.unflatten(2, (-1, part)) for each in (k, v))
        scores = (q / math.sqrt(SIZE))[:, :, None] @ keys.mT
        best = scores.float().amax(dim=-1, keepdim=True)
        raised = (scores.float() - best).exp()
        sums, averages = raised.sum(dim=-1, keepdim=True), raised.to(dtype) @ values
        weight = (best - best.amax(dim=2, keepdim=True)).exp()
        return (weight * averages.float()).sum(dim=2) / (weight * sums).sum(dim=2)

    return {
        "package": lambda: dot_product_attention(q, k, v),
        "split": split,
        "split, compiled": compiled(split, tiny=tiny),
    }


def read(
    results: Results, call: Callable[[], Tensor], n: int, top: dict[str, float]
) -> dict[str, Any]:
    """Return the time of one query, and what share of a copy's bytes a second that is."""
    heads, width = (2, 4) if results.tiny else (HEADS, 2)
    with torch.no_grad():
        clock = timed(call, results.device, most_s=0.3)
    rate = 2 * heads * n * SIZE * width / clock["median_s"]
    return clock | {
        "bytes_per_s": rate,
        "share_of_copy": rate / top["copy"] if "copy" in top else None,
    }


def parts_of_a_block(results: Results, top: dict[str, float]) -> dict[str, Any]:
    """Return what the memory-bound parts reach: norm and rotation, the package's and torch's."""
    device, tiny = results.device, results.tiny
    tokens, width = (64, 32) if tiny else (16384, 2048)
    dtype = torch.float32 if tiny else torch.bfloat16
    x = torch.randn(1, tokens, width, device=device, dtype=dtype)
    heads = torch.randn(1, width // 16, tokens, 16, device=device, dtype=dtype)
    own = RMSNorm(d_model=width).to(device=device, dtype=dtype)
    theirs = torch.nn.RMSNorm(width, eps=1e-6).to(device=device, dtype=dtype)
    turn = RotaryPositions(d_k=16, pairing="halves").rotate
    found: dict[str, Any] = {}
    with torch.no_grad():
        for name, call, size in (
            ("RMSNorm, package", lambda: own(x), 2 * x.nbytes),
            ("RMSNorm, torch", lambda: theirs(x), 2 * x.nbytes),
            ("RMSNorm, package, compiled", compiled_call(own, x, tiny), 2 * x.nbytes),
            ("rotary, package", lambda: turn(heads), 2 * heads.nbytes),
        ):
            clock = timed(call, device, most_s=0.5)
            rate = size / clock["median_s"]
            found[name] = clock | {"bytes_per_s": rate}
            if "copy" in top:
                found[name]["share_of_copy"] = rate / top["copy"]
    return found


def compiled_call(module: Any, x: Tensor, tiny: bool) -> Callable[[], Any]:
    """Return a call of a compiled module."""
    call = compiled(module, tiny=tiny)
    return lambda: call(x)


if __name__ == "__main__":
    run("kernels", main)
