"""Answers to the exercises on today's decoder block."""

import torch
from torch.nn import functional as F


def rms(x, gain, *, axes=-1, power=0.5, shift=0.0, total=torch.mean, epsilon=1e-6):
    x = x - shift * x.mean(dim=-1, keepdim=True)
    return gain * x * (total(x**2, dim=axes, keepdim=True) + epsilon) ** -power


def by_std(x, gain, *, unbiased=True):
    return x / (x.std(dim=-1, keepdim=True, unbiased=unbiased) + 1e-6) * gain


def root(x):
    return x.square().mean(dim=-1, keepdim=True).sqrt()


def gated(x, gate, up, down, *, bend=F.silu):
    return torch.einsum("nf,nf,fd->nd", bend(x @ gate), x @ up, down)


def joined(x, gate, up, down):
    first, second = (x @ torch.cat((gate, up), dim=1)).chunk(2, dim=1)
    return F.linear(first * first.sigmoid() * second, down.T)


RIGHT = {
    "rms-norm": [
        rms,
        lambda x, g: F.rms_norm(x, x.shape[-1:], g, 1e-6),
        lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g,
    ],
    "swiglu": [
        gated,
        joined,
        lambda x, gate, up, down: (x @ gate / (1 + (-x @ gate).exp()) * (x @ up)) @ down,
    ],
}

WRONG = {
    "rms-norm": [
        (lambda x, g: rms(x, g, shift=1), "centered"),
        (lambda x, g: F.layer_norm(x, x.shape[-1:], g, eps=1e-6), "centered"),
        (lambda x, g: rms(x, g, total=torch.sum), "divided-by-length"),
        (lambda x, g: F.normalize(x, dim=-1) * g, "divided-by-length"),
        (lambda x, g: rms(x, g, power=1), "no-root"),
        (lambda x, g: rms(x, g, axes=-2), "over-time"),
        (lambda x, g: rms(x, g, axes=(-1, -2)), "over-time"),
        (lambda x, g: rms(x, torch.ones_like(g)), "no-gain"),
        (lambda x, g: rms(x, 1 + g), "gain-plus-one"),
        (lambda x, g: rms(x, 1) + g, "gain-added"),
        (lambda x, g: x * g, "scale-is-lost"),
        (lambda x, g: rms(x, g, epsilon=0), "no-epsilon"),
        (lambda x, g: F.rms_norm(x, x.shape[-1:], g, 0.0), "no-epsilon"),
        (lambda x, g: x / (root(x) + 1e-6) * g, "epsilon-outside"),
        (lambda x, g: x / root(x).clamp(min=1e-6) * g, "rejected"),
        (lambda x, g: rms(x, g, epsilon=1e-5), "another-epsilon"),
        (lambda x, g: rms(x, g, epsilon=1e-8), "another-epsilon"),
        (lambda x, g: F.rms_norm(x, x.shape[-1:], g), "another-epsilon"),
        (by_std, "rejected"),
        (lambda x, g: by_std(x, g, unbiased=False), "rejected"),
        (lambda x, g: x / (x.abs().mean(-1, keepdim=True) + 1e-6) * g, "rejected"),
        (lambda x, g: rms(x, g.abs()), "rejected"),
        (lambda x, g: rms(x * g, 1), "rejected"),
        (lambda x, g: x.div_(root(x) + 1e-6) * g, "rejected"),
    ],
    "swiglu": [
        (lambda *given: gated(*given, bend=torch.sigmoid), "sigmoid"),
        (lambda *given: gated(*given, bend=F.relu), "relu"),
        (lambda *given: gated(*given, bend=F.gelu), "gelu"),
        (lambda *given: gated(*given, bend=lambda z: z * (1.702 * z).sigmoid()), "rejected"),
        (lambda *given: gated(*given, bend=torch.tanh), "rejected"),
        (lambda *given: gated(*given, bend=lambda z: z), "not-bent"),
        (lambda *given: gated(*given, bend=lambda z: z * z.exp() / (1 + z.exp())), "rejected"),
        (lambda *given: gated(*given, bend=lambda z: z.softmax(dim=-1)), "rejected"),
        (lambda x, gate, up, down: gated(x, up, gate, down), "exchanged"),
        (lambda x, gate, up, down: F.silu(x @ up * (x @ gate)) @ down, "product-bent"),
        (lambda x, gate, up, down: (x @ up + F.silu(x @ gate)) @ down, "added"),
        (lambda x, gate, up, down: (F.silu(x @ gate) * F.silu(x @ up)) @ down, "both-bent"),
        (lambda x, gate, up, down: F.silu(x @ gate) * (x @ up), "not-brought-back"),
        (lambda x, gate, up, down: F.silu(x @ gate) @ down, "rejected"),
        (lambda x, gate, up, down: F.silu(F.silu(x @ gate) * (x @ up) @ down), "rejected"),
        (lambda x, gate, up, down: x + gated(x, gate, up, down), "residual-added"),
    ],
}
