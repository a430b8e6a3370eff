"""Two tutorials' decoders, whose attention is asked with the embedded input word.

:class:`TutorialLocationDecoder` is wired like ``AttnDecoderRNN`` in PyTorch's tutorial
"Translation with a sequence to sequence network and attention", but without its ReLU in front
of the GRU; :class:`TutorialDotDecoder` puts a scaled dot product in the place of its scores.
Bahdanau's and Luong's decoders ask with a state of the decoder instead.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import LocationAttention, ScaledDotScore
from attention_book.foundations.shapes import TargetIds, Weights
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.decoder import AttentiveDecoder, RecurrentDecoder
from attention_book.models.recurrent.encoder import SourceMemory
from attention_book.models.recurrent.gru_step import gru_step
from attention_book.models.recurrent.state import DecoderState, Run
from attention_book.models.sources import reading_places


class TutorialDotDecoder(AttentiveDecoder):
    """A tutorial's decoder: the embedded input word asks, by a scaled dot product.

    .. math::

        c_t = \\operatorname{softmax}\\Bigl(\\frac{y_{t-1} H^\\top}{\\sqrt d}\\Bigr) H, \\quad
        s_t = \\operatorname{GRU}(W [y_{t-1}; c_t] + b,\\, s_{t-1})

    The query knows the previous word and nothing else, so a word that is written twice
    looks at the same place twice. For the same reason all steps of a known target can be
    computed at once.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="input-dot")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'TutorialDotDecoder'
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7]])
    >>> model.weights(source, source > 0, target).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create the linear map that joins the word and the context."""
        if config.d_embed != config.d_source:
            raise ValueError(
                "attention='input-dot': expected embeddings as long as the encoder's states, "
                f"got d_embed={config.d_embed} and d_source={config.d_source}"
            )
        super().__init__(config, ScaledDotScore(), d_input=config.d_embed, dropout=config.dropout)
        self.join = nn.Linear(config.d_embed + config.d_source, config.d_embed)

    def run(self, tokens: TargetIds, state: DecoderState) -> Run:
        """Look with all words at once, then feed the words and their contexts to the GRU."""
        embedded = self.embedding(tokens)
        context = self.look(embedded, state.memory)
        joined = self.join(torch.cat((embedded, context), dim=-1))
        features, hidden = self.gru(joined, state.hidden)
        return Run(features, hidden, queries=embedded)


class TutorialLocationDecoder(RecurrentDecoder):
    """A tutorial's decoder: it attends to numbered places and never compares the source.

    .. math::

        c_t = \\operatorname{softmax}(W [y_{t-1}; s_{t-1}] + b)\\, H, \\quad
        s_t = \\operatorname{GRU}(W_o [y_{t-1}; c_t] + b_o,\\, s_{t-1})

    The attention is :class:`~attention_book.attention.LocationAttention`. Its number of
    places is the length of the longest source that the model can ever read.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="location")
    >>> model = Seq2Seq(config).eval()
    >>> type(model.decoder).__name__
    'TutorialLocationDecoder'
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7]])
    >>> model.weights(source, source > 0, target).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create the attention, which joins word and context itself."""
        super().__init__(config, d_input=config.d_embed)
        self.attention = LocationAttention(
            d_q=config.d_embed,
            d_k=config.d_hidden,
            num_keys=config.num_places,
            d_v=config.d_source,
            d_out=config.d_embed,
        )

    def run(self, tokens: TargetIds, state: DecoderState) -> Run:
        """Feed the tokens step by step, because each look needs the state before it."""
        values, mask = self._places(state.memory)
        hidden, queries, previous, features = list(state.hidden), [], [], []
        for embedded in self.embedding(tokens).split(1, dim=1):
            top = hidden[-1][:, None, :]
            joined = self.attention(embedded, top, values, mask)[:, 0]
            hidden = gru_step(self.gru, joined, hidden)
            queries.append(embedded)
            previous.append(top)
            features.append(hidden[-1])
        return Run(
            torch.stack(features, dim=1),
            torch.stack(hidden),
            torch.cat(queries, dim=1),
            torch.cat(previous, dim=1),
        )

    def weights(self, run: Run, memory: SourceMemory) -> Weights:
        """Return the weights of the places that the source fills."""
        _, mask = self._places(memory)
        assert run.previous is not None
        weights = self.attention.weights(run.queries, run.previous, mask)
        # The source may have fewer columns than there are places, or more, if they are padding.
        weights = F.pad(weights, (0, memory.values.shape[1] - weights.shape[-1]))
        columns = reading_places(memory.mask[:, 0])[:, None, :]
        return weights.gather(-1, columns.expand_as(weights))

    def _places(self, memory: SourceMemory) -> tuple[Float[Tensor, "batch place d_source"], Tensor]:
        """Put the real tokens into the first of the fixed number of places."""
        missing = self.attention.num_keys - memory.values.shape[1]
        if missing < 0:  # only then can a source be too long, and the mask has to be asked
            self._check_fits(memory.mask)
        columns = reading_places(memory.mask[:, 0])
        wide = columns[:, :, None].expand_as(memory.values)
        values = memory.values.scatter(1, wide, memory.values)
        mask = memory.mask.scatter(2, columns[:, None, :], memory.mask)
        return F.pad(values, (0, 0, 0, missing)), F.pad(mask, (0, missing))

    def _check_fits(self, mask: Bool[Tensor, "batch 1 source"]) -> None:
        longest, num_places = int(mask.sum(dim=-1).max()), self.attention.num_keys
        if longest > num_places:
            raise ValueError(
                f"source: expected at most num_places={num_places} tokens, <eos> included, "
                f"as attention='location' was built for, got {longest}"
            )
