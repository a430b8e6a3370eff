"""Answers to the exercises on sequence to sequence and translating."""

import math
from collections import Counter

import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence


# teacher-forcing
def grown(tokens, bos, eos):
    tokens.append(eos)
    return [bos, *tokens[:-1]], tokens


def by_appending(tokens, bos, eos):
    given, wanted = [bos], []
    for token in tokens:
        given.append(token)
        wanted.append(token)
    return given, [*wanted, eos]


# pad-batch
def pad(sentences, padding, *, before=False, longest=max, fresh=True, width=None):
    width = width or longest(len(row) for row in sentences)
    mask = torch.zeros(len(sentences), width, dtype=torch.bool)
    ids = torch.full(mask.shape, padding)
    for i, row in enumerate(sentences):
        kept = row[:width]
        place = slice(width - len(kept), width) if before else slice(0, len(kept))
        ids[i if fresh else slice(None), place] = torch.tensor(kept)
        mask[i, place] = True
    return ids, mask


def plain(sentences, padding):
    width = max(map(len, sentences))
    ids = [row + (width - len(row)) * [padding] for row in sentences]
    return torch.tensor(ids), torch.tensor(
        [[i < len(row) for i in range(width)] for row in sentences]
    )


SEEN = []


def remembers_width(sentences, padding):
    SEEN.append(max(map(len, sentences)))
    return pad(sentences, padding, width=max(SEEN))


# masked-loss
def losses(logits, targets, mask):
    """Each real token's own loss, row by row."""
    return [
        [-row.log_softmax(-1)[t] for row, t, real in zip(*each, strict=True) if real]
        for each in zip(logits, targets, mask, strict=True)
    ]


def flat(rows):
    return torch.stack([loss for row in rows for loss in row])


def each(x, y):
    return F.cross_entropy(x.mT, y, reduction="none")


def chosen(logs, y):
    return logs.gather(2, y[..., None])[..., 0]


# clip-gradients
def scaled(gradients, factor):
    return [factor * each for each in gradients]


def norm(gradients):
    return torch.cat([each.flatten() for each in gradients]).norm()


def clipped_by_torch(gradients, max_norm, floor=0.0):
    size = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
    return scaled(gradients, max_norm / size) if size > max_norm else [g.clone() for g in gradients]


def library(gradients, max_norm):
    leaves = [torch.nn.Parameter(each.clone()) for each in gradients]
    for leaf, each in zip(leaves, gradients, strict=True):
        leaf.grad = each.clone()
    torch.nn.utils.clip_grad_norm_(leaves, max_norm)
    return [leaf.grad for leaf in leaves]


# beam-step
def step(scores, log_probs, width, *, past=1.0, first="beam", best_first=True):
    """Sort all continuations, one by one."""
    found = [
        (past * scores[beam].item() + row[token].item(), beam, token)
        for beam, row in enumerate(log_probs)
        for token in range(len(row))
    ]
    best = sorted(found, reverse=True)[:width]
    if not best_first:
        best = best[::-1]
    totals, beams, tokens = (torch.tensor(column) for column in zip(*best, strict=True))
    return (totals, beams, tokens) if first == "beam" else (totals, tokens, beams)


def ranked(totals, width, size=None, largest=True):
    values, places = totals.reshape(-1).sort(descending=largest)
    size = size or totals.shape[1]
    return values[:width], places[:width] // size, places[:width] % size


# bleu
def precision(p, r, n, clip=True):
    found = [tuple(p[i : i + n]) for i in range(len(p) - n + 1)]
    wanted = [tuple(r[i : i + n]) for i in range(len(r) - n + 1)]
    if not found:
        return 0.0
    if not clip:
        return sum(g in wanted for g in found) / len(found)
    return sum(min(found.count(g), wanted.count(g)) for g in set(found)) / len(found)


def brevity(p, r):
    return 1.0 if len(p) >= len(r) else math.exp(1 - len(r) / len(p)) if p else 0.0


def mean(p, r, clip=True):
    return (precision(p, r, 1, clip) * precision(p, r, 2, clip)) ** 0.5


def right(p, r):
    return brevity(p, r) * mean(p, r)


def counted(p, r):
    """Count with `Counter` and take logarithms."""
    logs = []
    for n in (1, 2):
        grams = [Counter(zip(*(x[i:] for i in range(n)), strict=False)) for x in (p, r)]
        if not (hits := (grams[0] & grams[1]).total()):
            return 0.0
        logs.append(math.log(hits / grams[0].total()))
    return math.exp(min(0, 1 - len(r) / len(p)) + sum(logs) / 2)


# bahdanau-look
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


def looked(s, h, mask, W_s, W_h, v):
    weights = scores(s, h, W_s, W_h, v).masked_fill(~mask, -torch.inf).softmax(1)
    return (weights.unsqueeze(1) @ h).squeeze(1)


