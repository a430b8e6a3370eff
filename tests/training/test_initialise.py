"""Xavier's ranges, and what is left alone."""

import math

import pytest
import torch
from torch import nn

from attention_book.training import xavier_


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(13, 31)
        self.gru = nn.GRU(31, 29, num_layers=2, bidirectional=True)
        self.inner = nn.Sequential(nn.GRUCell(58, 23), nn.Linear(23, 37), nn.LayerNorm(37))


def test_matrices_fill_their_range_and_the_rest_is_left_alone() -> None:
    model = Everything()
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    xavier_(model)
    drawn = 0
    for name, value in model.named_parameters():
        if value.ndim < 2 or name.startswith("embedding"):
            assert torch.equal(value, before[name]), name
            continue
        drawn += 1
        bound = math.sqrt(6 / sum(value.shape))
        assert value.abs().max() <= bound, name
        assert value.abs().max() > 0.97 * bound, name
        assert value.var().item() == pytest.approx(bound**2 / 3, rel=0.15), name
        assert value.requires_grad
    assert drawn == 8 + 2 + 1


def test_the_model_itself_comes_back_and_the_seed_decides() -> None:
    model = nn.Linear(3, 5)
    torch.manual_seed(3)
    assert xavier_(model) is model
    first = model.weight.detach().clone()
    torch.manual_seed(3)
    assert torch.equal(xavier_(model).weight, first)
    assert not torch.equal(xavier_(model).weight, first)
