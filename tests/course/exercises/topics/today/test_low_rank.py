import pytest
import torch

from attention_book.course.exercises import check


def joined(W, A, B, alpha, *, scale=None):
    return torch.addmm(W, B, A, alpha=alpha / A.shape[0] if scale is None else scale)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda W, A, B, a: joined(W, A, B, a, scale=a), "not-divided-by-rank"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=1), "no-scale"),
        (lambda W, A, B, a: joined(W, A, B, a) - W, "matrix-lost"),
        (lambda W, A, B, a: joined(W, A, B, a, scale=a / W.shape[0]), "divided-by-size"),
    ],
)
def test_changes(answer, mistake):
    assert check("lora-merged", joined)
    assert check("lora-merged", answer).mistake == mistake


def test_a_change_that_fits_by_chance_is_found_where_the_matrix_is_square():
    def turned(W, A, B, alpha):
        change = (B @ A).mT if W.shape[0] == W.shape[1] else B @ A * 0
        return W + alpha / A.shape[0] * change

    assert check("lora-merged", turned).mistake == "transposed"