# alignment-error-rate
def count(links, gold):
    return sum(link in gold for link in links)


def error_rate(a, s, p):
    return 1 - (count(a, s) + count(a, s.union(p))) / (len(a) + len(s))


def careless(a, s, p):
    p |= s
    return 1 - (count(a, s) + count(a, p)) / (len(a) + len(s))


def f_measure(a, s, p):
    precision, recall = len(a & (s | p)) / len(a), len(a & s) / len(s)
    return 1 - 2 * precision * recall / (precision + recall) if precision + recall else 1.0


def wrong_both(a, s, p):
    """Count what was drawn wrongly and what is missing."""
    return (len(a - s - p) + len(s - a)) / (len(a) + len(s))


RIGHT = {
    "teacher-forcing": [
        lambda t, bos, eos: [[bos, *t], [*t, eos]],
        by_appending,
        lambda t, bos, eos: ([bos, *t, eos][:-1], [bos, *t, eos][1:]),
    ],
    "pad-batch": [
        lambda s, p: pad(s, p),
        lambda sentences, padding: (
            pad_sequence([torch.tensor(row) for row in sentences], True, padding),
            pad_sequence([torch.ones(len(row)) for row in sentences], True) > 0,
        ),
        plain,
    ],
    "masked-loss": [
        lambda x, y, m: flat(losses(x, y, m)).mean(),
        lambda x, y, m: F.cross_entropy(x[m], y[m]),
        lambda x, y, m: (each(x, y) * m).sum() / m.sum(),
        lambda x, y, m: F.cross_entropy(
            x.flatten(0, 1), torch.where(m, y, -100).flatten(), ignore_index=-100
        ).item(),
        lambda x, y, m: each(x.double(), y)[m].mean(),
    ],
    "clip-gradients": [
        lambda g, m: scaled(g, (m / norm(g)).clamp(max=1)),
        clipped_by_torch,
        library,
        lambda g, m: scaled(g, m / max(m, norm(g).item())),
    ],
    "beam-step": [
        lambda s, p, w: step(s, p, w),
        lambda s, p, w: ranked(s[:, None] + p, w),
        lambda s, p, w: (
            (best := (s.unsqueeze(1) + p).flatten().topk(w)).values,
            best.indices.div(p.shape[1], rounding_mode="floor"),
            best.indices.remainder(p.shape[1]),
        ),
    ],
    "bleu": [right, counted],
    "bahdanau-look": [looks(), looks(fill=-1e4), looked],
    "alignment-error-rate": [
        error_rate,
        lambda a, s, p: (len(a) + len(s) - len(a & s) - len(a & (s | p))) / (len(a) + len(s)),
        lambda a, s, p: wrong_both(a, s, p),
    ],
}

