"""Drawn configurations of attention against the formula written out, in double precision.

Heads and groups, norms of queries and keys, every scheme of positions, windows with first tokens,
learned sinks, padding on either side, texts of 1 to 70 tokens, read at once or in pieces with a
cache, in four types. The
oracle is slow and simple: one head and one query at a time, from the module's parameters alone.
What is not hidden from a query is worked out from the places of the tokens, without a mask.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from torch.nn import functional as F

from attention_book.attention import (
    AlibiPositions,
    MultiHeadAttention,
    RelativePositions,
    RotaryPositions,
    T5Buckets,
)
from attention_book.models.parts import RMSNorm

#: How far rounding may carry an output of size 1, by type.
OFF = {torch.float64: 1e-10, torch.float32: 2e-5, torch.bfloat16: 0.06, torch.float16: 0.01}
SCHEMES = ("none", "rotary", "rotary halves", "alibi", "relative", "buckets")


@dataclass(frozen=True)
class Case:
    """What is drawn: a module, and texts that it reads."""

    kind: str
    groups: int
    heads_a_group: int
    d_k: int
    scheme: str
    window: int | None
    num_first: int
    bias: bool
    norm: str
    scale: float | None
    padding: tuple[int, ...]
    side: str
    cuts: tuple[int, ...]
    length: int
    dtype: torch.dtype
    seed: int

    @property
    def num_heads(self) -> int:
        return self.groups * self.heads_a_group

    @property
    def d_model(self) -> int:
        return self.num_heads * self.d_k

    def module(self) -> MultiHeadAttention:
        torch.manual_seed(self.seed)
        d_k, heads = self.d_k, self.num_heads
        positions = {
            "none": lambda: None,
            "rotary": lambda: RotaryPositions(d_k=d_k),
            "rotary halves": lambda: RotaryPositions(d_k=d_k, pairing="halves"),
            "alibi": lambda: AlibiPositions(num_heads=heads),
            "relative": lambda: RelativePositions(d_k=d_k, max_distance=3),
            "buckets": lambda: T5Buckets(
                num_heads=heads, num_buckets=8, max_distance=20, bidirectional=False
            ),
        }[self.scheme]()
        common = {
            "d_model": self.d_model,
            "num_heads": heads,
            "num_kv_heads": self.groups,
            "bias": self.bias,
            "positions": positions,
        }
        near = {"window": self.window, "num_first": self.num_first, "scale": self.scale}
        norms = {
            "none": lambda: None,
            "layer": lambda: torch.nn.LayerNorm(d_k, eps=1e-3),
            "rms": lambda: RMSNorm(d_model=d_k, eps=1e-3),
        }
        normed = {"query_norm": norms[self.norm](), "key_norm": norms[self.norm]()}
        module = MultiHeadAttention(**common, **near, **normed, sinks=self.kind == "sink")
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        return module.to(self.dtype).eval()

    def real(self) -> torch.Tensor:
        """(batch, key): which tokens are no padding."""
        place = torch.arange(self.length)
        gaps = torch.tensor(self.padding)[:, None]
        return place >= gaps if self.side == "left" else place < self.length - gaps


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(["full", "window", "sink"]))
    length = draw(st.integers(1, 70))
    near = kind != "full"
    return Case(
        kind=kind,
        groups=draw(st.integers(1, 3)),
        heads_a_group=draw(st.integers(1, 3)),
        d_k=2 * draw(st.integers(1, 4)),
        scheme=draw(st.sampled_from(SCHEMES)),
        window=draw(st.none() | st.integers(1, 20)) if near else None,
        num_first=draw(st.integers(0, 3)) if near else 0,
        bias=draw(st.booleans()),
        norm=draw(st.sampled_from(["none", "layer", "rms"])),
        scale=draw(st.sampled_from([None, None, 0.2, 1.0])),
        padding=tuple(draw(st.lists(st.integers(0, length), min_size=1, max_size=3))),
        side=draw(st.sampled_from(["left", "right"])),
        cuts=tuple(sorted(draw(st.sets(st.integers(1, max(1, length - 1)), max_size=4)))),
        length=length,
        dtype=draw(st.sampled_from([*OFF])),
        seed=draw(st.integers(0, 99)),
    )


# --- the formula, written out ------------------------------------------------------------------


def projections(module: MultiHeadAttention, x: torch.Tensor) -> list[torch.Tensor]:
    """Queries, keys and values, each (batch, head, place, d_k)."""
    found = []
    norms = module.query_norm, module.key_norm, None
    for linear, norm in zip((module.W_q, module.W_k, module.W_v), norms, strict=True):
        bias = 0 if linear.bias is None else linear.bias.double()
        y = x @ linear.weight.double().T + bias
        heads = y.unflatten(-1, (-1, module.d_k)).transpose(1, 2)
        if norm is not None:
            own = {name: each.double() for name, each in norm.named_parameters()}
            by = F.layer_norm if isinstance(norm, torch.nn.LayerNorm) else F.rms_norm
            heads = by(heads, (module.d_k,), **own, eps=norm.eps)
        found.append(heads)
    return found


def turned(x: torch.Tensor, pairing: str) -> torch.Tensor:
    """Rotary positions as a product with a complex number of length 1."""
    d_k = x.shape[-1]
    halves = pairing == "rotary halves"
    pairs = torch.stack(x.chunk(2, -1), -1) if halves else x.unflatten(-1, (-1, 2))
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (
        -2 * torch.arange(d_k // 2, dtype=torch.float64) / d_k
    )
    y = torch.view_as_real(
        torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
    )
    return torch.cat((y[..., 0], y[..., 1]), -1) if halves else y.flatten(-2)


def slope(head: int, num_heads: int) -> float:
    """ALiBi's, of Press et al.: powers of two, those between taken from twice as many."""
    exact = 2 ** math.floor(math.log2(num_heads))
    if head < exact:
        return 2 ** (-8 * (head + 1) / exact)
    return 2 ** (-8 * (2 * (head - exact) + 1) / (2 * exact))


