"""What sampling knows of a model: where to start, and how to go on by one token."""

from typing import Protocol, runtime_checkable

from attention_book.models.translator import State
from attention_book.shapes import StepIds, StepLogits


@runtime_checkable
class Writer(Protocol[State]):
    """A model that reads a text token by token, and says at each what may follow.

    >>> from attention_book.models import CausalLanguageModel, LanguageModelConfig, NgramModel
    >>> isinstance(CausalLanguageModel(LanguageModelConfig(vocabulary=10)), Writer)
    True
    >>> isinstance(NgramModel.count([[4, 5]], order=2, vocabulary=10), Writer)
    True
    """

    def start(self, batch_size: int) -> State:
        """Return the state with nothing read."""
        ...

    def step(self, token: StepIds, state: State) -> tuple[StepLogits, State]:
        """Read one token of each text, and guess the next; ``state`` is left as it was."""
        ...
