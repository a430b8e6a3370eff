"""The decoder's state between two words, and the result of a run over several words."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attention_book.foundations.shapes import StepIds
from attention_book.models.recurrent.encoder import SourceMemory

Hidden = Float[Tensor, "num_layers batch d_hidden"]
Features = Float[Tensor, "batch target d_hidden"]


@dataclass(frozen=True, eq=False)
class DecoderState:
    """Where a decoder stands: what was read, and every layer's state.

    >>> import torch
    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12))
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> state = model.start(model.encode(source, source > 0))
    >>> state.batch_size, state.select(torch.tensor([1, 1, 0])).batch_size
    (2, 3)
    """

    memory: SourceMemory
    hidden: Hidden

    @property
    def batch_size(self) -> int:
        """How many sentences are being written."""
        return self.hidden.shape[1]

    def select(self, rows: StepIds) -> "DecoderState":
        """Return the sentences with these numbers."""
        return DecoderState(self.memory.select(rows), self.hidden[:, rows])

    def reorder(self, rows: StepIds) -> "DecoderState":
        """Return what :meth:`select` would, if each row comes from one of the same source.

        The memory of the source is not copied.
        """
        return DecoderState(self.memory, self.hidden[:, rows])


@dataclass(frozen=True, eq=False)
class Run:
    """What a decoder computed for some target tokens in a row.

    Attributes:
        features: What the next words are read off, (batch, token, d_hidden).
        hidden: Every layer's state afterwards.
        queries: What the source was asked with, one query for each token.
        previous: The top layer's state before each token (for "location").
    """

    features: Features
    hidden: Hidden
    queries: Float[Tensor, "batch target d_query"]
    previous: Features | None = None
