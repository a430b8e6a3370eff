"""Laws of Luong's decoder: the new state asks, and what it finds never enters the GRU."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attention_book.models import Seq2Seq

Build = Callable[..., Seq2Seq]
MovedSteps = Callable[[Seq2Seq], list[bool]]

KINDS = ["luong-dot", "luong-general", "luong-concat"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_new_state_asks(build: Build, moved_steps: MovedSteps, kind: str) -> None:
    """The word that goes in at a step is known to that step's query."""
    assert moved_steps(build(kind)) == [False, False, True, True, True]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_found_never_enters_the_states(
    build: Build, source: Tensor, target: Tensor, kind: str
) -> None:
    model = build(kind)
    memory = model.encode(source, source > 0)
    other = replace(memory, values=torch.randn_like(memory.values))
    before, after = (model.decoder.run(target, model.start(m)) for m in (memory, other))
    assert torch.equal(before.queries, after.queries)
    assert torch.equal(before.hidden, after.hidden)
    assert not torch.isclose(before.features, after.features).all(dim=-1).any()


def test_a_plain_dot_product_needs_keys_as_long_as_the_query(build: Build) -> None:
    with pytest.raises(ValueError, match="use 'luong-general'"):
        build("luong-dot", bidirectional=True)
