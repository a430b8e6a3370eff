"""What a Transformer has read and written: one class for its memory and its state."""

from dataclasses import dataclass, replace

from jaxtyping import Bool
from torch import Tensor

from attention_book.attention import KV, Cache
from attention_book.foundations.shapes import Features, StepIds


@dataclass(frozen=True, eq=False)
class TransformerState:
    """What the encoder leaves behind for the decoder, and what that has written of it so far.

    A token's keys and values are projected when it is read or written, and never again.

    Attributes:
        encoded: The encoder's output, (batch, source, d_model).
        sources: The same as each decoder layer's cross-attention compares it: projected once.
        mask: True at the source's real tokens, (batch, 1, source).
        past: What was written, a key and a value of each token for each layer; None before
            :meth:`~attention_book.models.Transformer.start`.

    >>> import torch
    >>> from attention_book.models import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=10, target_vocabulary=12)).eval()
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> memory = model.encode(source, source > 0)
    >>> memory.encoded.shape, len(memory.sources), memory.sources[0].keys.shape
    (torch.Size([2, 3, 32]), 2, torch.Size([2, 4, 3, 8]))
    >>> _, state = model.step(torch.tensor([2, 2]), model.start(memory))
    >>> state.position, state.past.layers[0].num_keys
    (1, 1)
    >>> state.select(torch.tensor([1, 1, 0])).batch_size
    3
    """

    encoded: Features
    sources: tuple[KV, ...]
    mask: Bool[Tensor, "batch 1 source"]
    past: Cache | None = None

    @property
    def batch_size(self) -> int:
        """How many sentences there are."""
        return self.encoded.shape[0]

    @property
    def position(self) -> int:
        """How many tokens were written, and so where the next one stands."""
        return 0 if self.past is None else self.past.position

    def select(self, rows: StepIds) -> "TransformerState":
        """Return the sentences with these numbers; one may come twice."""
        sources = tuple(source.select(rows) for source in self.sources)
        past = None if self.past is None else self.past.select(rows)
        return TransformerState(self.encoded[rows], sources, self.mask[rows], past)

    def reorder(self, rows: StepIds) -> "TransformerState":
        """Return what :meth:`select` would, if each row comes from one of the same source.

        Only what was written changes places. The source's keys and values, which are longer
        and as many, are not copied.
        """
        return replace(self, past=None if self.past is None else self.past.select(rows))
