"""Laws of Bahdanau's decoder: the previous state asks, and what it finds enters the GRU."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attention_book.models import Seq2Seq

Build = Callable[..., Seq2Seq]
MovedSteps = Callable[[Seq2Seq], list[bool]]


def test_the_previous_state_asks(build: Build, moved_steps: MovedSteps) -> None:
    """The word that goes in at a step is not known to that step's query, only to later ones."""
    assert moved_steps(build("bahdanau")) == [False, False, False, True, True]


def test_the_first_query_is_where_the_encoder_ended(
    build: Build, source: Tensor, target: Tensor
) -> None:
    model = build("bahdanau")
    memory = model.encode(source, source > 0)
    run = model.decoder.run(target, model.start(memory))
    assert torch.equal(run.queries[:, 0], memory.final[-1])
    assert torch.equal(run.queries[:, 1:], run.features[:, :-1])


def test_what_was_found_enters_the_states(build: Build, source: Tensor, target: Tensor) -> None:
    model = build("bahdanau")
    memory = model.encode(source, source > 0)
    other = replace(memory, values=torch.randn_like(memory.values))
    before, after = (model.decoder.run(target, model.start(m)) for m in (memory, other))
    assert torch.equal(before.queries[:, 0], after.queries[:, 0])
    assert not torch.isclose(before.features, after.features).all(dim=-1).any()
