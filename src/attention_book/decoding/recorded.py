"""A decoding step that is recorded once and replayed: CUDA graphs.

A step of a small decoder is some hundred orders from the CPU, and the GPU waits for them. Recorded,
they are one. That needs the same program at every step: a cache of fixed size.
"""

from typing import Any

import torch
from torch import Tensor

from attention_book.foundations.checks import strict
from attention_book.foundations.shapes import StepIds, StepLogits
from attention_book.models.evaluating import evaluating


class RecordedStep:
    """A model's step, recorded on a GPU where it is first made, then replayed; elsewhere computed.

    Every call goes on by one token. The law: as ``step`` of the model itself, up to rounding,
    since the whole memory is compared and its end hidden.

    Args:
        model: A :class:`~attention_book.models.LanguageModel` or a
            :class:`~attention_book.models.Transformer`. Its weights may be changed in place, but
            not be moved.
        state: What it has read, in a cache of fixed size: the state of ``start(…, max_tokens=…)``
            after at least one token. It is used up: what was read stays, and the memory behind
            it is the recorded step's.

    Attributes:
        left: For how many tokens there is room.

    Raises:
        ValueError: if the state has no fixed size, nothing was read, or there is padding.

    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> model = LanguageModel(LanguageConfig.today(vocabulary=10)).eval()
    >>> tokens = torch.tensor([[2, 7, 8, 5]])
    >>> _, state = model.read(tokens[:, :3], model.start(1, max_tokens=8))
    >>> step = RecordedStep(model, state)
    >>> torch.allclose(step(tokens[:, 3]), model(tokens)[:, 3], atol=1e-6), step.left
    (True, 4)
    """

    def __init__(self, model: Any, state: Any) -> None:
        """Record a step at the place where the state stands; the place does not change."""
        layers = getattr(state, "past", state).layers
        self.model, self._state = model, state.on_device()
        self.left = layers[0].max_tokens - layers[0].position
        self._length: Tensor = self._state.position
        self._token = torch.zeros(state.batch_size, dtype=torch.long, device=self._length.device)
        self._graph: torch.cuda.CUDAGraph | None = None
        if self._length.is_cuda:
            self._record()

    def __call__(self, token: StepIds) -> StepLogits:
        """Read one token of each text, and guess the next; the next call overwrites the guess.

        Raises:
            ValueError: if there is no room left, or not one token for each text.
        """
        if not self.left:
            raise ValueError(
                "max_tokens: expected room for one token more, got a cache that is full"
            )
        if token.shape != self._token.shape:
            raise ValueError(
                f"token: expected one for each of {len(self._token)} texts, "
                f"got the shape {tuple(token.shape)}"
            )
        self._token.copy_(token)
        if self._graph is None:
            self._logits = self._step()
        else:
            self._graph.replay()
        self._length += 1
        self.left -= 1
        return self._logits

    def _step(self) -> Tensor:
        with evaluating(self.model), strict(False):  # to check the numbers is to wait for them
            logits: Tensor = self.model.step(self._token, self._state)[0]
        return logits

    def _record(self) -> None:
        """Record the step, after some that let libraries and allocator come to rest.

        They all write the same row, the one that the first real step writes.
        """
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._logits = self._step()


__all__ = ["RecordedStep"]
