import pytest
import torch
from torch.nn.functional import one_hot

from attention_book.course.exercises import check
from attention_book.inspection import after_earlier, even, weight_on


def score(weights, words, distance=1):
    everything = torch.ones(1, *weights.shape, dtype=torch.bool)
    return weight_on(weights[None, None], after_earlier(words[None], distance), everything)[0]


def over_all(weights, words):
    return (weights * after_earlier(words[None])[0]).sum() / len(words)


def over_pairs(weights, words):
    return weights[after_earlier(words[None])[0]].mean()


def only_the_last(weights, words):
    total, asking = 0.0, 0
    for q, word in enumerate(words.tolist()):
        earlier = words[:q].tolist()
        if word in earlier:
            asking += 1
            total += weights[q, q - earlier[::-1].index(word)].item()
    return total / asking


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda w, x: score(w, x, 0), "on-the-occurrence"),
        (lambda w, x: score(w, x, 2), "two-after"),
        (over_all, "over-all-queries"),
        (over_pairs, "mean-over-pairs"),
        (only_the_last, "last-occurrence"),
    ],
)
def test_the_score_of_an_induction_head(answer, mistake):
    assert check("induction-score", score)
    assert check("induction-score", answer).mistake == mistake


def copied(words, num_words, distance=1):
    looks = after_earlier(words[None], distance)[0]
    return even(looks.float(), looks) @ one_hot(words, num_words).float()


def in_a_loop(words, num_words, *, back=1, until=None, share=True):
    guesses = torch.zeros(len(words), num_words)
    for i, word in enumerate(words):
        last = len(words) if until == "end" else i + 1
        found = [j for j in range(back, last) if words[j - back] == word]
        for j in found:
            guesses[i, words[j]] += 1 / len(found) if share else 1
    return guesses


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda words, n: copied(words, n, 0), "one-look"),
        (lambda words, n: in_a_loop(words, n, back=2), "two-back"),
        (lambda words, n: in_a_loop(words, n, until="end"), "sees-the-future"),
        (lambda words, n: in_a_loop(words, n, share=False), "not-divided"),
    ],
)
def test_copying_by_two_looks(answer, mistake):
    assert check("induction-by-hand", copied)
    assert check("induction-by-hand", in_a_loop)
    assert check("induction-by-hand", answer).mistake == mistake
