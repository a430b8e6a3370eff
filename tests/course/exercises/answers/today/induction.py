"""Answers to the exercises on induction heads."""

import torch
from torch.nn.functional import one_hot

from attention_book.inspection import after_earlier, even, weight_on


def score(weights, words, distance=1):
    everything = torch.ones(1, *weights.shape, dtype=torch.bool)
    return weight_on(weights[None, None], after_earlier(words[None], distance), everything)[0]


def over_all(weights, words):
    return (weights * after_earlier(words[None])[0]).sum() / len(words)


def over_pairs(weights, words):
    return weights[after_earlier(words[None])[0]].mean()


def in_two_loops(
    weights, words, *, last=False, first=False, itself=True, future=False, best=False, wrap=False
):
    words, total, asking = words.tolist(), 0.0, 0
    n = len(words)
    for q, word in enumerate(words):
        keys = [j for j in range(1, n if future else q + 1) if words[j - 1] == word]
        if wrap and words[-1] == word:
            keys = [0, *keys]
        if not itself:
            keys = [j for j in keys if j != q]
        if future:
            keys = [j for j in keys if j != q + 1]
        keys = keys[-1:] if last else keys[:1] if first else keys
        if keys:
            asking += 1
            seen = [weights[q, j].item() for j in keys]
            total += max(seen) if best else sum(seen)
    return total / asking


def averaged(weights, words):
    found = after_earlier(words[None])[0]
    asking = found.any(dim=-1)
    return ((weights * found).sum(-1) / found.sum(-1).clamp(min=1))[asking].mean()


def copied(words, num_words, distance=1):
    looks = after_earlier(words[None], distance)[0]
    return even(looks.float(), looks) @ one_hot(words, num_words).float()


def in_a_loop(
    words,
    num_words,
    *,
    back=1,
    until=None,
    share=True,
    itself=True,
    only=slice(None),
    first_word=None,
):
    """Guess place by place; ``first_word`` is what place 0 notes, where it notes one."""
    guesses = torch.zeros(len(words), num_words)
    for i, word in enumerate(words):
        last = len(words) if until == "end" else i + 1 if itself else i
        found = [j for j in range(back, last) if words[j - back] == word]
        if first_word is not None and last > 0 and first_word == word:
            found = [0, *found]
        for j in found[only]:
            guesses[i, words[j]] += 1 / len(found[only]) if share else 1
    return guesses


def noted(words, num_words, *, divide):
    n = len(words)
    before = torch.cat((torch.tensor([-1]), words[:-1]))
    looks = ((before == words[:, None]) & torch.ones(n, n).tril().bool()).float()
    return divide(looks) @ one_hot(words, num_words).float()


def softened(looks):
    return torch.where(looks > 0, 0.0, -1e9).softmax(dim=-1)


RIGHT = {
    "induction-score": [score, in_two_loops, lambda w, x: torch.tensor(in_two_loops(w, x))],
    "induction-by-hand": [
        copied,
        in_a_loop,
        lambda words, n: noted(
            words, n, divide=lambda looks: looks / looks.sum(-1, keepdim=True).clamp(min=1)
        ),
    ],
}

WRONG = {
    "induction-score": [
        (lambda w, x: score(w, x, 0), "on-the-occurrence"),
        (lambda w, x: score(w, x, 2), "two-after"),
        (over_all, "over-all-queries"),
        (over_pairs, "mean-over-pairs"),
        (averaged, "mean-over-keys"),
        (lambda w, x: in_two_loops(w, x, last=True), "last-occurrence"),
        (lambda w, x: in_two_loops(w, x, first=True), "first-occurrence"),
        (lambda w, x: in_two_loops(w, x, best=True), "largest-alone"),
        (lambda w, x: in_two_loops(w, x, itself=False), "own-place-left-out"),
        (lambda w, x: in_two_loops(w, x, future=True), "future"),
        (lambda w, x: in_two_loops(w, x, wrap=True), "round-the-end"),
        (lambda w, x: score(w.mT, x), "rejected"),
        (lambda w, x: score(w, x) * after_earlier(x[None])[0].any(-1).sum(), "rejected"),
        (lambda w, x: w[after_earlier(x[None])[0]].max(), "rejected"),
        (lambda w, x: w.diagonal(-1).mean(), "rejected"),
        (
            lambda w, x: (w * after_earlier(x[None])[0]).sum(-1),
            "rejected",
        ),
    ],
    "induction-by-hand": [
        (lambda words, n: copied(words, n, 0), "one-look"),
        (lambda words, n: in_a_loop(words, n, back=2), "two-back"),
        (lambda words, n: in_a_loop(words, n, until="end"), "sees-the-future"),
        (lambda words, n: in_a_loop(words, n, share=False), "not-divided"),
        (lambda words, n: in_a_loop(words, n, itself=False), "own-place-left-out"),
        (lambda words, n: in_a_loop(words, n, first_word=0), "first-notes-a-word"),
        (lambda words, n: in_a_loop(words, n, first_word=words[-1]), "round-the-end"),
        (lambda words, n: in_a_loop(words, n, only=slice(-1, None)), "last-alone"),
        (lambda words, n: in_a_loop(words, n, only=slice(0, 1)), "first-alone"),
        (lambda w, n: noted(w, n, divide=lambda a: a / a.sum(-1, keepdim=True)), "nan"),
        (lambda w, n: noted(w, n, divide=softened), "even-where-nothing"),
        (lambda w, n: noted(w, n, divide=lambda a: a.softmax(dim=-1)), "rejected"),
        (
            lambda w, n: noted(w, n, divide=lambda a: a / (a.sum(-1, keepdim=True) + 1e-3)),
            "rejected",
        ),
        (lambda w, n: noted(w, n, divide=lambda a: a / len(w)), "rejected"),
        (lambda words, n: in_a_loop(words, int(words.max()) + 1), "shape"),
        (lambda words, n: copied(words, n).argmax(dim=-1), "rejected"),
        (lambda words, n: one_hot(copied(words, n).argmax(-1), n).float(), "rejected"),
        (lambda words, n: copied(words, n)[-1], "rejected"),
        (lambda words, n: one_hot(words.roll(-1), n).float(), "rejected"),
    ],
}
