"""Layers and models with one fault each, and the fault's name; without one they are sound."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from attention_book.conformance import Sequence
from attention_book.conformance.reference import rotated

INF = math.inf


class Attention(nn.Module):
    def __init__(self, width=16, heads=4, fault="", causal=True, window=None, rotary=None):
        super().__init__()
        self.heads, self.fault, self.causal, self.window, self.rotary = (
            heads,
            fault,
            causal,
            window,
            rotary,
        )
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def split(self, t):
        b, n, d = t.shape
        if self.fault == "heads-split-wrong":
            return t.reshape(b, self.heads, n, d // self.heads)
        return t.reshape(b, n, self.heads, d // self.heads).transpose(1, 2)

    def merge(self, t):
        b, h, n, d = t.shape
        if self.fault == "heads-merged-wrong":
            return t.reshape(b, n, h * d)
        return t.transpose(1, 2).reshape(b, n, h * d)

    def turn(self, q, k, v):
        if self.rotary is None:
            return q, k, v
        pairs = self.rotary
        if self.fault == "rotary-halves-for-pairs":
            pairs = "neighbours" if pairs == "halves" else "halves"
        q, k = (
            rotated(q, pairs=pairs),
            (k if self.fault == "rotary-on-queries-only" else rotated(k, pairs=pairs)),
        )
        return q, k, rotated(v, pairs=pairs) if self.fault == "rotary-on-values" else v

    def forward(self, x, real=None, past=None):
        q, k, v = (self.split(f(x)) for f in (self.q, self.k, self.v))
        q, k, v = self.turn(q, k, v)
        if past is not None:
            k, v, real = past.extend(self, k, v, real)
        n, m = q.shape[-2], k.shape[-2]
        scale = {"no-scale": 1, "scale-of-d-model": x.shape[-1] ** -0.5}.get(
            self.fault, q.shape[-1] ** -0.5
        )
        scores = q @ k.mT * scale
        visible = torch.ones(1, 1, n, m, dtype=torch.bool)
        distance = (
            torch.arange(n)[:, None]
            + (0 if self.fault == "causal-from-the-start" and n > 1 else m - n)
            - torch.arange(m)
        )
        if self.fault == "always-causal" or (self.causal and self.fault != "no-causal-mask"):
            visible = visible & (distance >= (-1 if self.fault == "sees-one-ahead" else 0))
        if self.window is not None:
            visible = visible & (distance < self.window)
        if real is not None and self.fault != "mask-ignored":
            if self.fault == "mask-inverted":
                real = ~real
            if self.fault == "mask-of-first-example":
                real = real[:1].expand_as(real)
            if self.fault == "mask-lost-at-batch-1" and len(real) == 1:
                real = torch.ones_like(real)
            if self.fault == "mask-on-queries" and n == m:
                visible = visible & real[:, None, :, None]
            else:
                visible = visible & real[:, None, None]
        axis = -2 if self.fault == "softmax-over-queries" else -1
        nothing = ~visible.any(axis, keepdim=True)
        w = (
            scores.masked_fill(~visible, -INF)
            .masked_fill(nothing, 0)
            .softmax(axis)
            .masked_fill(nothing, 0)
        )
        if self.fault == "dropout-in-eval":
            w = F.dropout(w, 0.1)
        if self.fault == "gradient-cut":
            w = w.detach()
        return self.o(self.merge(w @ v))


class Past:
    """Keys and values of one layer; a step makes a new one."""

    def __init__(self, k=None, v=None, real=None):
        self.k, self.v, self.real = k, v, real

    def extend(self, attention, k, v, real):
        if self.k is not None and attention.fault != "cache-lost":
            k, v = torch.cat((self.k, k), 2), torch.cat((self.v, v), 2)
        self.new = Past(k, v)
        if attention.fault == "cache-window" and k.shape[2] > 1:
            keep = attention.window - 1
            k, v = k[:, :, -keep:], v[:, :, -keep:]
            self.new = Past(k, v)
        if attention.fault == "cache-shared":
            self.k, self.v = k, v
            self.new = self
        return k, v, real


class Block(nn.Module):
    def __init__(self, width, fault, **options):
        super().__init__()
        self.attention = Attention(width, fault=fault, **options)
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down, self.fault = (
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
            fault,
        )

    def norm(self, norm, x):
        if self.fault == "norm-over-time":
            return F.layer_norm(x, x.shape[-2:]) * norm.weight + norm.bias
        if self.fault == "examples-mixed":
            return (x - x.mean(0)) / (x.var(0, unbiased=False) + 0.1).sqrt()
        return norm(x)

    def forward(self, x, real=None, past=None):
        x = x + self.attention(self.norm(self.one, x), real, past)
        return x + self.down(self.up(self.norm(self.two, x)).relu())


def sinusoids(places, width):
    angles = places[..., None] * 10_000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.cat((angles.sin(), angles.cos()), -1)


class Tiny(nn.Module):
    """Ids to logits."""

    def __init__(self, fault="", vocabulary=11, width=16, layers=2, causal=True, window=None):
        super().__init__()
        torch.manual_seed(1)
        self.fault, self.width, self.vocabulary = fault, width, vocabulary
        self.embedding, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.blocks = nn.ModuleList(
            Block(width, fault, causal=causal, window=window) for _ in range(layers)
        )
        self.table = None

    def embed(self, ids, places):
        x = self.embedding(ids) * 2
        if self.fault == "positions-without-effect":
            return x
        if self.fault == "keeps-tensors-of-a-trace":
            need = places.shape[-1] + 30
            if self.table is None or len(self.table) < need:
                self.table = sinusoids(torch.arange(need, device=ids.device), self.width)
            return x + self.table[places].to(x.dtype)
        return x + sinusoids(places, self.width).to(x.dtype)

    def forward(self, ids, real=None):
        if self.fault == "writes-into-inputs":
            ids.clamp_(max=3)
        if self.fault == "writes-into-mask" and real is not None:
            real.fill_(True)
        if self.fault == "memory-order-assumed":
            ids = torch.as_strided(ids, ids.shape, (ids.shape[1], 1))
        places = torch.arange(ids.shape[1]).expand(ids.shape)
        if real is not None and self.fault != "positions-from-padding":
            places = (real.long().cumsum(1) - 1).clamp(min=0)
        x = self.embed(ids, places)
        for block in self.blocks:
            x = block(x, real)
        out = self.head(x)
        if self.fault == "breaks-the-graph" and out.max().item() > 1e9:
            return out * 0
        return out.float() if self.fault == "other-dtype" else out

    # --- cached reading: the state is how many places were read, the layers' pasts, which are real

    def start(self, batch):
        return torch.zeros(batch, dtype=torch.long), [Past() for _ in self.blocks], None

    def step(self, ids, state):
        count, pasts, real = state
        places = count[:, None] + torch.arange(ids.shape[1])
        if self.fault == "positions-of-steps":
            places = torch.arange(ids.shape[1]).expand(ids.shape)
        x = self.embed(ids, places)
        new = torch.ones(ids.shape, dtype=torch.bool)
        real = new if real is None else torch.cat((real, new), 1)
        after = []
        for block, past in zip(self.blocks, pasts, strict=True):
            seen = real
            if self.fault in ("cache-lost", "cache-window", "cache-shared"):
                seen = None
            x = block(x, seen, past)
            after.append(past.new)
        return self.head(x), (count + ids.shape[1], after, real)

    def prefill(self, ids, real):
        count, pasts, _ = self.start(len(ids))
        x = self.embed(ids, (real.long().cumsum(1) - 1).clamp(min=0))
        after = []
        for block, past in zip(self.blocks, pasts, strict=True):
            x = block(x, real, past)
            after.append(past.new)
        if self.fault == "steps-count-padding":
            return count + ids.shape[1], after, real
        return real.sum(1), after, real

    def select(self, state, rows):
        count, pasts, real = state

        def keep(t):
            return t if t is None or self.fault == "beams-mixed" else t[rows]

        pasts = [Past(keep(p.k), keep(p.v)) for p in pasts]
        return count[rows], pasts, None if real is None else real[rows]


# --- as subjects -----------------------------------------------------------------------------


def model(fault, cause=None, **options):
    tiny = Tiny(fault, **{k: options.pop(k) for k in ("causal", "window") if k in options})
    causal = tiny.blocks[0].attention.causal
    cached = (
        dict(start=tiny.start, step=tiny.step, prefill=tiny.prefill, select=tiny.select)
        if causal
        else {}
    )
    subject = Sequence(
        tiny,
        vocabulary=11,
        causal=causal,
        positions=True,
        module=tiny,
        window=tiny.blocks[0].attention.window,
        **{
            "padding": ("right", "left"),
            "compiles": True,
            "name": f"model, {fault or 'sound'}",
            **cached,
            **options,
        },
    )
    return subject, cause or fault


def layer(fault, cause=None, **options):
    torch.manual_seed(2)
    attention = Attention(fault=fault, **options)
    twin = Attention(**options)  # same weights, cut and merged as it should be
    twin.load_state_dict(attention.state_dict())

    def parts(x):
        return tuple(twin.split(f(x)) for f in (attention.q, attention.k, attention.v))

    subject = Sequence(
        attention,
        width=16,
        causal=attention.causal,
        module=attention,
        parts=parts,
        merge=lambda heads: attention.o(twin.merge(heads)),
        rotary=attention.rotary,
        positions=None if attention.rotary is None else True,
        compiles=True,
        name=f"layer, {fault or 'sound'}",
    )
    return subject, cause or fault


class Sinusoids(nn.Module):
    """Attention that is given positions which it does not use."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.attention, self.positions = Attention(causal=False), nn.Parameter(torch.randn(50, 16))

    def forward(self, x, real=None):
        return self.attention(x, real)


