"""Protocols: the four calls through which training and decoding use any translator."""

from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor

from attention_book.foundations.fitting import Fitting
from attention_book.foundations.shapes import (
    Logits,
    SourceIds,
    SourceMask,
    StepIds,
    StepLogits,
    TargetIds,
    TokenIds,
)

Selected = TypeVar("Selected")


@runtime_checkable
class Selectable(Protocol):
    """Something with one entry for each sentence of a batch, whose entries can be picked."""

    @property
    def batch_size(self) -> int:
        """How many sentences it holds."""
        ...

    def select(self: Selected, rows: StepIds) -> Selected:
        """Return the entries with these numbers; a number may come twice.

        Beam search drops and doubles candidates with it.
        """
        ...


@runtime_checkable
class Reorderable(Selectable, Protocol):
    """Something whose entries can also change places among those of the same source."""

    def reorder(self: Selected, rows: StepIds) -> Selected:
        """Return what :meth:`select` would, where each entry is replaced by one of its own source.

        As many entries as before, and entry i is as before or comes from another beginning
        of the same translation. What is known of the sources stays where it is.
        """
        ...


Memory = TypeVar("Memory", bound=Selectable)
State = TypeVar("State", bound=Selectable)


@runtime_checkable
class Translator(Protocol[Memory, State]):
    """A model that reads a source sentence and writes a target sentence.

    The law of every translator: feeding a target word by word through
    :meth:`step` gives the logits that :meth:`decode` gives for the whole target
    at once.
    """

    def encode(self, source: SourceIds, source_mask: SourceMask) -> Memory:
        """Read the sources; everything that decoding needs of them is computed here, once."""
        ...

    def decode(self, target_input: TargetIds, memory: Memory) -> Logits:
        """Predict every next word of a known target ("teacher forcing")."""
        ...

    def start(self, memory: Memory) -> State:
        """Return the state before the first word."""
        ...

    def step(self, token: StepIds, state: State) -> tuple[StepLogits, State]:
        """Take one word of each sentence and predict the next; ``state`` is left as it was."""
        ...


def check_one_each(token: StepIds, batch_size: int) -> None:
    """Check that a step got one token for each text.

    >>> import torch
    >>> check_one_each(torch.tensor([4, 5]), batch_size=2)

    Raises:
        TypeError: if they are no tensor.
        ValueError: if there are not as many tokens as texts.
    """
    if not isinstance(token, Tensor):
        raise TypeError(f"token: expected a tensor of integers, got {type(token).__name__}")
    if token.shape != (batch_size,):
        raise ValueError(
            f"token: expected one for each of {batch_size} texts, "
            f"got the shape {tuple(token.shape)}"
        )


@runtime_checkable
class Writer(Protocol[State], metaclass=Fitting):
    """A model that reads a text token by token, and says at each what may follow.

    >>> from attention_book.models import LanguageModel, LanguageConfig, NgramModel
    >>> isinstance(LanguageModel(LanguageConfig(vocabulary=10)), Writer)
    True
    >>> isinstance(NgramModel.count([[4, 5]], order=2, vocabulary=10), Writer)
    True

    A translator has a ``start`` and a ``step`` too, but starts from a source that it has read:

    >>> from attention_book.models import Transformer, TransformerConfig
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=10)
    >>> isinstance(Transformer(config), Writer)
    False
    """

    def start(self, batch_size: int) -> State:
        """Return the state with nothing read."""
        ...

    def step(self, token: StepIds, state: State) -> tuple[StepLogits, State]:
        """Read one token of each text, and guess the next; ``state`` is left as it was."""
        ...


@runtime_checkable
class Reader(Writer[State], Protocol[State]):
    """A writer that reads several tokens at once; the law: as step by step.

    >>> from attention_book.models import LanguageModel, LanguageConfig, NgramModel
    >>> isinstance(LanguageModel(LanguageConfig(vocabulary=10)), Reader)
    True
    >>> isinstance(NgramModel.count([[4, 5]], order=2, vocabulary=10), Reader)
    False
    """

    def read(self, tokens: TokenIds, state: State) -> tuple[Logits, State]:
        """Read some tokens of each text, and guess after each; ``state`` is left as it was."""
        ...
