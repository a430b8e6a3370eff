"""Biases, caps, sinks, told weights, cross-attention, residuals: with one fault each, or none."""

import math

import torch
from broken_kernels import good_half, softmax_zero
from broken_sequences import Attention
from torch import nn

from attention_book.conformance import Cross, Kernel, Sequence

# --- functions that add a bias, cap their scores, or have sinks --------------------------------

SINKS = torch.tensor([0.5, -1.0, 2.0, 1.5, -0.5, 0.0])
CAP = 0.8


def alibi(n, m, heads=6):
    """Minus a slope times how far a key stands away, another slope for each head."""
    slopes = 2.0 ** -torch.arange(1.0, heads + 1)
    distance = torch.arange(n)[:, None] + m - n - torch.arange(m)
    return -slopes[:, None, None] * distance.abs()


LEARNED = torch.randn(6, 5, generator=torch.Generator().manual_seed(5))


def buckets(n, m):
    """As T5: a number learned for each head and each distance, far ones together."""
    distance = torch.arange(n)[:, None] + m - n - torch.arange(m)
    return LEARNED[:, distance.clamp(-2, 2) + 2]


def biased(bias, fault=""):
    def attention(q, k, v, mask=None):
        (h, n), m = q.shape[1:3], k.shape[2]
        added = bias(m, m)[:, :n] if fault == "bias-from-the-start" else bias(n, m)
        added = added[:h].flip(0) if fault == "bias-of-other-heads" else added[:h]
        added = {"bias-ignored": 0, "bias-reversed": -1}.get(fault, 1) * added
        scale = q.shape[-1] ** -0.5
        scores = q.float() @ k.float().mT
        scaled = (scores + added) * scale if fault == "bias-scaled" else scores * scale + added
        return _weighted(scaled, mask, v)

    return attention


def _weighted(scores, mask, v):
    seen = torch.ones(1, 1, 1, 1, dtype=torch.bool) if mask is None else mask
    return (softmax_zero(scores, seen) @ v.float()).to(v.dtype)


def capped(fault=""):
    def attention(q, k, v, mask=None):
        scale = q.shape[-1] ** -0.5
        scores = q.float() @ k.float().mT
        if fault == "softcap-before-scale":
            scores = CAP * (scores / CAP).tanh() * scale
        elif fault == "softcap-after-mask":
            scores = scores * scale
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            return ((CAP * (scores / CAP).tanh()).softmax(-1) @ v.float()).to(v.dtype)
        else:
            scores = scores * scale
            scores = scores if fault else CAP * (scores / CAP).tanh()
        return _weighted(scores, mask, v)

    return attention


