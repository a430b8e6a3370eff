"""Answers to the exercises on windows and sinks."""

import torch
from torch.nn import functional as F


def kept(i, w, f):
    return sorted({*range(min(f, i + 1))} | {*range(max(0, i + 1 - w), i + 1)})


def by_a_mask(i, w, f):
    places = torch.arange(i + 1)
    return ((places > i - w) | (places < f)).nonzero().flatten().tolist()


def with_sink(scores, sink, *, extra=None):
    top = scores.amax(-1, keepdim=True).clamp(min=sink)
    extra = torch.exp(sink - top) if extra is None else extra * torch.exp(-top)
    parts = torch.exp(scores - top)
    return parts / (parts.sum(-1, keepdim=True) + extra)


def plain(scores, extra):
    return scores.exp() / (scores.exp().sum(-1, keepdim=True) + extra)


def gated(scores, sink):
    """Scale a usual softmax by the share that the keys have beside the sink."""
    total = scores.logsumexp(-1, keepdim=True)
    return (scores - torch.logaddexp(total, torch.tensor(float(sink)))).exp()


def joined(scores, sink, *, first=False):
    column = torch.full((*scores.shape[:-1], 1), float(sink))
    return torch.cat((column, scores) if first else (scores, column), dim=-1)


RIGHT = {
    "kept-positions": [
        kept,
        by_a_mask,
        lambda i, w, f: [j for j in range(i + 1) if j < f or j > i - w],
    ],
    "sink-softmax": [
        with_sink,
        gated,
        lambda scores, sink: joined(scores, sink, first=True).softmax(dim=-1)[..., 1:],
    ],
}

WRONG = {
    "kept-positions": [
        (lambda i, w, f: kept(i, w + 1, f), "one-more"),
        (lambda i, w, f: kept(i, max(1, w - f), f), "first-inside-the-window"),
        (
            lambda i, w, f: list(range(min(f, i + 1))) + list(range(max(0, i + 1 - w), i + 1)),
            "twice",
        ),
        (lambda i, w, f: kept(i, w, f)[:-1], "not-itself"),
        (lambda i, w, f: sorted({*range(f), *range(max(0, i - w + 1), i + 1)}), "first-too-early"),
        (lambda i, w, f: sorted({*range(f), *range(i - w + 1, i + 1)}), "rejected"),
        (lambda i, w, f: sorted({*range(min(f, i + 1)), *range(i - w + 1, i + 1)}), "below-zero"),
        (lambda i, w, f: list(range(max(0, i - w + 1), i + 1)), "window-alone"),
        (lambda i, w, f: list(range(min(f, i + 1))), "rejected"),
        (lambda i, w, f: kept(i, w, f + 1), "one-first-more"),
        (lambda i, w, f: [j for j in range(i + w) if abs(i - j) < w or j < f], "both-sides"),
        (lambda i, w, f: [j for j in range(i + 1) if i - j < w and j < f], "rejected"),
        (lambda i, w, f: kept(i, w, f)[::-1], "largest-first"),
        (lambda i, w, f: set(kept(i, w, f)), "type"),
        (lambda i, w, f: torch.tensor(kept(i, w, f)), "type"),
        (
            lambda i, w, f: list(range(f)) + list(range(max(f, i - w + 1), i + 1)),
            "first-too-early",
        ),
        (lambda i, w, f: list(range(i + 1)) if i <= w + f else kept(i, w, f), "rejected"),
        (lambda i, w, f: kept(i, w - 1, f), "one-less"),
    ],
    "sink-softmax": [
        (lambda scores, sink: torch.softmax(scores, -1), "no-sink"),
        (lambda scores, sink: with_sink(scores, sink, extra=sink), "sink-not-a-score"),
        (lambda scores, sink: with_sink(scores, sink, extra=1.0), "always-one"),
        (
            lambda scores, sink: torch.cat(
                (with_sink(scores, sink), 1 - with_sink(scores, sink).sum(-1, keepdim=True)), -1
            ),
            "sink-returned",
        ),
        (lambda s, sink: joined(s, sink, first=True).softmax(-1)[..., :-1], "last-key-dropped"),
        (lambda scores, sink: joined(scores, sink).softmax(dim=-1)[..., 1:], "rejected"),
        (lambda s, sink: plain(s, torch.tensor(float(sink)).exp()), "overflow"),
        (lambda s, sink: plain(s, 2.718281828**sink), "overflow"),
        (lambda scores, sink: (scores - sink).softmax(dim=-1), "no-sink"),
        (lambda scores, sink: joined(scores, -sink).softmax(-1)[..., :-1], "wrong-sign"),
        (lambda scores, sink: scores.softmax(-1) - joined(scores, sink).softmax(-1), "rejected"),
        (lambda scores, sink: joined(scores, sink).softmax(dim=0)[..., :-1], "wrong-axis"),
        (lambda s, sink: F.normalize(with_sink(s, sink), p=1, dim=-1), "no-sink"),
        (lambda s, sink: with_sink(s, sink, extra=s.shape[-1] * 2.718281828**sink), "rejected"),
        (
            lambda s, sink: (
                (s - s.amax(-1, keepdim=True)).exp()
                / ((s - s.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True) + 2.718281828**sink)
            ),
            "sink-not-shifted",
        ),
        (
            lambda s, sink: (
                (s - s.amax(-1, keepdim=True)).exp()
                / ((s - s.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True) + 1)
            ),
            "sink-not-shifted",
        ),
        (lambda s, sink: plain(s.double(), torch.tensor(sink).double().exp()).float(), "rejected"),
    ],
}
