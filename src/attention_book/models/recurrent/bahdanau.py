"""Bahdanau's decoder (Bahdanau, Cho and Bengio 2015): additive attention before the GRU's step.

The previous state is the query, and the context that comes back is an input of the GRU.
"""

import torch

from attention_book.attention import AdditiveScore
from attention_book.foundations.shapes import TargetIds
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.decoder import AttentiveDecoder
from attention_book.models.recurrent.gru_step import gru_step
from attention_book.models.recurrent.state import DecoderState, Run


class BahdanauDecoder(AttentiveDecoder):
    """Bahdanau's decoder: the *previous* state asks, and the answer enters the GRU.

    .. math::

        c_t = \\sum_j \\alpha_{tj} h_j, \\quad
        \\alpha_t = \\operatorname{softmax}_j a(s_{t-1}, h_j), \\quad
        s_t = \\operatorname{GRU}([c_t; y_{t-1}], s_{t-1})

    Bahdanau et al. (2015), section 3.1. The contexts depend on the states and the
    states on the contexts, so the steps have to be computed one after the other.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="bahdanau")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'BahdanauDecoder'
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7]])
    >>> model.weights(source, source > 0, target).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create the additive score."""
        score = AdditiveScore(d_q=config.d_hidden, d_k=config.d_source, d_hidden=config.d_hidden)
        d_input = config.d_source + config.d_embed
        super().__init__(config, score, d_input=d_input, dropout=config.dropout)

    def run(self, tokens: TargetIds, state: DecoderState) -> Run:
        """Feed the tokens step by step."""
        hidden, queries, features = list(state.hidden), [], []
        for embedded in self.embedding(tokens).unbind(dim=1):
            query = hidden[-1][:, None, :]
            context = self.look(query, state.memory).squeeze(1)
            hidden = gru_step(self.gru, torch.cat((context, embedded), dim=-1), hidden)
            queries.append(query)
            features.append(hidden[-1])
        return Run(torch.stack(features, dim=1), torch.stack(hidden), torch.cat(queries, dim=1))