def bucket(distance: int, num_buckets: int = 8, max_distance: int = 20) -> int:
    """T5's of a decoder: one for each near distance back, then ever wider ones."""
    exact = num_buckets // 2
    if distance < exact:
        return distance
    far = math.log(distance / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    return min(exact + int(far), num_buckets - 1)


def expected(case: Case, module: MultiHeadAttention, x: torch.Tensor) -> torch.Tensor:
    """The output for each text that is read at once, and causally."""
    q, k, v = projections(module, x.double())
    if case.scheme.startswith("rotary"):
        q, k = turned(q, case.scheme), turned(k, case.scheme)
    heads = torch.zeros(*q.shape[:-1], case.d_k, dtype=torch.float64)
    real = case.real()
    for b in range(len(x)):
        for i in range(case.length):
            seen = [j for j in range(i + 1) if real[b, j] and is_near(case, i, j)]
            for h in range(case.num_heads if seen else 0):
                heads[b, h, i] = looked_up(case, module, q[b, h, i], k[b], v[b], h, i, seen)
    bias = 0 if module.W_o.bias is None else module.W_o.bias.double()
    return heads.transpose(1, 2).flatten(-2) @ module.W_o.weight.double().T + bias


def is_near(case: Case, i: int, j: int) -> bool:
    return case.window is None or i - j < case.window or j < case.num_first


def looked_up(case, module, q, k, v, h, i, seen):
    """One head's average for the query at place i."""
    g = h // case.heads_a_group
    scores, shifts = [], []
    factor = 1 / math.sqrt(case.d_k) if case.scale is None else case.scale
    for j in seen:
        score = (q @ k[g, j]).item() * factor
        shift = torch.zeros(case.d_k, dtype=torch.float64)
        if case.scheme == "alibi":
            score -= slope(h, case.num_heads) * (i - j)
        elif case.scheme == "buckets":
            score += module.positions.table[h, bucket(i - j)].item()
        elif case.scheme == "relative":
            row = max(j - i, -3) + 3
            score += (q @ module.positions.keys[row].double()).item() * factor
            shift = module.positions.values[row].double()
        scores.append(score)
        shifts.append(shift)
    weights = torch.tensor(scores, dtype=torch.float64)
    if case.kind == "sink":
        weights = torch.cat((weights, module.sinks[h].double()[None]))
    weights = weights.softmax(0)[: len(seen)]
    return weights @ (v[g, seen] + torch.stack(shifts))


def read(case: Case, module: MultiHeadAttention, x: torch.Tensor) -> torch.Tensor:
    """The outputs of the text's pieces, each read with what is kept of those before."""
    visible = case.real()[:, None, :]
    cuts = [0, *(cut for cut in case.cuts if cut < case.length), case.length]
    event(f"{len(cuts) - 1} pieces")
    if len(cuts) == 2:
        return module(x, x, mask=visible, is_causal=True)
    outputs, cache = [], module.new_cache()
    for start, end in pairwise(cuts):
        outputs.append(module(x[:, start:end], mask=visible[..., :end], cache=cache))
    return torch.cat(outputs, dim=1)


@pytest.mark.differential
@given(cases())
def test_attention_is_its_formula(case: Case) -> None:
    module = case.module()
    x = torch.randn(len(case.padding), case.length, case.d_model).to(case.dtype)
    with torch.no_grad():
        found, wanted = read(case, module, x), expected(case, module, x)
    size = max(1.0, wanted.abs().max().item())
    assert found.dtype == case.dtype
    torch.testing.assert_close(found.double(), wanted, atol=OFF[case.dtype] * size, rtol=0)
