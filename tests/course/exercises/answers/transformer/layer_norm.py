"""Answers to the exercises on layer norm."""

import torch
from torch.nn import functional as F


def norm(x, gain, bias, *, axes=-1, correction=0, power=0.5, center=True):
    spread = x.var(dim=axes, correction=correction, keepdim=True)
    centered = x - x.mean(dim=axes, keepdim=True) if center else x
    return centered / (spread + 1e-5) ** power * gain + bias


def normed(**settings):
    return lambda x, gain, bias: norm(x, gain, bias, **settings)


def by_std(x, gain, bias, eps=1e-5, correction=0):
    centered = x - x.mean(-1, keepdim=True)
    return centered / (x.std(-1, keepdim=True, correction=correction) + eps) * gain + bias


def with_eps(eps):
    return lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, eps)


def rms(x, gain, bias):
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain + bias


def no_square(x, gain, bias):
    centered = x - x.mean(-1, keepdim=True)
    return centered / (x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True)).sqrt() * gain


RIGHT = {
    "layer-norm": [
        normed(),
        with_eps(1e-5),
        lambda x, gain, bias: F.layer_norm(x.double(), x.shape[-1:]) * gain + bias,
        lambda x, gain, bias: (
            ((y := x - x.mean(-1, keepdim=True)) * (y.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt())
            * gain
            + bias
        ),
    ],
    "post-norm": [
        lambda x, f, norm: norm(f(x) + x),
        lambda x, f, norm: norm(torch.stack((x, f(x))).sum(0)),
        lambda x, f, norm: norm(x.clone().add(f(x))),
    ],
}

WRONG = {
    "layer-norm": [
        (normed(axes=-2), "over-time"),
        (normed(axes=(-1, -2)), "over-time"),
        (lambda x, g, b: torch.layer_norm(x, x.shape[-2:]) * g + b, "nobody-peeks"),
        (lambda x, g, b: norm(x, g, b, axes=tuple(range(x.dim() - 1))), "rejected"),
        (normed(correction=1), "unbiased-variance"),
        (normed(power=1), "divided-by-variance"),
        (normed(center=False), "not-centered"),
        (with_eps(0.0), "no-epsilon"),
        (
            lambda x, g, b: (
                (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0) * g + b
            ),
            "no-epsilon",
        ),
        (by_std, "epsilon-outside"),
        (with_eps(1e-6), "other-epsilon"),
        (with_eps(1e-8), "other-epsilon"),
        (with_eps(1e-3), "other-epsilon"),
        (lambda x, g, b: by_std(x, g, b, correction=1), "unbiased-variance"),
        (lambda x, g, b: F.layer_norm(x, x.shape[-1:]), "no-gain-no-bias"),
        (lambda x, g, b: F.layer_norm(x, x.shape[-1:], bias=b), "no-gain"),
        (lambda x, g, b: F.layer_norm(x, x.shape[-1:], weight=g), "no-bias"),
        (lambda x, g, b: (F.layer_norm(x, x.shape[-1:]) + b) * g, "bias-before-gain"),
        (lambda x, g, b: F.layer_norm(x, x.shape[-1:], 1 + g, b), "gain-plus-one"),
        (lambda x, g, b: F.layer_norm(x, x.shape[-1:], b, g), "gain-and-bias-swapped"),
        (rms, "root-mean-square"),
        (lambda x, g, b: (x - x.mean(-1, keepdim=True)) * g + b, "not-divided"),
        (lambda x, g, b: F.normalize(x - x.mean(-1, keepdim=True), dim=-1) * g + b, "unit-length"),
        (
            lambda x, g, b: (x - x.amin(-1, keepdim=True)) / x.amax(-1, keepdim=True) * g + b,
            "rejected",
        ),
        (no_square, "rejected"),
        (lambda x, g, b: x.softmax(-1) * g + b, "rejected"),
    ],
    "post-norm": [
        (lambda x, f, norm: f(norm(x)) + x, "pre-norm"),
        (lambda x, f, norm: norm(f(x)), "no-residual"),
        (lambda x, f, norm: norm(f(x)) + x, "sum-not-normalized"),
        (lambda x, f, norm: (lambda y: y + f(y))(norm(x)), "normalized-path"),
        (lambda x, f, norm: x + f(x), "no-norm"),
        (lambda x, f, norm: norm(x) + f(x), "residual-normalized"),
        (lambda x, f, norm: norm(x + f(norm(x))), "norm-twice"),
        (lambda x, f, norm: norm(x * f(x)), "multiplied"),
        (lambda x, f, norm: norm(x - f(x)), "rejected"),
        (lambda x, f, norm: f(norm(x)), "rejected"),
        (lambda x, f, norm: f(x), "rejected"),
        (lambda x, f, norm: norm(x), "rejected"),
        (lambda x, f, norm: norm(f(x) + f(x)), "rejected"),
        (lambda x, f, norm: norm(x + f(x + f(x))), "rejected"),
        (lambda x, f, norm: f(norm(x) + x), "rejected"),
        (lambda x, f, norm: norm(x.add_(f(x))), "input"),
        (lambda x, norm, f: norm(x + f(x)), "rejected"),
        (lambda x, f, norm: torch.cat((x, norm(f(x))), -1), "shape"),
    ],
}
