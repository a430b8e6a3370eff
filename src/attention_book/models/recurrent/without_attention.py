"""The decoder without attention (Cho et al. 2014): one fixed context for the whole sentence."""

import torch

from attention_book.foundations.shapes import TargetIds
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.decoder import RecurrentDecoder
from attention_book.models.recurrent.state import DecoderState, Run


class FixedContextDecoder(RecurrentDecoder):
    """The decoder without attention: all it knows of the source is the encoder's last state.

    .. math:: s_t = \\operatorname{GRU}([C; y_{t-1}], s_{t-1}), \\qquad C = h_n

    Cho et al. (2014), equations 6 and 7.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="none")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'FixedContextDecoder'
    >>> from dataclasses import replace
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7]])
    >>> memory = model.encode(source, source > 0)
    >>> forgotten = replace(memory, values=torch.zeros_like(memory.values))
    >>> torch.equal(model.decode(target, forgotten), model.decode(target, memory))
    True
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create a GRU whose input is the context and the previous word."""
        super().__init__(config, d_input=config.d_hidden + config.d_embed)

    def run(self, tokens: TargetIds, state: DecoderState) -> Run:
        """Feed all tokens at once: a step needs nothing but its word and the state before it."""
        embedded = self.embedding(tokens)
        context = state.memory.final[-1][:, None, :].expand(-1, tokens.shape[1], -1)
        features, hidden = self.gru(torch.cat((context, embedded), dim=-1), state.hidden)
        return Run(features, hidden, queries=features)
