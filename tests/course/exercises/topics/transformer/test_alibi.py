import pytest
import torch

from attention_book.course.exercises import check


def alibi(num_heads, n, *, distance=lambda i, j: -abs(i - j), first=1):
    return torch.tensor(
        [
            [[2 ** (-8 * h / num_heads) * distance(i, j) for j in range(n)] for i in range(n)]
            for h in range(first, first + num_heads)
        ]
    )


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda h, n: alibi(h, n, distance=lambda i, j: abs(i - j)), "wrong-sign"),
        (lambda h, n: alibi(h, n, distance=lambda i, j: j - i), "future-favored"),
        (lambda h, n: alibi(h, n, first=0), "slopes-from-one"),
        (lambda h, n: alibi(h, n)[0].repeat(h, 1, 1), "one-slope"),
    ],
)
def test_falling_scores(answer, mistake):
    assert check("alibi-bias", alibi)
    assert check("alibi-bias", answer).mistake == mistake
