"""The encoder: a GRU that reads the source and keeps its state at every token."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_book.models.seq2seq_config import Seq2SeqConfig
from attention_book.shapes import StepIds, TokenIds, TokenMask


@dataclass(frozen=True)
class SourceMemory:
    """What the encoder leaves behind for the decoder.

    Attributes:
        values: The top layer's state at every source token, (batch, source, d_source).
        keys: The values as the score compares them: projected once, here, and
            not at every step of the decoder, (batch, source, d_key).
        mask: True at real tokens, with an axis for the queries, (batch, 1, source).
        final: Every layer's state after the last *real* token, (num_layers, batch, d_hidden).
    """

    values: Float[Tensor, "batch source d_source"]
    keys: Float[Tensor, "batch source d_key"]
    mask: Bool[Tensor, "batch 1 source"]
    final: Float[Tensor, "num_layers batch d_hidden"]

    @property
    def batch_size(self) -> int:
        """How many sentences were read."""
        return len(self.values)

    def select(self, rows: StepIds) -> "SourceMemory":
        """Return the sentences with these numbers."""
        return SourceMemory(
            self.values[rows], self.keys[rows], self.mask[rows], self.final[:, rows]
        )


class RecurrentEncoder(nn.Module):
    """Read a batch of sources of different lengths with a GRU, from one side or from both.

    Padding is never read: a sentence gets the same states whatever it shares a
    batch with. Cho et al. (2014); both directions: Bahdanau et al. (2015), section 3.2.

    Args:
        config: The model's settings.

    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=10, d_hidden=8)
    >>> encoder = RecurrentEncoder(config)
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> values, final = encoder(source, source > 0)
    >>> values.shape, final.shape
    (torch.Size([2, 3, 8]), torch.Size([2, 2, 8]))
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create the embedding, the GRU and, for two directions, the bridge to the decoder."""
        super().__init__()
        self.embedding = nn.Embedding(config.source_vocabulary, config.d_embed)
        self.gru = nn.GRU(
            config.d_embed,
            config.d_hidden,
            config.num_layers,
            batch_first=True,
            dropout=config.dropout if config.num_layers > 1 else 0.0,
            bidirectional=config.bidirectional,
        )
        self.bridge = nn.Linear(config.d_source, config.d_hidden) if config.bidirectional else None

    def forward(
        self, source: TokenIds, source_mask: TokenMask
    ) -> tuple[
        Float[Tensor, "batch token d_source"],
        Float[Tensor, "num_layers batch d_hidden"],
    ]:
        """Return the top layer's states, 0 at padding, and all layers' states at the end.

        Raises:
            ValueError: if the mask has another shape than ``source``, if a source is empty,
                or if a padding token stands before a real one.
        """
        lengths = _lengths(source, source_mask)
        packed = pack_padded_sequence(
            self.embedding(source), lengths, batch_first=True, enforce_sorted=False
        )
        states, final = self.gru(packed)
        values, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        if self.bridge is not None:
            # (layer 1 forwards, layer 1 backwards, layer 2 forwards, ...): join the directions.
            forwards, backwards = final[0::2], final[1::2]
            final = torch.tanh(self.bridge(torch.cat((forwards, backwards), dim=-1)))
        return values, final


def _lengths(source: TokenIds, mask: TokenMask) -> Tensor:
    """Count the real tokens of each source; packing wants the counts on the CPU."""
    if source.shape != mask.shape:
        raise ValueError(
            f"source_mask: expected the shape {tuple(source.shape)} of source, "
            f"got {tuple(mask.shape)}"
        )
    lengths = mask.sum(dim=1)
    if not bool((lengths > 0).all()):
        empty = int((lengths == 0).nonzero()[0])
        raise ValueError(f"source: expected at least one real token, got none in row {empty}")
    if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise ValueError("source_mask: expected the padding after the real tokens")
    return lengths.cpu()