class Mean(nn.Module):
    """Takes away the mean over time, padding included."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.attention = Attention(causal=False)

    def forward(self, x, real=None):
        if real is not None:
            x = x * real[..., None]
        x = x - x.mean(1, keepdim=True)
        return self.attention(x, real)


def subjects():
    for fault in (
        "no-causal-mask",
        "sees-one-ahead",
        "mask-inverted",
        "mask-of-first-example",
        "mask-lost-at-batch-1",
        "mask-on-queries",
        "positions-from-padding",
        "positions-of-steps",
        "cache-lost",
        "cache-shared",
        "causal-from-the-start",
        "steps-count-padding",
        "beams-mixed",
        "dropout-in-eval",
        "examples-mixed",
        "writes-into-inputs",
        "writes-into-mask",
        "memory-order-assumed",
        "breaks-the-graph",
        "other-dtype",
    ):
        if fault in (
            "mask-of-first-example",
            "mask-lost-at-batch-1",
            "mask-on-queries",
            "mask-inverted",
        ):
            yield model(fault, causal=False)
        else:
            yield model(fault)
    yield model("mask-ignored", causal=False)
    yield model("keeps-tensors-of-a-trace", compiles=False, padding=("right",))
    yield model("norm-over-time", "no-causal-mask")
    yield model("cache-window", window=3, chunks=False, prefill=None, padding=("right",))
    yield model("always-causal", causal=False)
    for fault in (
        "softmax-over-queries",
        "no-scale",
        "scale-of-d-model",
        "heads-merged-wrong",
        "heads-split-wrong",
        "gradient-cut",
    ):
        yield layer(fault, causal=False)
    for fault in ("rotary-halves-for-pairs", "rotary-on-values", "rotary-on-queries-only"):
        yield layer(fault, rotary="halves")
    for kind, cause in ((Sinusoids, "positions-without-effect"), (Mean, "length-dependent")):
        made = kind()
        yield (
            Sequence(
                made,
                width=16,
                module=made,
                positions=True if kind is Sinusoids else None,
                name=f"layer, {kind.__name__}",
            ),
            cause,
        )
