import pytest
import torch

from attention_book.course.exercises import check


def full(num_keys):
    return torch.ones(num_keys, num_keys, dtype=torch.bool).tril()


def test_the_last_rows_of_the_full_mask_are_right():
    assert check("causal-with-cache", lambda num_queries, num_keys: full(num_keys)[-num_queries:])


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda m, n: full(n)[:m], "from-position-zero"),
        (lambda m, n: ~full(n)[-m:], "future"),
        (lambda m, n: full(n).triu(1)[-m:] | ~full(n)[-m:], "future"),
        (lambda m, n: full(n).tril(-1)[-m:], "without-itself"),
        (lambda m, n: torch.ones(m, n) > 0, "everything"),
    ],
)
def test_a_wrong_answer_gets_its_hint(answer, mistake):
    assert check("causal-with-cache", answer).mistake == mistake


def test_a_mask_is_boolean():
    assert check("causal-with-cache", lambda m, n: full(n)[-m:].float()).law == "dtype"
