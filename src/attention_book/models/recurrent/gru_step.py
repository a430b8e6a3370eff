"""One time step of a GRU with several layers."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def gru_step(gru: nn.GRU, inputs: Tensor, hidden: list[Tensor]) -> list[Tensor]:
    """Take one step of ``gru``: the same numbers as ``gru(inputs[:, None], ...)``, sooner.

    A decoder that looks at the source between two steps can't hand the GRU a whole
    sentence, and calling it for one step at a time costs more than the step itself.

    Args:
        gru: A GRU that reads in one direction.
        inputs: What goes in, (batch, d_input).
        hidden: Each layer's state before, (batch, d_hidden) each.

    Returns:
        Each layer's state afterwards; the last is the GRU's output.
    """
    after = []
    for layer, (weights, state) in enumerate(zip(gru.all_weights, hidden, strict=True)):
        if layer > 0:
            inputs = F.dropout(inputs, gru.dropout, gru.training)
        inputs = torch.gru_cell(inputs, state, *weights)
        after.append(inputs)
    return after
