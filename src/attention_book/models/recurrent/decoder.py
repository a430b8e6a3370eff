"""The decoders: one GRU, and four ways to let it look at the source."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention import (
    AdditiveScore,
    Attention,
    BilinearScore,
    DotScore,
    KeyProjectingScore,
    OverProjectedKeys,
)
from attention_book.foundations.shapes import TargetIds, Weights
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.encoder import SourceMemory
from attention_book.models.recurrent.gru_step import gru_step
from attention_book.models.recurrent.state import DecoderState, Run
from attention_book.models.token_embedding import TokenEmbedding


class RecurrentDecoder(nn.Module, ABC):
    """A GRU over the target words, and a linear map from its features to the vocabulary.

    ``run`` takes any number of tokens: the whole target while training, one
    while decoding. That both agree is therefore no accident.
    """

    def __init__(self, config: Seq2SeqConfig, *, d_input: int) -> None:
        """Create what all decoders have; ``d_input`` is the size of the GRU's input."""
        super().__init__()
        self.embedding = TokenEmbedding(
            config.target_vocabulary, config.d_embed, name="target_input"
        )
        self.gru = nn.GRU(
            d_input,
            config.d_hidden,
            config.num_layers,
            batch_first=True,
            dropout=config.dropout if config.num_layers > 1 else 0.0,
        )
        self.readout = nn.Linear(config.d_hidden, config.target_vocabulary)

    @abstractmethod
    def run(self, tokens: TargetIds, state: DecoderState) -> Run:
        """Feed the tokens one after the other, from ``state`` on."""

    def project_keys(
        self, values: Float[Tensor, "batch source d_source"]
    ) -> Float[Tensor, "batch source d_key"]:
        """Prepare the encoder's states for the score."""
        return values

    def weights(self, run: Run, memory: SourceMemory) -> Weights:
        """Return the attention weights of a run."""
        raise ValueError(f"{type(self).__name__} has no attention, so there are no weights")


class FixedContextDecoder(RecurrentDecoder):
    """Without attention: the encoder's last state is all that is ever known of the source.

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
        """Feed all tokens at once: no step needs anything but the state before it."""
        embedded = self.embedding(tokens)
        context = state.memory.final[-1][:, None, :].expand(-1, tokens.shape[1], -1)
        features, hidden = self.gru(torch.cat((context, embedded), dim=-1), state.hidden)
        return Run(features, hidden, queries=features)


class AttentiveDecoder(RecurrentDecoder):
    """What the decoders with attention over the encoder's states share."""

    def __init__(
        self, config: Seq2SeqConfig, score: KeyProjectingScore, *, d_input: int, dropout: float
    ) -> None:
        """Keep the score; the keys reach it already projected."""
        super().__init__(config, d_input=d_input)
        self.attention = Attention(OverProjectedKeys(score), dropout=dropout)

    def project_keys(
        self, values: Float[Tensor, "batch source d_source"]
    ) -> Float[Tensor, "batch source d_key"]:
        """Project the keys for all queries to come."""
        score = self.attention.score
        assert isinstance(score, OverProjectedKeys)  # as set above
        return score.project_keys(values)

    def look(
        self, queries: Float[Tensor, "batch target d_query"], memory: SourceMemory
    ) -> Float[Tensor, "batch target d_source"]:
        """Return one context for each query."""
        context: Tensor = self.attention(queries, memory.keys, memory.values, memory.mask)
        return context

    def weights(self, run: Run, memory: SourceMemory) -> Weights:
        """Ask again with the run's queries."""
        return self.attention.weights(run.queries, memory.keys, memory.mask)


class LookThenStepDecoder(AttentiveDecoder):
    """Bahdanau's wiring: the *previous* state asks, and the answer enters the GRU.

    .. math::

        c_t = \\sum_j \\alpha_{tj} h_j, \\quad
        \\alpha_t = \\operatorname{softmax}_j a(s_{t-1}, h_j), \\quad
        s_t = \\operatorname{GRU}([c_t; y_{t-1}], s_{t-1})

    Bahdanau et al. (2015), section 3.1. The contexts depend on the states and the
    states on the contexts, so the steps can't be taken at once.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="bahdanau")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'LookThenStepDecoder'
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


class StepThenLookDecoder(AttentiveDecoder):
    """Luong's wiring: the *new* state asks, and the answer is joined to it for the prediction.

    .. math::

        s_t = \\operatorname{GRU}(y_{t-1}, s_{t-1}), \\quad
        \\alpha_t = \\operatorname{softmax}_j a(s_t, h_j), \\quad
        \\tilde s_t = \\tanh(W_c [c_t; s_t])

    Luong et al. (2015), equations 5 to 8, without input feeding: no step needs
    the context of the one before it, so all of a known target's steps are taken at once.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="luong-dot")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'StepThenLookDecoder'
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7]])
    >>> model.weights(source, source > 0, target).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create the score that ``config.attention`` names, and the map that joins."""
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
        """Feed all tokens at once, then look with all states at once."""
        states, hidden = self.gru(self.embedding(tokens), state.hidden)
        context = self.look(states, state.memory)
        features = torch.tanh(self.join(torch.cat((context, states), dim=-1)))
        return Run(features, hidden, queries=states)
