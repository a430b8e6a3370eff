"""A language model as a translator, from a prompt to what follows it: so that beams can search."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from attention_book.decoding.prediction import end_ids, special_ids
from attention_book.decoding.sampling import check_prompt, read_prompt
from attention_book.foundations.shapes import (
    Logits,
    SourceIds,
    SourceMask,
    StepIds,
    StepLogits,
    TargetIds,
)


@dataclass(frozen=True, eq=False)
class PromptState:
    """Prompts that have been read, and the guess at what follows; nothing is written yet.

    Attributes:
        logits: The guess, (batch, vocabulary).
        read: The model's state.
    """

    logits: StepLogits
    read: Any

    @property
    def batch_size(self) -> int:
        """How many texts there are."""
        return len(self.logits)

    def select(self, rows: StepIds) -> "PromptState":
        """Return the texts with these numbers."""
        return PromptState(self.logits[rows], self.read.select(rows))


class Continuation(nn.Module):
    """A language model as a translator from a prompt to what follows it.

    Args:
        model: A language model, or counted n-grams.

    >>> from attention_book.decoding import beam_search
    >>> from attention_book.models import NgramModel
    >>> model = Continuation(NgramModel.count([[4, 5, 6]], order=3, vocabulary=7))
    >>> prompt = torch.tensor([[2, 4]])
    >>> beam_search(model, prompt, prompt > 0, width=2, max_tokens=5)[0][0].ids
    (5, 6)
    """

    def __init__(self, model: Any) -> None:
        """Keep the language model; its special tokens are this one's."""
        super().__init__()
        self.model = model
        ids = special_ids(model)
        self.pad, self.bos, self.eos = ids.pad, ids.bos, ids.eos
        self.ends = end_ids(model)

    def encode(self, source: SourceIds, source_mask: SourceMask) -> PromptState:
        """Read prompts, all of one length.

        Raises:
            ValueError: if there is padding, or a prompt that is none.
        """
        if not bool(source_mask.all()):
            raise ValueError("source_mask: expected prompts of one length, got padding")
        check_prompt(source, self.model)
        return PromptState(*read_prompt(self.model, source))

    def decode(self, target_input: TargetIds, memory: PromptState) -> Logits:
        """Guess after every token of what follows the prompts."""
        state: Any = self.start(memory)
        guesses = []
        for token in target_input.T:
            logits, state = self.step(token, state)
            guesses.append(logits)
        return torch.stack(guesses, dim=1)

    def start(self, memory: PromptState) -> PromptState:
        """Return the state before the first token."""
        return memory

    def step(self, token: StepIds, state: Any) -> tuple[StepLogits, Any]:
        """Guess what follows the prompts, whatever the first token is; then read, and guess."""
        if isinstance(state, PromptState):
            return state.logits, state.read
        found: tuple[StepLogits, Any] = self.model.step(token, state)
        return found


__all__ = ["Continuation"]
