import pytest
import torch

from attention_book.course.exercises import check


def by_hand(probabilities, p):
    total, kept = 0.0, torch.zeros_like(probabilities)
    for index in probabilities.argsort(descending=True, stable=True).tolist():
        if total >= p:
            break
        total += float(probabilities[index])
        kept[index] = probabilities[index]
    return kept / kept.sum()


def test_other_right_answers_pass():
    assert check("top-p", by_hand)
    assert check("prefix-mask", rows_and_columns)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, p: scattered(x, lambda sums, values: sums <= p), "crossing-dropped"),
        (lambda x, p: scattered(x, lambda sums, values: sums < p), "crossing-dropped"),
        (lambda x, p: by_hand(x, p) * sum_kept(x, p), "not-renormalized"),
        (lambda x, p: unsorted(x, p), "unsorted"),
        (lambda x, p: by_hand(x, p).sort(descending=True)[0], "left-sorted"),
        (lambda x, p: (x * (x >= p)) / (x * (x >= p)).sum(), "single-words"),
        (lambda x, p: (x * (x > 1 - p)) / (x * (x > 1 - p)).sum(), "single-words"),
    ],
)
def test_a_wrong_nucleus_gets_its_hint(answer, mistake):
    verdict = check("top-p", answer)
    assert not verdict
    assert verdict.mistake == mistake


def scattered(x, rule):
    values, order = torch.sort(x, descending=True)
    kept = values * rule(values.cumsum(0), values)
    out = torch.zeros_like(x)
    out[order] = kept / kept.sum()
    return out


def sum_kept(x, p):
    return x[by_hand(x, p) > 0].sum()


def unsorted(x, p):
    kept = torch.where(x.cumsum(0) - x < p, x, torch.zeros(()))
    return kept / kept.sum()


def rows_and_columns(lengths, n):
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (j <= i) | (j < lengths[:, None, None])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda k, n: torch.ones(len(k), n, n).tril().bool(), "causal-only"),
        (
            lambda k, n: (torch.arange(n)[:, None] < k[:, None, None]) | rows_and_columns(k * 0, n),
            "prefix-sees-all",
        ),
        (
            lambda k, n: (torch.arange(n) < k[:, None, None]) & rows_and_columns(k * 0, n),
            "and-instead-of-or",
        ),
        (lambda k, n: (torch.arange(n) < k[:, None, None]).repeat(1, n, 1), "prefix-only"),
        (
            lambda k, n: (torch.arange(n) <= k[:, None, None]) | rows_and_columns(k * 0, n),
            "one-too-many",
        ),
        (lambda k, n: rows_and_columns(k[0].expand(len(k)), n), "one-length-for-all"),
    ],
)
def test_a_wrong_prefix_mask_gets_its_hint(answer, mistake):
    verdict = check("prefix-mask", answer)
    assert not verdict
    assert verdict.mistake == mistake