def sunk(fault=""):
    def attention(q, k, v, mask=None):
        scale = q.shape[-1] ** -0.5
        scores = q.float() @ k.float().mT * scale
        if fault == "sinks-ignored":
            return _weighted(scores, mask, v)
        sinks = SINKS[: q.shape[1]] * {"sinks-scaled": scale, "sinks-as-zero": 0}.get(fault, 1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        column = sinks[:, None, None].expand(*scores.shape[:-1], 1)
        weights = torch.cat((scores, column), -1).softmax(-1)[..., :-1]
        return (weights @ v.float()).to(v.dtype)

    return attention


# --- functions that tell their weights ---------------------------------------------------------


class Telling:
    """Keeps the weights of a call, as a hook does; or something else."""

    def __init__(self, fault=""):
        self.fault, self.kept, self.before = fault, None, None

    def __call__(self, q, k, v, mask=None):
        scores = q.float() @ k.float().mT * q.shape[-1] ** -0.5
        plain = scores.softmax(-1)
        weights = plain if mask is None else softmax_zero(scores, mask)
        self.before, self.kept = self.kept, weights
        told = {
            "weights-averaged": weights.mean(1),
            "weights-before-softmax": scores,
            "weights-before-mask": plain,
            "weights-transposed": weights.mT,
            "weights-of-another-call": self.before,
            "weights-not-used": 0.7 * weights + 0.3 / weights.shape[-1],
            "no-scale": (scores * q.shape[-1] ** 0.5).softmax(-1),
        }.get(self.fault, weights)
        return (weights @ v.float()).to(v.dtype), told

    def weights(self, *given):
        return self(*given)[1]


# --- cross-attention ---------------------------------------------------------------------------


class Reader(nn.Module):
    """Multi-head attention over a memory."""

    def __init__(self, fault="", width=16, memory=12, heads=4):
        super().__init__()
        torch.manual_seed(6)
        self.fault, self.heads = fault, heads
        self.q, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.k, self.v = nn.Linear(memory, width), nn.Linear(memory, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def parts(self, x, memory):
        return self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))

    def merge(self, heads):
        return self.o(heads.transpose(1, 2).flatten(2))

    def weigh(self, x, memory, real=None):
        q, k, _ = self.parts(x, memory)
        scale = 1.0 if self.fault == "no-scale" else q.shape[-1] ** -0.5
        scores = q @ k.mT * scale
        n, m = scores.shape[-2:]
        seen = torch.ones(1, 1, n, m, dtype=torch.bool, device=x.device)
        if self.fault == "always-causal":
            seen = seen.tril(m - n)
        if self.fault == "end-unread":
            seen[..., m - 1] = m == 1
        if real is not None and self.fault != "mask-ignored":
            real = ~real if self.fault == "mask-inverted" else real
            real = real[:1] if self.fault == "mask-of-first-example" else real
            if self.fault == "mask-lost-at-batch-1" and len(real) == 1:
                real = torch.ones_like(real)
            seen = seen & real[:, None, None]
        if self.fault == "softmax-over-queries":
            return softmax_zero(scores.mT, seen.expand_as(scores).mT).mT
        return softmax_zero(scores, seen)

    def forward(self, x, memory, real=None):
        if self.fault == "writes-into-inputs":
            memory *= 1.1
        weights = self.weigh(x, memory, real)
        if self.fault == "gradient-cut":
            weights = weights.detach()
        if self.fault == "dropout-in-eval":
            weights = nn.functional.dropout(weights, 0.1)
        if self.fault == "length-dependent":
            weights = weights * memory.shape[1] ** -0.5
        out = self.merge(weights @ self.parts(x, memory)[2])
        if self.fault == "queries-mixed":
            out = out - out.mean(1, keepdim=True)
        if self.fault == "examples-mixed":
            out = out - out.mean(0)
        if self.fault == "breaks-the-graph" and out.max().item() > 1e9:
            out = out * 0
        return out.float() if self.fault == "other-dtype" else out


class ReadsItself(Reader):
    """Takes its keys and values from its own side."""

    def __init__(self):
        super().__init__(memory=16)

    def forward(self, x, memory, real=None):
        return self.merge(self.weigh(x, x) @ self.parts(x, x)[2])


def reader(fault="", cause=None, *, parts=False, module=None, **options):
    module = Reader(fault) if module is None else module
    sound = Reader()
    known = {"parts": sound.parts, "merge": sound.merge} if parts else {}
    return (
        Cross(
            module,
            width=16,
            memory_width=module.k.in_features,
            positions=False,
            module=module,
            compiles=True,
            name=f"cross, {fault or type(module).__name__}{', parts' * parts}",
            **known,
            **options,
        ),
        cause or fault,
    )


# --- layers ------------------------------------------------------------------------------------


def residual(broken):
    torch.manual_seed(7)
    attention, norm = Attention(causal=False), nn.LayerNorm(16)

    def layer(x, inside):
        return inside(norm(x)) if broken else x + inside(norm(x))

    return Sequence(
        lambda x, real: layer(x, lambda y: attention(y, real)),
        width=16,
        module=nn.ModuleList((attention, norm)),
        silent=lambda x: layer(x, torch.zeros_like),
        name=f"layer, residual {'lost' if broken else 'kept'}",
    )


