"""What all decoders of the recurrent models share: a GRU over the target words and a readout.

The decoders themselves stand one paper to a module: ``without_attention`` (Cho et al. 2014),
``bahdanau`` (Bahdanau et al. 2015), ``luong`` (Luong et al. 2015) and ``from_input`` (two
wirings of widely read tutorials).
"""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention import Attention, KeyProjectingScore, OverProjectedKeys
from attention_book.foundations.shapes import TargetIds, Weights
from attention_book.models.parts import TokenEmbedding
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.encoder import SourceMemory
from attention_book.models.recurrent.state import DecoderState, Run


class RecurrentDecoder(nn.Module, ABC):
    """A GRU over the target words, and a linear map from its features to the vocabulary.

    ``run`` takes any number of tokens: the whole target in training, a single one in
    decoding. Both go through the same code, so they agree.
    """

    def __init__(self, config: Seq2SeqConfig, *, d_input: int) -> None:
        """Create the parts that all decoders have; ``d_input`` is the size of the GRU's input."""
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


class AttentiveDecoder(RecurrentDecoder):
    """A decoder with attention over the encoder's states: the score, the look, the weights."""

    def __init__(
        self, config: Seq2SeqConfig, score: KeyProjectingScore, *, d_input: int, dropout: float
    ) -> None:
        """Keep the score, which will be given keys that are already projected."""
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
        """Return the weights of the queries that the run asked with."""
        return self.attention.weights(run.queries, memory.keys, memory.mask)
