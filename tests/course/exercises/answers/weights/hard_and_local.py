"""Answers to the exercises on where to look."""

import math

import torch


def local(
    scores, center, radius, *, sigma=0.5, power=2, again=False, everywhere=False, edge=True,
    density=False, gauss=True,
):  # fmt: skip
    places = range(len(scores))
    near = [
        j for j in places
        if everywhere or abs(j - center) < radius or (edge and abs(j - center) == radius)
    ]  # fmt: skip
    weights = torch.zeros(len(scores))
    top = max(scores[j].item() for j in near)
    total = sum(math.exp(scores[j].item() - top) for j in near)
    for j in near:
        fall = math.exp(-((j - center) ** 2) / (2 * (sigma * radius) ** power)) if gauss else 1.0
        weights[j] = math.exp(scores[j].item() - top) / total * fall
    if density:
        weights /= sigma * radius * math.sqrt(2 * math.pi)
    return weights / weights.sum() if again else weights


def locally(**settings):
    return lambda scores, center, radius: local(scores, center, radius, **settings)


def inside(scores, center, radius):
    distances = (torch.arange(len(scores)) - center).abs()
    bent = scores - 2 * (distances / radius) ** 2
    return bent.masked_fill(distances > radius, -torch.inf).softmax(0)


def masked(scores, center, radius, fill=-torch.inf):
    d = torch.arange(len(scores)) - center
    weights = scores.masked_fill(d.abs() > radius, fill).softmax(0)
    return weights * torch.exp(-2 * d**2 / radius**2)


def bare(scores, center, radius):
    d = torch.arange(len(scores)) - center
    likeness = scores.exp() * (d.abs() <= radius)
    return likeness / likeness.sum() * torch.exp(-2 * d**2 / radius**2)


def whole_places(scores, center, radius):
    return local(scores, round(center), radius)


def cut_places(scores, center, radius):
    return local(scores, int(center), radius)


def sliced(scores, center, radius):
    """Cut the window out by its whole ends, which a center between two places has not."""
    low, high = max(0, int(center) - radius), int(center) + radius + 1
    d = torch.arange(len(scores)) - center
    weights = torch.zeros_like(scores)
    weights[low:high] = scores[low:high].softmax(0)
    return weights * torch.exp(-2 * d**2 / radius**2)


def negative_start(scores, center, radius):
    """Cut the window out with a start that may be negative."""
    low, high = math.ceil(center - radius), math.floor(center + radius) + 1
    d = torch.arange(len(scores)) - center
    weights = torch.zeros_like(scores)
    weights[low:high] = scores[low:high].softmax(0)
    return weights * torch.exp(-2 * d**2 / radius**2)


def surrogate(log_probs, losses, baseline):
    terms = [(loss.item() - baseline) * p for loss, p in zip(losses, log_probs, strict=True)]
    return sum(terms) / len(terms)


RIGHT = {
    "local-gaussian": [locally(), masked, lambda s, c, r: masked(s.double(), c, r)],
    "reinforce": [
        surrogate,
        lambda p, loss, b: ((loss.detach() - b) * p).mean(),
        lambda p, loss, b: (loss - b).detach() @ p / len(p),
    ],
}

WRONG = {
    "local-gaussian": [
        (locally(sigma=1.0), "sigma-is-radius"),
        (locally(power=1), "sigma-not-squared"),
        (locally(again=True), "normalized-again"),
        (inside, "normalized-again"),
        (locally(everywhere=True), "no-window"),
        (locally(edge=False), "edge-left-out"),
        (locally(density=True), "density"),
        (locally(gauss=False), "no-gaussian"),
        (whole_places, "center-rounded"),
        (cut_places, "center-rounded"),
        (bare, "overflow"),
        (lambda s, c, r: masked(s, c, r, 0.0), "rejected"),
        (lambda s, c, r: masked(s, c, r, -100.0), "rejected"),
        (lambda s, c, r: masked(s, c, r) * masked(s, c, r).ne(0).sum(), "rejected"),
        (sliced, "rejected"),
        (negative_start, "rejected"),
        (locally(sigma=0.25), "rejected"),
        (lambda s, c, r: local(s, c - 1, r), "rejected"),
        (lambda s, c, r: local(s, c + 1, r) if c + 1 - r < len(s) - 1 else s, "rejected"),
        (lambda s, c, r: masked(s, c, r)[masked(s, c, r) > 0], "rejected"),
        (lambda s, c, r: local(s, c, r).tolist(), "type"),
        (lambda s, c, r: torch.exp(-2 * (torch.arange(len(s)) - c) ** 2 / r**2), "rejected"),
        (lambda s, c, r: s.softmax(0), "rejected"),
    ],
    "reinforce": [
        (lambda p, loss, b: (-(loss.detach() - b) * p).mean(), "uphill"),
        (lambda p, loss, b: ((b - loss.detach()) * p).mean(), "uphill"),
        (lambda p, loss, b: ((loss.detach() - b) * torch.exp(p)).mean(), "probabilities"),
        (lambda p, loss, b: ((loss.detach() + b) * p).mean(), "baseline-added"),
        (lambda p, loss, b: (loss.detach() * p - b).mean(), "baseline-outside"),
        (lambda p, loss, b: (loss.detach() - b) @ p, "sum"),
        (lambda p, loss, b: ((loss - b) * p).mean(), "losses-are-constants"),
        (lambda p, loss, b: (loss.detach() * p).mean(), "baseline-ignored"),
        (lambda p, loss, b: ((loss.detach() - loss.detach().mean()) * p).mean(), "rejected"),
        (lambda p, loss, b: ((loss.detach() - b) * p.detach()).mean(), "no-gradient"),
        (lambda p, loss, b: ((loss - b) * p).mean().detach(), "no-gradient"),
        (lambda p, loss, b: (loss.detach() - b).mean() * p.mean(), "means-multiplied"),
        (lambda p, loss, b: (loss.detach() - b).sum() * p.sum(), "rejected"),
        (lambda p, loss, b: ((loss.detach() - b) * p.log()).mean(), "rejected"),
        (lambda p, loss, b: (loss.detach() - b).mean(), "rejected"),
        (lambda p, loss, b: (loss.detach() - b) * p, "shape"),
        (lambda p, loss, b: (loss.detach() - b * p).mean(), "rejected"),
        (lambda p, loss, b: ((loss.detach() - b) ** 2 * p).mean(), "rejected"),
        (lambda p, loss, b: ((loss.detach() - b).abs() * p).mean(), "rejected"),
        (lambda p, loss, b: ((loss.detach() - b).clamp(min=0) * p).mean(), "rejected"),
        (lambda p, loss, b: ((loss.detach() - b) * p).mean().item(), "losses-are-constants"),
    ],
}
