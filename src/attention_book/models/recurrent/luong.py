"""Luong's decoder (Luong, Pham and Manning 2015): attention after the step: dot, general, concat.

The new state is the query, and the context that comes back is joined to it for the prediction.
"""

import torch
from torch import nn

from attention_book.attention import AdditiveScore, BilinearScore, DotScore, KeyProjectingScore
from attention_book.foundations.shapes import TargetIds
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.decoder import AttentiveDecoder
from attention_book.models.recurrent.state import DecoderState, Run


class LuongDecoder(AttentiveDecoder):
    """Luong's decoder: the *new* state asks, and the answer is joined to it for the prediction.

    .. math::

        s_t = \\operatorname{GRU}(y_{t-1}, s_{t-1}), \\quad
        \\alpha_t = \\operatorname{softmax}_j a(s_t, h_j), \\quad
        \\tilde s_t = \\tanh(W_c [c_t; s_t])

    Luong et al. (2015), equations 5 to 8, without input feeding. No step needs the
    context of the step before it, so all steps of a known target are computed at once.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="luong-dot")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'LuongDecoder'
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7]])
    >>> model.weights(source, source > 0, target).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create the score that ``config.attention`` names, and the map that joins the answer."""
        d_q, d_k = config.d_hidden, config.d_source
        score: KeyProjectingScore
        if config.attention == "luong-dot":
            if config.bidirectional:
                raise ValueError(
                    f"attention='luong-dot': expected keys of size d_hidden={config.d_hidden}, "
                    f"got {config.d_source} from a bidirectional encoder; use 'luong-general'"
                )
            score = DotScore()
        elif config.attention == "luong-general":
            score = BilinearScore(d_q=d_q, d_k=d_k)
        else:
            score = AdditiveScore(d_q=d_q, d_k=d_k, d_hidden=config.d_hidden)
        super().__init__(config, score, d_input=config.d_embed, dropout=config.dropout)
        self.join = nn.Linear(config.d_source + config.d_hidden, config.d_hidden)

    def run(self, tokens: TargetIds, state: DecoderState) -> Run:
        """Feed all tokens to the GRU at once, then look with all states at once."""
        states, hidden = self.gru(self.embedding(tokens), state.hidden)
        context = self.look(states, state.memory)
        features = torch.tanh(self.join(torch.cat((context, states), dim=-1)))
        return Run(features, hidden, queries=states)
