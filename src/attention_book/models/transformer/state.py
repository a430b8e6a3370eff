"""The Transformer's cached state: the source, and the target written so far."""

from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor

from attention_book.attention import KVCache
from attention_book.foundations.shapes import Features, StepIds


@dataclass(frozen=True, eq=False)
class TransformerMemory:
    """What the encoder leaves behind for the decoder.

    Attributes:
        encoded: The encoder's output, (batch, source, d_model).
        layers: For each decoder layer, the source's keys and values as its
            cross-attention compares them: projected once, here.
        mask: True at real tokens, (batch, 1, source).

    >>> import torch
    >>> from attention_book.models import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=10, target_vocabulary=12))
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> memory = model.encode(source, source > 0)
    >>> memory.encoded.shape, len(memory.layers), memory.layers[0].keys.shape
    (torch.Size([2, 3, 32]), 2, torch.Size([2, 4, 3, 8]))
    """

    encoded: Features
    layers: tuple[KVCache, ...]
    mask: Bool[Tensor, "batch 1 source"]

    @property
    def batch_size(self) -> int:
        """How many sentences were read."""
        return self.encoded.shape[0]

    def select(self, rows: StepIds) -> "TransformerMemory":
        """Return the sentences with these numbers."""
        return TransformerMemory(
            self.encoded[rows],
            tuple(layer.select(rows) for layer in self.layers),
            self.mask[rows],
        )


@dataclass(frozen=True, eq=False)
class TransformerState:
    """Where the decoder stands: the source, and each layer's keys and values of the past.

    The past is the key-value cache: a token's keys and values are projected when it is
    written, and never again.

    Attributes:
        memory: What was read.
        past: For each decoder layer its keys and values, one for each token written;
            empty before the first.
        position: How many tokens were written: the position of the next one.

    >>> import torch
    >>> from attention_book.models import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=10, target_vocabulary=12)).eval()
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> state = model.start(model.encode(source, source > 0))
    >>> _, state = model.step(torch.tensor([2, 2]), state)
    >>> state.position, state.past[0].num_keys, state.select(torch.tensor([1, 1, 0])).batch_size
    (1, 1, 3)
    """

    memory: TransformerMemory
    past: tuple[KVCache, ...] = ()
    position: int = 0

    @property
    def batch_size(self) -> int:
        """How many sentences are being written."""
        return self.memory.batch_size

    def select(self, rows: StepIds) -> "TransformerState":
        """Return the sentences with these numbers."""
        past = tuple(layer.select(rows) for layer in self.past)
        return TransformerState(self.memory.select(rows), past, self.position)

    def reorder(self, rows: StepIds) -> "TransformerState":
        """Return what :meth:`select` would, if each row comes from one of the same source.

        Only what was written changes places. The source's keys and values, which are longer
        and as many, are not copied.
        """
        past = tuple(layer.select(rows) for layer in self.past)
        return TransformerState(self.memory, past, self.position)
