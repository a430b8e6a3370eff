"""What holds for every decoder that looks at the encoder's states."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attention_book.inspection import capture_attention
from attention_book.models import Seq2Seq

Build = Callable[..., Seq2Seq]


@pytest.mark.parametrize("kind", ["bahdanau", "luong-general", "luong-dot", "input-dot"])
def test_weights_are_those_of_the_run(
    build: Build, source: Tensor, target: Tensor, kind: str
) -> None:
    model = build(kind)
    with capture_attention(model.decoder) as seen:
        model.decode(target, model.encode(source, source > 0))
    captured = torch.cat(seen["attention"], dim=1)
    torch.testing.assert_close(captured, model.weights(source, source > 0, target))


@pytest.mark.parametrize("kind", ["bahdanau", "luong-concat"])
def test_keys_are_projected_once_per_sentence(
    build: Build, source: Tensor, target: Tensor, kind: str
) -> None:
    model, calls = build(kind), []
    projection = model.decoder.attention.score.score.W_k
    projection.register_forward_hook(lambda *_: calls.append(1))
    state = model.start(model.encode(source, source > 0))
    for token in target.T:
        _, state = model.step(token, state)
    assert len(calls) == 1
