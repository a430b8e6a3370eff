"""Laws of the two tutorials' decoders: the word that goes in is what asks."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attention_book.models import Seq2Seq

Build = Callable[..., Seq2Seq]
MovedSteps = Callable[[Seq2Seq], list[bool]]


def test_location_attention_never_sees_the_source(build: Build, source: Tensor) -> None:
    model = build("location")
    memory = model.encode(source, source > 0)
    shuffled = replace(memory, values=memory.values.flip(1), keys=memory.keys.flip(1))
    first_word = torch.full((3, 1), 2)
    weights = [
        model.decoder.weights(model.decoder.run(first_word, model.start(m)), m)
        for m in (memory, shuffled)
    ]
    assert torch.equal(*weights)


def test_input_dot_looks_at_the_same_place_for_the_same_word(build: Build, source: Tensor) -> None:
    words = torch.tensor([[5, 9, 5, 9, 5]] * 3)
    weights = build("input-dot").weights(source, source > 0, words)
    torch.testing.assert_close(weights[:, 0], weights[:, 4])
    assert not torch.allclose(weights[:, 0], weights[:, 1])


def test_location_refuses_a_source_that_is_too_long(build: Build, source: Tensor) -> None:
    model = build("location", num_places=6)
    with pytest.raises(ValueError, match=r"at most num_places=6 tokens, <eos> included.*got 7"):
        model(source, source > 0, source)
    short = source[1:]  # 7 columns, but only 5 real tokens
    assert model(short, short > 0, short).isfinite().all()
    weights = model.weights(short, short > 0, short)
    assert weights.shape == (2, 7, 7)
    torch.testing.assert_close(weights[..., :5].sum(dim=-1), torch.ones(2, 7).double())


def test_embeddings_and_states_must_be_equally_long_to_be_compared(build: Build) -> None:
    with pytest.raises(ValueError, match="d_embed=5 and d_source=11"):
        build("input-dot", d_embed=5)


def test_a_word_moves_its_own_dot_and_all_later_places(
    build: Build, moved_steps: MovedSteps
) -> None:
    assert moved_steps(build("input-dot")) == [False, False, True, False, False]
    assert moved_steps(build("location")) == [False, False, True, True, True]
