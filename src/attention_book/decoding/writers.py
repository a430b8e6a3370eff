"""What a text can be written with: a model that reads step by step, or any function of a text."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.decoding.prediction import end_ids, special_ids
from attention_book.foundations.shapes import Logits, StepIds, StepLogits, TokenIds
from attention_book.models.protocols import Writer

#: Returns a guess at what follows each token of some texts.
Guess = Callable[[TokenIds], Logits]

_EXPECTED = (
    "model: expected a language model, with start(batch_size) and step(token, state), or a "
    "function of token numbers (batch, token) that returns logits (batch, token, vocabulary)"
)


@dataclass(frozen=True, eq=False)
class GuessState:
    """What was read of each text, all of it.

    >>> GuessState(torch.tensor([[2, 4], [2, 5]])).select(torch.tensor([1])).text
    tensor([[2, 5]])
    """

    text: TokenIds

    @property
    def batch_size(self) -> int:
        """How many texts there are."""
        return len(self.text)

    def select(self, rows: StepIds) -> "GuessState":
        """Return the texts with these numbers."""
        return GuessState(self.text[rows])


class GuessWriter(nn.Module):
    """A function of whole texts as a :class:`~attention_book.models.Writer`: it reads all anew.

    >>> writer = GuessWriter(lambda tokens: torch.zeros(*tokens.shape, 5))
    >>> logits, state = writer.step(torch.tensor([2]), writer.start(1))
    >>> logits.shape, writer.step(torch.tensor([4]), state)[1].text
    (torch.Size([1, 5]), tensor([[2, 4]]))
    """

    def __init__(self, guess: Guess) -> None:
        """Keep the function; a module among them is put into evaluation mode with this one."""
        super().__init__()
        self.guess = guess
        self.pad, self.bos, self.eos = vars(special_ids(guess)).values()
        self.ends = end_ids(guess)

    def start(self, batch_size: int) -> GuessState:
        """Return the state with nothing read."""
        return GuessState(torch.empty(batch_size, 0, dtype=torch.long))

    def step(self, token: StepIds, state: GuessState) -> tuple[StepLogits, GuessState]:
        """Read one token of each text, and guess the next."""
        logits, read = self.read(token[:, None], state)
        return logits[:, -1], read

    def read(self, tokens: TokenIds, state: GuessState) -> tuple[Logits, GuessState]:
        """Read some tokens of each text, and guess after each.

        Raises:
            TypeError: if the function returns no logits.
            ValueError: if their shape is another.
        """
        text = torch.cat((state.text.to(tokens), tokens), dim=1)
        answer: Any = self.guess(text)
        logits = getattr(answer, "logits", answer)
        if not isinstance(logits, Tensor) or not logits.is_floating_point():
            got = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
            raise TypeError(f"{_EXPECTED}, got one that returns {got}")
        if logits.ndim != 3 or logits.shape[:2] != text.shape:
            raise ValueError(
                f"model: expected logits (batch, token, vocabulary) for {tuple(text.shape)} "
                f"tokens, got the shape {tuple(logits.shape)}"
            )
        return logits[:, -tokens.shape[1] :], GuessState(text)


def as_writer(model: Any) -> Writer[Any]:
    """Return the model itself, or a function of texts as a writer.

    Raises:
        TypeError: if it is neither.

    >>> as_writer(lambda tokens: torch.zeros(*tokens.shape, 5)).start(2).batch_size
    2
    """
    if isinstance(model, Writer):
        return model
    translates = hasattr(model, "encode") and hasattr(model, "step")
    if isinstance(model, type) or translates or not callable(model):
        got = model.__name__ if isinstance(model, type) else type(model).__name__
        cure = "; a translator writes by greedy_search or beam_search" if translates else ""
        raise TypeError(f"{_EXPECTED}, got {got}{cure}")
    return GuessWriter(model)
