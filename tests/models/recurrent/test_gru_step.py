"""One step by hand is one step of torch's GRU."""

import pytest
import torch
from torch import nn

from attention_book.models.recurrent.gru_step import gru_step


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_equals_torchs_gru(num_layers: int) -> None:
    gru = nn.GRU(5, 7, num_layers, batch_first=True).double()
    inputs, hidden = torch.randn(3, 5).double(), torch.randn(num_layers, 3, 7).double()
    output, expected = gru(inputs[:, None], hidden)
    after = gru_step(gru, inputs, list(hidden))
    torch.testing.assert_close(torch.stack(after), expected)
    torch.testing.assert_close(after[-1], output[:, 0])


def test_dropout_acts_between_layers_while_training_only() -> None:
    gru = nn.GRU(5, 7, 2, batch_first=True, dropout=0.5)
    inputs, hidden = torch.randn(64, 5), list(torch.zeros(2, 64, 7))
    first, second = (gru_step(gru, inputs, hidden) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert not torch.equal(first[1], second[1])
    gru.eval()
    assert torch.equal(*(gru_step(gru, inputs, hidden)[1] for _ in range(2)))
