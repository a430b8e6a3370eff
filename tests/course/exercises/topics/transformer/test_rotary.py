import pytest
import torch

from attention_book.course.exercises import check


def rotate(x, offset, sign=1):
    d = x.shape[-1]
    i = torch.arange(offset, offset + len(x)).unsqueeze(1)
    turn = torch.polar(torch.ones(()), sign * i / 10000 ** (torch.arange(0, d, 2) / d))
    pairs = torch.view_as_complex(x.reshape(len(x), d // 2, 2))
    return torch.view_as_real(pairs * turn).flatten(1)


def by_halves(x, offset):
    order = torch.arange(x.shape[1]).view(2, -1).T.flatten()
    return rotate(x[:, order], offset)[:, order.argsort()]


def mixed(x, offset):
    d = x.shape[-1]
    i = torch.arange(offset, offset + len(x)).unsqueeze(1)
    angle = i / 10000 ** (torch.arange(d) // 2 * 2 / d)
    return x * angle.cos() + x.roll(d // 2, -1) * angle.sin() * torch.tensor(
        [-1.0] * (d // 2) + [1.0] * (d // 2)
    )


def no_minus(x, offset):
    return torch.stack(
        (rotate(x, offset, -1)[:, 0::2], rotate(x, offset)[:, 1::2]), dim=-1
    ).flatten(1)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (by_halves, "pairs-of-halves"),
        (mixed, "mixed-pairs"),
        (lambda x, offset: rotate(x, offset, -1), "backwards"),
        (no_minus, "minus-lost"),
        (lambda x, offset: rotate(x, 0), "position-zero"),
    ],
)
def test_rotations(answer, mistake):
    assert check("rotary", rotate)
    assert check("rotary", answer).mistake == mistake


def test_a_stretched_vector_breaks_a_law():
    assert check("rotary", lambda x, offset: 2 * rotate(x, offset)).law == "lengths-stay"


def attend(queries, keys, values, *, turn="qk"):
    q, k, v = (
        rotate(x, 0) if name in turn else x
        for name, x in zip("qkv", (queries, keys, values), strict=True)
    )
    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v


@pytest.mark.parametrize(
    ("turn", "mistake"),
    [("qkv", "values-rotated"), ("q", "one-side"), ("k", "one-side"), ("", "no-positions")],
)
def test_what_is_turned(turn, mistake):
    assert check("rotary-attention", attend)
    answer = check("rotary-attention", lambda q, k, v: attend(q, k, v, turn=turn))
    assert answer.mistake == mistake