def telling_layer(fault=""):
    """A causal layer that tells its weights; its q, k and v are not known."""
    torch.manual_seed(8)
    attention = Attention()

    def weights(x, real):
        q, k = (attention.split(f(x)) for f in (attention.q, attention.k))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        n = scores.shape[-1]
        seen = torch.ones(1, 1, n, n, dtype=torch.bool).tril()
        seen = seen if real is None else seen & real[:, None, None]
        right = softmax_zero(scores, seen)
        return {
            "weights-averaged": right.mean(1),
            "weights-before-softmax": scores,
            "weights-before-mask": scores.softmax(-1),
            "weights-transposed": right.mT,
        }.get(fault, [right, right])

    return Sequence(
        attention,
        width=16,
        causal=True,
        module=attention,
        weights=weights,
        name=f"layer, tells {fault or 'weights'}",
    )


def stale():
    """As a hook that is not called again: the weights of the first call for ever."""
    sound, kept = telling_layer(), []

    def weights(x, real):
        kept.append(sound.weights(x, real)[0])
        return kept[0]

    return Sequence(
        sound.call, width=16, causal=True, module=sound.module, weights=weights, name="layer, stale"
    )


def subjects():
    for bias in (alibi, buckets):
        faults = ["bias-ignored", "bias-scaled", "bias-from-the-start", "bias-of-other-heads"]
        for fault in [*faults, *["bias-reversed"] * (bias is alibi)]:
            name = f"{bias.__name__}, {fault}"
            yield Kernel(biased(bias, fault), bias=bias, compiles=False, name=name), fault
    for fault in ("softcap-ignored", "softcap-before-scale", "softcap-after-mask"):
        yield Kernel(capped(fault), softcap=CAP, compiles=False, name=f"capped, {fault}"), fault
    for fault in ("sinks-ignored", "sinks-scaled", "sinks-as-zero"):
        yield Kernel(sunk(fault), sinks=SINKS, compiles=False, name=f"sinks, {fault}"), fault
    for fault in (
        "weights-averaged",
        "weights-before-softmax",
        "weights-before-mask",
        "weights-transposed",
        "weights-of-another-call",
        "weights-not-used",
        "no-scale",
    ):
        yield (
            Kernel(Telling(fault), weights="returned", compiles=False, name=f"tells {fault}"),
            fault,
        )
    for fault in (
        "always-causal",
        "mask-inverted",
        "mask-ignored",
        "mask-of-first-example",
        "mask-lost-at-batch-1",
        "length-dependent",
        "queries-mixed",
        "examples-mixed",
        "dropout-in-eval",
        "gradient-cut",
        "writes-into-inputs",
        "other-dtype",
        "breaks-the-graph",
    ):
        yield reader(fault)
    yield reader("", "reads-itself", module=ReadsItself())
    yield reader("softmax-over-queries", "queries-mixed")
    for fault in ("no-scale", "softmax-over-queries", "always-causal"):
        yield reader(fault, parts=True)
    yield residual(broken=True), "residual-lost"
    for fault in (
        "weights-averaged",
        "weights-before-softmax",
        "weights-before-mask",
        "weights-transposed",
    ):
        yield telling_layer(fault), fault
    yield stale(), "weights-of-another-call"


def sound():
    yield Kernel(biased(alibi), bias=alibi, name="ALiBi by hand")
    yield Kernel(biased(buckets), bias=buckets, name="buckets as in T5, by hand")
    yield Kernel(capped(), softcap=CAP, name="a cap by hand")
    yield Kernel(sunk(), sinks=SINKS, name="sinks by hand")
    yield Kernel(Telling(), weights="returned", compiles=False, name="weights returned")
    told = Telling()
    yield Kernel(
        lambda *given: good_half(*given), weights=told.weights, name="weights by a function"
    )
    yield reader()[0]
    yield reader(parts=True, weights=Reader().weigh)[0]
    yield residual(broken=False)
    yield telling_layer()
