"""Wrong ways to broadcast, to multiply by a weight matrix and to look words up."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.course.exercises import check


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda a, b: a.expand(len(b), len(a)) - b.unsqueeze(1), "transposed"),
        (lambda a, b: torch.stack([b - each for each in a]), "sign"),
    ],
)
def test_broadcast(answer, mistake):
    assert check("broadcast", lambda a, b: torch.stack([each - b for each in a]))
    assert check("broadcast", answer).mistake == mistake


def test_broadcast_without_a_new_axis():
    verdict = check("broadcast", torch.sub)
    assert not verdict
    assert verdict.mistake == "no-new-axis"


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda x, W, b: torch.einsum("...i,io->...o", x, W) + b, "not-transposed"),
        (lambda x, W, b: F.linear(x, W), "no-bias"),
        (lambda x, W, b: nn.Tanh()(F.linear(x, W, b)), "activation"),
    ],
)
def test_linear_layer(answer, mistake):
    assert check("linear-layer", F.linear)
    assert check("linear-layer", answer).mistake == mistake


def first_rows(tokens, table):
    return table[torch.arange(tokens.shape[-1])].expand(*tokens.shape, -1)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda tokens, table: F.embedding(tokens, table).sum(dim=-2), "added-up"),
        (
            lambda tokens, table: table[torch.arange(tokens.shape[-1])].expand(*tokens.shape, -1),
            "first-rows",
        ),
        (
            lambda tokens, table: table.index_select(1, tokens.flatten()).reshape(
                len(table), *tokens.shape
            ),
            "columns",
        ),
    ],
)
def test_embedding(answer, mistake):
    assert check("embedding", lambda tokens, table: F.one_hot(tokens, len(table)).float() @ table)
    assert check("embedding", answer).mistake == mistake
