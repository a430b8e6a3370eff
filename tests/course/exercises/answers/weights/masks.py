"""Answers to the exercises on masks."""

import torch
from torch.nn import functional as F


def by_hand(scores, mask):
    visible = scores.masked_fill(~mask, -torch.inf)
    top = visible.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    likeness = (visible - top).exp()
    return likeness / likeness.sum(-1, keepdim=True).clamp(min=1e-6)


def filled(value, dim=-1):
    return lambda scores, mask: torch.softmax(torch.where(mask, scores, value), dim)


def in_place(scores, mask):
    scores[~mask.expand_as(scores)] = -torch.inf
    return scores.softmax(-1).nan_to_num()


def wiped(scores, mask):
    return (scores + torch.where(mask, 0, -torch.inf)).softmax(-1).nan_to_num()


def right(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)


def shifted(scores, mask, add=0.0, floor=0.0):
    """Subtract the maximum of the whole row, hidden keys included."""
    likeness = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return likeness / (likeness.sum(-1, keepdim=True) + add).clamp(min=floor)


def renormalized(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-6)


def first_row_decides(scores, mask):
    """Leave out the keys that the first query may not see."""
    return right(scores, mask[..., :1, :].expand_as(scores))


def empty_rows_to_zero(scores, mask):
    weights = scores.masked_fill(~mask, -1e4).softmax(-1)
    return weights * mask.any(-1, keepdim=True)


def uniform_when_empty(scores, mask):
    return right(scores, mask | ~mask.any(-1, keepdim=True))


RIGHT = {
    "masked-softmax": [
        by_hand,
        right,
        lambda scores, mask: (
            scores.masked_fill(~mask, -torch.inf)
            .masked_fill(~mask.any(-1, keepdim=True), 0)
            .softmax(-1)
            * mask
        ),
        lambda scores, mask: right(scores.double(), mask),
        lambda scores, mask: filled(-torch.inf)(scores, mask).nan_to_num(),
    ],
}

WRONG = {
    "masked-softmax": [
        (filled(-torch.inf, dim=-2), "wrong-axis"),
        (filled(-1e9, dim=-2), "wrong-axis"),
        (filled(-torch.inf, dim=0), "wrong-axis"),
        (filled(-torch.inf, dim=1), "wrong-axis"),
        (lambda scores, mask: torch.where(~mask, scores, -torch.inf).softmax(-1), "mask-inverted"),
        (lambda scores, mask: torch.where(~mask, scores, -1e9).softmax(-1), "mask-inverted"),
        (lambda scores, mask: right(scores, ~mask), "mask-inverted"),
        (lambda scores, mask: torch.where(mask, scores, 0).softmax(-1), "scores-set-to-zero"),
        (lambda scores, mask: torch.where(mask, scores.softmax(-1), 0), "masked-afterwards"),
        (filled(-torch.inf), "minus-infinity"),
        (lambda s, mask: (s + torch.where(mask, 0, -torch.inf)).softmax(-1), "minus-infinity"),
        (lambda s, mask: (s + mask.to(s.dtype).log()).softmax(-1), "minus-infinity"),
        (lambda s, mask: (s + (~mask) * -torch.inf).softmax(-1), "rejected"),
        (filled(-1e4), "finite-fill"),
        (filled(-1e6), "finite-fill"),
        (filled(-1e30), "finite-fill"),
        (lambda s, mask: s.masked_fill(~mask, -1e12).softmax(-1), "finite-fill"),
        (lambda s, mask: s.masked_fill(~mask, -1e30).softmax(-1), "finite-fill"),
        (lambda s, mask: s.masked_fill(~mask, -100).softmax(-1), "finite-fill"),
        (lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1), "finite-fill"),
        (lambda s, mask: (s - 1e9 * (1 - mask.to(s.dtype))).softmax(-1), "finite-fill"),
        (empty_rows_to_zero, "rejected"),
        (uniform_when_empty, "even-where-nothing"),
        (
            lambda s, mask: (s.exp() * mask) / (s.exp() * mask).sum(-1, keepdim=True),
            "bare-exponentials",
        ),
        (
            lambda s, mask: (s.exp() * mask) / ((s.exp() * mask).sum(-1, keepdim=True) + 1e-9),
            "bare-exponentials",
        ),
        (shifted, "renormalized"),
        (lambda s, mask: shifted(s, mask, add=1e-9), "renormalized"),
        (lambda s, mask: shifted(s, mask, floor=1e-6), "renormalized"),
        (renormalized, "renormalized"),
        (lambda s, mask: F.normalize(s.softmax(-1) * mask, p=1, dim=-1), "renormalized"),
        (in_place, "in-place"),
        (lambda s, mask: s.masked_fill_(~mask, -torch.inf).softmax(-1) * mask, "in-place"),
        (wiped, "finite-gradients"),
        (lambda s, mask: right(s, mask).detach(), "no-gradient"),
        (lambda s, mask: right(s.detach(), mask), "no-gradient"),
        (first_row_decides, "rejected"),
        (lambda s, mask: s.softmax(-1), "mask-ignored"),
        (lambda s, mask: torch.where(mask, s.sigmoid(), 0), "rejected"),
        (lambda s, mask: right(s.softmax(-1), mask), "softmax-twice"),
        (lambda mask, scores: right(scores, mask), "rejected"),
    ],
}
