"""What the tests of the recurrent models share: which looks a word can move."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attention_book.models import Seq2Seq


@pytest.fixture
def moved_steps(source: Tensor, target: Tensor) -> Callable[[Seq2Seq], list[bool]]:
    """A function that tells the steps whose weights change with the word that goes in at step 2."""

    def measure(model: Seq2Seq) -> list[bool]:
        changed = target.clone()
        changed[:, 2] = (changed[:, 2] - 3) % 13 + 4
        before, after = (model.weights(source, source > 0, words) for words in (target, changed))
        steps = zip(before.unbind(dim=1), after.unbind(dim=1), strict=True)
        return [not torch.allclose(*step, atol=1e-12) for step in steps]

    return measure
