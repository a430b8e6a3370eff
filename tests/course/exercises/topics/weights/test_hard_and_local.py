import math

import pytest
import torch

from attention_book.course.exercises import check


def local(scores, center, radius, *, sigma=0.5, power=2, again=False, everywhere=False):
    weights = []
    places = range(len(scores))
    near = [j for j in places if everywhere or abs(j - center) <= radius]
    total = sum(math.exp(scores[j]) for j in near)
    for j in places:
        gauss = math.exp(-((j - center) ** 2) / (2 * (sigma * radius) ** power))
        weights.append(math.exp(scores[j]) / total * gauss if j in near else 0.0)
    found = torch.tensor(weights)
    return found / found.sum() if again else found


def inside(scores, center, radius):
    distances = (torch.arange(len(scores)) - center).abs()
    bent = scores - 2 * (distances / radius) ** 2
    return bent.masked_fill(distances > radius, -torch.inf).softmax(0)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda *given: local(*given, sigma=1.0), "sigma-is-radius"),
        (lambda *given: local(*given, power=1), "sigma-not-squared"),
        (lambda *given: local(*given, again=True), "normalized-again"),
        (inside, "normalized-again"),
        (lambda *given: local(*given, everywhere=True), "no-window"),
    ],
)
def test_local_gaussian(answer, mistake):
    def right(scores, center, radius):
        return local(scores, center, radius)

    def wrong(scores, center, radius):
        return answer(scores, center, radius)

    assert check("local-gaussian", right)
    assert check("local-gaussian", wrong).mistake == mistake


def surrogate(log_probs, losses, baseline):
    terms = [(loss.item() - baseline) * p for loss, p in zip(losses, log_probs, strict=True)]
    return sum(terms) / len(terms)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda p, loss, b: (-(loss.detach() - b) * p).mean(), "uphill"),
        (lambda p, loss, b: ((b - loss.detach()) * p).mean(), "uphill"),
        (lambda p, loss, b: ((loss.detach() - b) * torch.exp(p)).mean(), "probabilities"),
        (lambda p, loss, b: ((loss.detach() + b) * p).mean(), "baseline-added"),
        (lambda p, loss, b: (loss.detach() * p - b).mean(), "baseline-outside"),
        (lambda p, loss, b: (loss.detach() - b) @ p, "sum"),
    ],
)
def test_reinforce(answer, mistake):
    assert check("reinforce", surrogate)
    assert check("reinforce", answer).mistake == mistake


def test_losses_are_constants():
    assert check("reinforce", lambda p, loss, b: ((loss - b) * p).mean()).law == (
        "losses-are-constants"
    )
