"""The recurrent encoder (GRU; bidirectional as in Bahdanau et al. 2015): a state at every token."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book.foundations.shapes import SourceIds, SourceMask, StepIds
from attention_book.models.parts import TokenEmbedding
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.sources import check_source, reading_places


@dataclass(frozen=True, eq=False)
class SourceMemory:
    """What the encoder leaves behind for the decoder.

    Attributes:
        values: The top layer's state at every source token, (batch, source, d_source).
        keys: The values as the score compares them, (batch, source, d_key). They are
            projected once, when the source is read, and not at every step of the decoder.
        mask: True at real tokens, with an axis for the queries, (batch, 1, source).
        final: Every layer's state after the last *real* token, (num_layers, batch, d_hidden).

    >>> from attention_book.models import Seq2Seq
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, d_hidden=8))
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> memory = model.encode(source, source > 0)
    >>> memory.values.shape, memory.mask[1, 0].tolist()
    (torch.Size([2, 3, 8]), [True, True, False])
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

    Padding is never read, on whichever side it stands, so a sentence gets the same states
    whatever it shares a batch with. Cho et al. (2014); both directions: Bahdanau et al.
    (2015), section 3.2.

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
        """Create the embedding and, layer by layer, one GRU for each direction."""
        super().__init__()
        self.embedding = TokenEmbedding(config.source_vocabulary, config.d_embed, name="source")
        sizes = [config.d_embed] + [config.d_source] * (config.num_layers - 1)
        self.forwards = _layers(sizes, config.d_hidden)
        self.backwards = _layers(sizes, config.d_hidden) if config.bidirectional else None
        # Joins the two directions' last states to one that the decoder can start from.
        self.bridge = nn.Linear(config.d_source, config.d_hidden) if config.bidirectional else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, source: SourceIds, source_mask: SourceMask
    ) -> tuple[
        Float[Tensor, "batch source d_source"],
        Float[Tensor, "num_layers batch d_hidden"],
    ]:
        """Return the top layer's state at every token, and every layer's state at the end.

        The states at padding mean nothing; the mask hides them from the decoder.

        Raises:
            ValueError: if the mask has another shape than ``source``, or, in strict mode, if a
                source is empty.
        """
        check_source(source, source_mask)
        lengths, places = source_mask.sum(dim=1), reading_places(source_mask)
        reverse = _reversal(lengths, source.shape[1]) if self.backwards is not None else None
        states, finals = self.embedding(source.scatter(1, places, source)), []
        for layer, gru in enumerate(self.forwards):
            states = states if layer == 0 else self.dropout(states)
            below = states
            states, final = _read(gru, below, lengths)
            if self.backwards is not None and self.bridge is not None and reverse is not None:
                backwards, backwards_final = _read(
                    self.backwards[layer], _take(below, reverse), lengths
                )
                states = torch.cat((states, _take(backwards, reverse)), dim=-1)
                final = torch.tanh(self.bridge(torch.cat((final, backwards_final), dim=-1)))
            finals.append(final)
        return _take(states, places), torch.stack(finals)


def _layers(sizes: list[int], d_hidden: int) -> nn.ModuleList:
    return nn.ModuleList(nn.GRU(size, d_hidden, batch_first=True) for size in sizes)


def _read(gru: nn.Module, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return a layer's states, and the one after each sentence's last real token.

    In the reading order the padding comes last, when the GRU has read every real token.
    """
    states, _ = gru(inputs)
    rows = torch.arange(len(states), device=states.device)
    return states, states[rows, lengths - 1]


def _reversal(lengths: Tensor, num_tokens: int) -> Tensor:
    """Return where each token comes from when the real ones are read from right to left."""
    places = torch.arange(num_tokens, device=lengths.device)
    mirrored = lengths[:, None] - 1 - places
    return torch.where(mirrored >= 0, mirrored, places)


def _take(states: Tensor, order: Tensor) -> Tensor:
    """Reorder the states of each sentence, each by its own order."""
    return states.gather(1, order[:, :, None].expand_as(states))
