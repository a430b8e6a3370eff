import math

import pytest
import torch

from attention_book.course.exercises import check


def table(n, d, *, angle=lambda i, j, d: i / 10000 ** (2 * (j // 2) / d), first=0, swap=False):
    waves = (math.cos, math.sin) if swap else (math.sin, math.cos)
    rows = [[waves[j % 2](angle(i, j, d)) for j in range(d)] for i in range(first, first + n)]
    return torch.tensor(rows)


def halves(n, d):
    whole = table(n, d)
    return torch.cat((whole[:, 0::2], whole[:, 1::2]), dim=1)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (halves, "halves"),
        (lambda n, d: table(n, d, swap=True), "cosine-first"),
        (lambda n, d: table(n, d, angle=lambda i, j, d: i / 10000 ** (j / d)), "wrong-exponent"),
        (
            lambda n, d: table(n, d, angle=lambda i, j, d: i / 10000 ** (j // 2 / d)),
            "wrong-exponent",
        ),
        (lambda n, d: table(n, d, first=1), "from-one"),
        (
            lambda n, d: table(
                n, d, angle=lambda i, j, d: i / 10000 ** (2 * (d // 2 - 1 - j // 2) / d)
            ),
            "slow-first",
        ),
    ],
)
def test_waves(answer, mistake):
    assert check("sinusoids", table)
    assert check("sinusoids", answer).mistake == mistake


def place(x, offset):
    return x + table(len(x) + offset, x.shape[1])[offset:]


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, offset: x + table(len(x), x.shape[1]), "position-zero"),
        (lambda x, offset: x + table(1 + offset, x.shape[1])[offset], "one-place-for-all"),
        (lambda x, offset: place(x, offset + 1), "one-too-far"),
        (lambda x, offset: place(x, offset) - x, "word-lost"),
    ],
)
def test_words_that_come_later(answer, mistake):
    assert check("place-words", place)
    assert check("place-words", answer).mistake == mistake


def test_words_changed_in_place_are_found():
    assert check("place-words", lambda x, offset: x.add_(table(len(x), x.shape[1]))).law == "input"
