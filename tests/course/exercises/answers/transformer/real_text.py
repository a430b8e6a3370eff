"""Wrong answers about padding and about the mean of checkpoints, and what they are called."""

import torch


def places(batches):
    return sum(len(batch) * max(batch) for batch in batches)


def words(batches):
    return sum(sum(batch) for batch in batches)


def right(checkpoints):
    names = checkpoints[0].keys()
    return {name: sum(each[name] for each in checkpoints) / len(checkpoints) for name in names}


def halves(checkpoints):
    first, *rest = checkpoints
    for each in rest:
        first = {name: 0.5 * first[name] + 0.5 * each[name] for name in first}
    return first


def overwriting(checkpoints):
    first, *rest = checkpoints
    for name, value in first.items():
        for each in rest:
            value.add_(each[name])
        value.div_(len(checkpoints))
    return first


def total(batches, count):
    return sum(count(batch) for batch in batches)


RIGHT = {
    "padding-share": [
        lambda b: (places(b) - words(b)) / places(b),
        lambda b: 1 - words(b) / places(b),
        lambda b: torch.tensor(total(b, lambda x: sum(max(x) - n for n in x)) / places(b)),
        lambda b: (
            total(b, lambda x: sum(max(x) - n for n in x)) / total(b, lambda x: len(x) * max(x))
        ),
    ],
    "mean-of-checkpoints": [
        lambda checkpoints: right(checkpoints),
        lambda c: {n: torch.stack([each[n] for each in c]).mean(0) for n in c[0]},
        lambda c: {
            n: (sum(each[n].double() for each in c) / len(c)).to(c[0][n].dtype) for n in c[0]
        },
    ],
}

WRONG = {
    "padding-share": [
        (
            lambda b: torch.tensor([1 - sum(x) / (len(x) * max(x)) for x in b]).mean().item(),
            "mean-of-shares",
        ),
        (
            lambda b: 1 - words(b) / (sum(map(len, b)) * max(max(x) for x in b)),
            "longest-of-all",
        ),
        (lambda b: words(b) / places(b), "share-of-words"),
        (lambda b: (places(b) - words(b)) / words(b), "per-real-token"),
        (lambda b: 100 * (1 - words(b) / places(b)), "percent"),
        (lambda b: places(b) - words(b), "number"),
        (lambda b: round(1 - words(b) / places(b), 2), "rounded"),
        (lambda b: (places(b) - words(b)) // places(b), "rejected"),
        (lambda b: 1 - sum(b[0]) / places(b[:1]), "first-batch-alone"),
        (lambda b: 1 - sum(b[-1]) / places(b[-1:]), "rejected"),
        (lambda b: 1 - words(b) / total(b, lambda x: len(x) * x[-1]), "last-taken-for-longest"),
        (lambda b: 1 - words(b) / total(b, lambda x: len(x) * x[0]), "first-taken-for-longest"),
        (lambda b: 1 - words(b) / (max(map(len, b)) * total(b, max)), "rejected"),
        (lambda b: 1 - words(b) / total(b, max), "rejected"),
        (lambda b: [1 - sum(x) / (len(x) * max(x)) for x in b], "type"),
        (lambda b: 1 - total(b, lambda x: sum(x) / len(x)) / total(b, max), "lengths-averaged"),
        (
            lambda b: total(b, lambda x: sum(n < max(x) for n in x)) / total(b, len),
            "share-of-sentences",
        ),
        (lambda b: 1 - total(b, min) / total(b, max), "rejected"),
    ],
    "mean-of-checkpoints": [
        (halves, "pairwise"),
        (overwriting, "in-place"),
        (lambda c: {name: sum(each[name] for each in c) for name in c[0]}, "sum"),
        (lambda c: {name: value.clone() for name, value in c[-1].items()}, "last"),
        (lambda c: {name: value.clone() for name, value in c[0].items()}, "first"),
        (lambda c: {n: sum(each[n] for each in c) / 2 for n in c[0]}, "always-two"),
        (lambda c: {n: sum(each[n] for each in c) / max(len(c) - 1, 1) for n in c[0]}, "one-less"),
        (
            lambda c: {n: torch.stack([each[n] for each in c]).median(0).values for n in c[0]},
            "median",
        ),
        (lambda c: {n: torch.stack([each[n] for each in c]).mean() for n in c[0]}, "to-one-number"),
        (lambda c: {n: torch.stack([each[n].mean() for each in c]) for n in c[0]}, "rejected"),
        (lambda c: {n: torch.cat([each[n] for each in c]).mean(0) for n in c[0]}, "rejected"),
        (lambda c: [right(c)[n] for n in c[0]], "type"),
        (lambda c: {"W": right(c)["W"]}, "names-fixed"),
        (lambda c: {n: right(c)[n] for n in ("W", "b")}, "names-fixed"),
        (lambda c: {n: v.tolist() for n, v in right(c).items()}, "type"),
        (
            lambda c: {n: sum(each[n] for each in c[1:]) / max(len(c) - 1, 1) for n in c[0]},
            "rejected",
        ),
        (lambda c: {n: torch.stack([each[n] for each in c]).amax(0) for n in c[0]}, "rejected"),
        (lambda c: {n: v.round() for n, v in right(c).items()}, "rejected"),
        (
            lambda c: c[0] if len(c) == 1 else {n: (c[0][n] + c[-1][n]) / 2 for n in c[0]},
            "first-and-last",
        ),
        (
            lambda c: dict(sorted((n, sum(e[n] for e in c) / len(c[0])) for n in c[0])),
            "divided-by-names",
        ),
    ],
}
