"""Without attention, the last state is all that the decoder knows of the source."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attention_book.models import Seq2Seq

Build = Callable[..., Seq2Seq]


def test_without_attention_only_the_last_state_counts(
    build: Build, source: Tensor, target: Tensor
) -> None:
    model = build("none")
    memory = model.encode(source, source > 0)
    noise = replace(
        memory, values=torch.randn_like(memory.values), keys=torch.zeros_like(memory.keys)
    )
    assert torch.equal(model.decode(target, noise), model.decode(target, memory))
    with pytest.raises(ValueError, match="no attention"):
        model.weights(source, source > 0, target)