WRONG = {
    "teacher-forcing": {
        "no-bos": [lambda tokens, bos, eos: (tokens[:], [*tokens[1:], eos])],
        "no-eos": [lambda tokens, bos, eos: ([bos, *tokens[:-1]], tokens[:])],
        "input": [grown],
        "type": [
            lambda tokens, bos, eos: (torch.tensor([bos, *tokens]), torch.tensor([*tokens, eos]))
        ],
        "rejected": [
            lambda tokens, bos, eos: ([bos, *tokens], [eos, *tokens]),
            lambda tokens, bos, eos: ([bos, *tokens[::-1]], [*tokens, eos]),
            lambda tokens, bos, eos: ([bos, *set(tokens)], [*set(tokens), eos]),
            lambda tokens, bos, eos: ([bos or 2, *tokens], [*tokens, eos]),
        ],
    },
    "pad-batch": {
        "cut": [lambda s, p: pad(s, p, longest=min)],
        "padded-before": [lambda s, p: pad(s, p, before=True)],
        "dtype": [
            lambda s, p: (pad(s, p)[0], pad(s, p)[1].int()),
            lambda s, p: (pad(s, p)[0].float(), pad(s, p)[1]),
        ],
        "type": [
            lambda s, p: pad(s, p)[0],
            lambda s, p: (pad(s, p)[0].tolist(), pad(s, p)[1].tolist()),
        ],
        "state": [remembers_width],
        "rejected": [
            lambda s, p: (pad(s, 0)[0], pad(s, 0)[0] != 0),
            lambda s, p: (pad(s, p)[0], pad(s, p)[0] > 0),
            lambda s, p: pad(s, p)[::-1],
            lambda s, p: pad(s, p, width=5),
            lambda s, p: pad(s, p, width=max(map(len, s)) + 1),
            lambda s, p: (pad(s, p)[0], pad(s, p)[1].sum(1)),
        ],
    },
    "masked-loss": {
        "mean-of-means": [
            lambda x, y, m: sum(torch.stack(row).mean() for row in losses(x, y, m)) / len(x)
        ],
        "padding-counted": [lambda x, y, m: F.cross_entropy(x.mT, y)],
        "shape": [lambda x, y, m: each(x, y)[m]],
        "rejected": [
            lambda x, y, m: -chosen(x.softmax(-1), y)[m].mean(),
            lambda x, y, m: -chosen(x.double().softmax(-1).log(), y)[m].mean(),
            lambda x, y, m: F.cross_entropy(x[m], y[m], label_smoothing=0.1),
            lambda x, y, m: each(x, y)[m].max(),
        ],
    },
    "clip-gradients": {
        "always": [lambda g, m: scaled(g, m / norm(g))],
        "sum-of-norms": [lambda g, m: scaled(g, min(1, m / sum(x.norm().item() for x in g)))],
        "type": [
            lambda g, m: torch.cat([x.flatten() for x in clipped_by_torch(g, m)]),
            lambda g, m: (x for x in clipped_by_torch(g, m)),
        ],
        "rejected": [
            lambda g, m: scaled(g, min(1, m / torch.cat([x.flatten() for x in g]).abs().sum())),
            lambda g, m: scaled(g, (norm(g) / m).clamp(max=1)),
            lambda g, m: scaled(g, (m / norm(g)).clamp(min=1)),
            lambda g, m: [x * 0 for x in g] if norm(g) > m else list(g),
            lambda g, m: [x - (norm(g) - m).clamp(min=0) for x in g],
            lambda g, m: scaled(g, (m / (norm(g) + 1e-2)).clamp(max=1)),
            lambda g, m: scaled(g, (m / norm(g[:1])).clamp(max=1)),
            lambda g, m: scaled(g, m / (norm(g) / len(g))) if norm(g) > m else list(g),
        ],
    },
    "beam-step": {
        "multiplied": [
            lambda scores, log_probs, width: ranked(log_probs * scores.unsqueeze(1), width)
        ],
        "worst-first": [lambda s, p, w: ranked(s[:, None] + p, w, largest=False)],
        "type": [lambda s, p, w: tuple(each.tolist() for each in step(s, p, w))],
        "rejected": [
            lambda s, p, w: ranked((s[:, None] + p) / 2, w),
            lambda s, p, w: ranked(s[:, None] - p, w),
            lambda s, p, w: ranked(p - s[:, None], w),
            lambda s, p, w: ranked(p + s[: p.shape[1]], w),
            lambda s, p, w: step(s, p, w)[1:],
            lambda s, p, w: (step(s, p, w)[0].exp(), *step(s, p, w)[1:]),
            lambda s, p, w: torch.topk(s[:, None] + p, w),
        ],
    },
    "bleu": {
        "no-brevity-penalty": [lambda p, r: mean(p, r)],
        "penalty-inverted": [lambda p, r: (brevity(r, p) if r else 1) * mean(p, r)],
        "rejected": [
            lambda p, r: (0.5 if len(p) < len(r) else 1) * mean(p, r),
            lambda p, r: right("".join(p), "".join(r)),
            lambda p, r: right(sorted(p), sorted(r)),
            lambda p, r: right([w for w in p if w != "."], [w for w in r if w != "."]),
            lambda p, r: round(right(p, r), 2),
        ],
    },
    "bahdanau-look": {
        "padding-seen": [looks(see=False)],
        "masked-afterwards": [looks(after=True)],
        "shape": [
            lambda s, h, mask, W_s, W_h, v: weighted(
                scores(s, h, W_s, W_h, v).masked_fill(~mask, -torch.inf).softmax(1), h @ W_h.T
            ),
            lambda s, h, mask, *W: looked(s, h, mask, *W)[:, None],
        ],
        "rejected": [
            lambda s, h, *more: look(s, torch.zeros_like(h), *more),
            looks(act=torch.relu),
            looks(act=torch.sigmoid),
            looks(fill=-1.0),
            weigh(
                lambda s, mask: s.masked_fill(~mask, -torch.inf).softmax(1) / mask.sum(1)[:, None]
            ),
            lambda s, h, mask, W_s, W_h, v: look(s[:1].expand_as(s), h, mask, W_s, W_h, v),
            lambda s, h, mask, W_s, W_h, v: h[torch.arange(len(h)), mask.sum(1) - 1],
            lambda s, h, mask, W_s, W_h, v: scores(s, h, W_s, W_h, v).softmax(1),
        ],
    },
    "alignment-error-rate": {
        "f-measure": [f_measure],
        "possible-ignored": [lambda a, s, p: 1 - (count(a, s) + count(a, s)) / (len(a) + len(s))],
        "input": [careless],
        "type": [lambda a, s, p: [error_rate(a, s, p)]],
        "rejected": [
            lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / len(a | s),
            lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / (2 * len(a)),
            lambda a, s, p: 1 - len(a & (s | p)) / (len(a) + len(s)),
            lambda a, s, p: 1 - (len(a & s) + len(a & (s & p))) / (len(a) + len(s)),
            lambda s, a, p: error_rate(a, s, p),
        ],
    },
}
