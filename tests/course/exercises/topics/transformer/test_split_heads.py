import pytest
import torch

from attention_book.course.exercises import check


def split(x, num_heads):
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack(parts, dim=1)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, h: x.view(x.shape[0], h, x.shape[1], -1), "view-instead-of-swap"),
        (lambda x, h: x.reshape(len(x), x.shape[1], h, -1), "no-swap"),
        (lambda x, h: torch.stack([x[..., i::h] for i in range(h)], 1), "features-dealt-out"),
    ],
)
def test_heads_split_wrongly(answer, mistake):
    assert check("split-heads", split)
    assert check("split-heads", answer).mistake == mistake


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda heads: heads.reshape(len(heads), heads.shape[2], -1), "view-instead-of-swap"),
        (lambda heads: torch.stack(heads.unbind(1), -1).flatten(-2), "features-dealt-out"),
        (lambda heads: sum(heads.unbind(1)), "heads-added"),
    ],
)
def test_heads_merged_wrongly(answer, mistake):
    assert check("merge-heads", lambda heads: torch.cat(heads.unbind(1), dim=-1))
    assert check("merge-heads", answer).mistake == mistake
