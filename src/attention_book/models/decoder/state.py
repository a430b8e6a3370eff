"""The state of a decoder-only model: what it has read, and which of it is padding."""

from dataclasses import dataclass

from attention_book.foundations.shapes import StepIds, TokenMask
from attention_book.models.language.state import LanguageState


@dataclass(frozen=True, eq=False)
class DecoderLanguageState(LanguageState):
    """Where a decoder-only model stands: each layer's keys and values of what it read.

    Attributes:
        batch_size: How many texts are being written.
        past: One key and one value of each token, for each layer; empty at the start.
        real: Which tokens of the past are no padding, (batch, token); None: all. Padding is
            read first, so that each text's last token stands last.

    >>> import torch
    >>> from attention_book.models import DecoderConfig, DecoderLanguageModel
    >>> model = DecoderLanguageModel(DecoderConfig(vocabulary=10)).eval()
    >>> tokens = torch.tensor([[0, 2, 7], [2, 5, 6]])
    >>> _, state = model.read(tokens, model.start(2), real=tokens > 0)
    >>> state.position, state.select(torch.tensor([1])).real
    (3, tensor([[True, True, True]]))
    """

    real: TokenMask | None = None

    def select(self, rows: StepIds) -> "DecoderLanguageState":
        """Return the texts with these numbers."""
        past = tuple(layer.select(rows) for layer in self.past)
        real = None if self.real is None else self.real[rows]
        return DecoderLanguageState(len(rows), past, real)
