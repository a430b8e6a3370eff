"""Answers to the exercise on clipped gradients."""

import torch


def scaled(gradients, factor):
    return [factor * each for each in gradients]


def norm(gradients):
    return torch.cat([each.flatten() for each in gradients]).norm()


def in_place(gradients, max_norm):
    factor = (max_norm / norm(gradients)).clamp(max=1)
    for each in gradients:
        each *= factor
    return gradients


def by_torch(gradients, max_norm, floor=0.0):
    size = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
    return scaled(gradients, max_norm / size) if size > max_norm else [g.clone() for g in gradients]


def library(gradients, max_norm):
    leaves = [torch.nn.Parameter(each.clone()) for each in gradients]
    for leaf, each in zip(leaves, gradients, strict=True):
        leaf.grad = each.clone()
    torch.nn.utils.clip_grad_norm_(leaves, max_norm)
    return [leaf.grad for leaf in leaves]


RIGHT = {
    "clip-gradients": [
        lambda g, m: scaled(g, (m / norm(g)).clamp(max=1)),
        by_torch,
        library,
        lambda g, m: scaled(g, m / max(m, norm(g).item())),
    ]
}

WRONG = {
    "clip-gradients": [
        (
            lambda g, m: [each * (m / each.norm()).clamp(max=1) for each in g],
            "each-alone",
        ),
        (lambda g, m: [torch.minimum(each, each * 0 + m).clamp(min=-m) for each in g], "values"),
        (lambda g, m: scaled(g, m / norm(g)), "always"),
        (lambda g, m: scaled(g, min(1, m / sum(x.norm().item() for x in g))), "sum-of-norms"),
        (lambda g, m: scaled(g, (m / norm(g).square()).clamp(max=1)), "no-root"),
        (in_place, "in-place"),
        (lambda g, m: scaled(g, min(1.0, m / norm(g).item())), "zero-divided"),
        (
            lambda g, m: scaled(g, min(1, m / torch.cat([x.flatten() for x in g]).abs().max())),
            "largest-number",
        ),
        (
            lambda g, m: scaled(g, min(1, m / torch.cat([x.flatten() for x in g]).abs().sum())),
            "rejected",
        ),
        (lambda g, m: scaled(g, (norm(g) / m).clamp(max=1)), "rejected"),
        (lambda g, m: scaled(g, (m / norm(g)).clamp(min=1)), "rejected"),
        (lambda g, m: list(g), "not-clipped"),
        (lambda g, m: [x * 0 for x in g] if norm(g) > m else list(g), "rejected"),
        (lambda g, m: [x - (norm(g) - m).clamp(min=0) for x in g], "rejected"),
        (lambda g, m: scaled(g, (m / (norm(g) + 1e-2)).clamp(max=1)), "rejected"),
        (lambda g, m: scaled(g, 1 / norm(g)) if norm(g) > m else list(g), "to-norm-one"),
        (lambda g, m: scaled(g, (m / norm(g[:1])).clamp(max=1)), "rejected"),
        (lambda g, m: scaled(g, m / (norm(g) / len(g))) if norm(g) > m else list(g), "rejected"),
        (lambda g, m: torch.cat([x.flatten() for x in by_torch(g, m)]), "type"),
        (lambda g, m: (x for x in by_torch(g, m)), "type"),
    ]
}
