"""Answers to the exercises on decoding and judging."""

import math
from collections import Counter
from itertools import pairwise

import torch


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


def one_from_each(scores, log_probs, width):
    found = sorted(
        ((scores[b] + row.max()).item(), b, row.argmax().item()) for b, row in enumerate(log_probs)
    )
    return tuple(torch.tensor(column) for column in zip(*found[::-1][:width], strict=True))


def ranked(totals, width, size=None, largest=True):
    values, places = totals.reshape(-1).sort(descending=largest)
    size = size or totals.shape[1]
    return values[:width], places[:width] // size, places[:width] % size


def multiplied(scores, log_probs, width):
    return ranked(log_probs * scores.unsqueeze(1), width)


def of_probabilities(scores, log_probs, width):
    return ranked(scores.exp()[:, None] * log_probs.exp(), width)


def each_word_once(scores, log_probs, width):
    """Keep the best beam of every word."""
    totals = scores[:, None] + log_probs
    best, beams = totals.max(0)
    order = best.argsort(descending=True)[:width]
    return best[order], beams[order], order


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


def smoothed(p, r):
    hits = [precision(p, r, n) * max(len(p) - n + 1, 0) for n in (1, 2)]
    return brevity(p, r) * ((hits[0] + 1) * (hits[1] + 1) / (len(p) + 1) / len(p)) ** 0.5


def recall(p, r):
    return brevity(p, r) * (precision(r, p, 1) * precision(r, p, 2)) ** 0.5


def of_sets(p, r):
    ones, twos = (
        set(p) & set(r),
        set(pairwise(p)) & set(pairwise(r)),
    )
    if len(p) < 2:
        return 0.0
    return brevity(p, r) * (len(ones) / len(p) * len(twos) / (len(p) - 1)) ** 0.5


def four(p, r):
    product = math.prod(precision(p, r, n) for n in (1, 2, 3, 4))
    return brevity(p, r) * product**0.25


RIGHT = {
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
}

WRONG = {
    "beam-step": [
        (lambda s, p, w: step(s, p, w, past=0), "past-forgotten"),
        (one_from_each, "one-from-each"),
        (multiplied, "multiplied"),
        (lambda s, p, w: step(s, p, w, first="token"), "swapped"),
        (lambda s, p, w: step(s, p, w, best_first=False), "worst-first"),
        (lambda s, p, w: ranked(s[:, None] + p, w, largest=False), "worst-first"),
        (lambda s, p, w: ranked(s[:, None] + p, 2), "width-fixed"),
        (lambda s, p, w: ranked(s[:, None] + p, len(s)), "width-fixed"),
        (lambda s, p, w: ranked(s[:, None] + p, w, size=len(s)), "divided-by-beams"),
        (of_probabilities, "probabilities"),
        (lambda s, p, w: ranked(s[:, None] + p.exp(), w), "probabilities"),
        (lambda s, p, w: ranked((s[:, None] + p) / 2, w), "rejected"),
        (lambda s, p, w: ranked(s[:, None] - p, w), "rejected"),
        (lambda s, p, w: ranked(p - s[:, None], w), "rejected"),
        (lambda s, p, w: ranked(p + s[: p.shape[1]], w), "rejected"),
        (each_word_once, "one-for-each-token"),
        (lambda s, p, w: tuple(each.tolist() for each in step(s, p, w)), "type"),
        (lambda s, p, w: step(s, p, w)[1:], "rejected"),
        (lambda s, p, w: (step(s, p, w)[0].exp(), *step(s, p, w)[1:]), "rejected"),
        (lambda s, p, w: torch.topk(s[:, None] + p, w), "rejected"),
    ],
    "bleu": [
        (lambda p, r: mean(p, r), "no-brevity-penalty"),
        (lambda p, r: (brevity(r, p) if r else 1) * mean(p, r), "penalty-inverted"),
        (lambda p, r: math.exp(1 - len(r) / len(p)) * mean(p, r), "penalty-unbounded"),
        (lambda p, r: brevity(p, r) * mean(p, r, clip=False), "not-clipped"),
        (
            lambda p, r: brevity(p, r) * (precision(p, r, 1) + precision(p, r, 2)) / 2,
            "arithmetic-mean",
        ),
        (lambda p, r: brevity(p, r) * mean(p, r) ** 2, "product"),
        (lambda p, r: 100 * brevity(p, r) * mean(p, r), "percent"),
        (lambda p, r: brevity(p, r) * precision(p, r, 1), "one-order"),
        (lambda p, r: brevity(p, r) * precision(p, r, 2), "one-order"),
        (four, "four-orders"),
        (recall, "recall"),
        (lambda p, r: min(1, len(p) / len(r)) * mean(p, r), "penalty-without-exponential"),
        (lambda p, r: (0.5 if len(p) < len(r) else 1) * mean(p, r), "rejected"),
        (smoothed, "smoothed"),
        (of_sets, "repetitions-lost"),
        (lambda p, r: right("".join(p), "".join(r)), "rejected"),
        (lambda p, r: right(sorted(p), sorted(r)), "rejected"),
        (lambda p, r: right([w.lower() for w in p], [w.lower() for w in r]), "lower-case"),
        (lambda p, r: right([w for w in p if w != "."], [w for w in r if w != "."]), "rejected"),
        (
            lambda p, r: (
                math.exp(math.log(precision(p, r, 1)) / 2 + math.log(precision(p, r, 2)) / 2)
                * brevity(p, r)
            ),
            "logarithm-of-zero",
        ),
        (lambda p, r: round(right(p, r), 2), "rejected"),
    ],
}
