"""Answers to the exercise on one look at the source."""

import torch


def look(
    state, annotations, mask, W_s, W_h, v, *, see=True, after=False, dim=1, flat=False,
    fill=-torch.inf, act=torch.tanh,
):  # fmt: skip
    contexts = []
    scores = torch.stack(
        [torch.stack([v @ act(W_s @ s + W_h @ h) for h in row])
         for s, row in zip(state, annotations, strict=True)]
    )  # fmt: skip
    if see and not after:
        scores = scores.masked_fill(~mask, fill)
    weights = torch.where(mask, 1.0, -torch.inf).softmax(1) if flat else scores.softmax(dim)
    if after:
        weights = weights * mask
    for row, each in zip(weights, annotations, strict=True):
        contexts.append(row @ each)
    return torch.stack(contexts)


def looks(**settings):
    return lambda s, h, mask, W_s, W_h, v: look(s, h, mask, W_s, W_h, v, **settings)


def scores(s, h, W_s, W_h, v):
    return torch.tanh((s @ W_s.T).unsqueeze(1) + h @ W_h.T) @ v


def weighted(weights, annotations):
    return torch.einsum("bk,bkd->bd", weights, annotations)


def weigh(change):
    return lambda s, h, mask, W_s, W_h, v: weighted(change(scores(s, h, W_s, W_h, v), mask), h)


def highest(s, mask):
    return torch.nn.functional.one_hot(s.masked_fill(~mask, -torch.inf).argmax(1), s.shape[1]) + 0.0


def first_state(s, h, mask, W_s, W_h, v):
    """Ask with the first state of the batch for all sentences."""
    return look(s[:1].expand_as(s), h, mask, W_s, W_h, v)


def projected(s, h, mask, W_s, W_h, v):
    weights = scores(s, h, W_s, W_h, v).masked_fill(~mask, -torch.inf).softmax(1)
    return weighted(weights, h @ W_h.T)


def right(s, h, mask, W_s, W_h, v):
    weights = scores(s, h, W_s, W_h, v).masked_fill(~mask, -torch.inf).softmax(1)
    return (weights.unsqueeze(1) @ h).squeeze(1)


RIGHT = {"bahdanau-look": [looks(), looks(fill=-1e4), right]}

WRONG = {
    "bahdanau-look": [
        (looks(see=False), "padding-seen"),
        (looks(after=True), "masked-afterwards"),
        (looks(dim=0), "over-the-batch"),
        (looks(flat=True), "plain-average"),
        (lambda s, *more: look(torch.zeros_like(s), *more), "state-left-out"),
        (lambda s, h, *more: look(s, torch.zeros_like(h), *more), "rejected"),
        (looks(act=lambda x: x), "no-tanh"),
        (looks(act=torch.relu), "rejected"),
        (looks(act=torch.sigmoid), "rejected"),
        (looks(fill=0.0), "scores-set-to-zero"),
        (looks(fill=-1.0), "rejected"),
        (lambda s, h, mask, W_s, W_h, v: look(s, h, ~mask, W_s, W_h, v), "mask-inverted"),
        (weigh(lambda s, mask: (s * mask).softmax(1)), "scores-set-to-zero"),
        (weigh(highest), "highest-only"),
        (weigh(lambda s, mask: s * mask), "no-softmax"),
        (weigh(lambda s, mask: s.exp() * mask), "not-normalized"),
        (weigh(lambda s, mask: (-s).masked_fill(~mask, -torch.inf).softmax(1)), "sign"),
        (
            weigh(lambda s, mask: s.masked_fill(~mask, -torch.inf).flatten().softmax(0).view_as(s)),
            "over-the-batch",
        ),
        (
            weigh(
                lambda s, mask: s.masked_fill(~mask, -torch.inf).softmax(1) / mask.sum(1)[:, None]
            ),
            "rejected",
        ),
        (first_state, "rejected"),
        (projected, "shape"),
        (lambda s, h, mask, W_s, W_h, v: h[torch.arange(len(h)), mask.sum(1) - 1], "rejected"),
        (lambda s, h, mask, *W: right(s, h, mask, *W)[:, None], "shape"),
        (lambda s, h, mask, W_s, W_h, v: scores(s, h, W_s, W_h, v).softmax(1), "rejected"),
    ]
}
