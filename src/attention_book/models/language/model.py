"""Language models, causal (GPT) and masked (BERT): one stack of layers under two masks."""

from dataclasses import dataclass

from torch import nn

from attention_book.attention import Cache, Visibility
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import (
    Features,
    Logits,
    Mask,
    StepIds,
    StepLogits,
    TokenIds,
    TokenMask,
)
from attention_book.models.language.state import check_one_each, check_rows
from attention_book.models.sources import check_real, reading_places
from attention_book.models.tied import TiedModel
from attention_book.models.token_embedding import TokenEmbedding
from attention_book.models.transformer.layer_config import LayerConfig
from attention_book.models.transformer.stack import LayerStack
from attention_book.text import BOS, EOS, PAD, SpecialIds


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(LayerConfig):
    """Settings of a :class:`~attention_book.models.LanguageModel`.

    Attributes:
        vocabulary: Number of different tokens.
        tied: Whether the output layer is the embedding (Press and Wolf 2017).
        bos: Number of the token that begins a text.
        eos: Number of the token that ends one.
        pad: Number of the token that fills a batch up.

    The others are those of every stack, :class:`~attention_book.models.LayerConfig`.

    Raises:
        ValueError: if a size is below 1, or what a ``LayerConfig`` refuses.

    >>> LanguageModelConfig(vocabulary=10, norm="pre").vocabulary
    10
    """

    vocabulary: int
    tied: bool = False
    bos: int = BOS
    eos: int = EOS
    pad: int = PAD

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        super().__post_init__()
        check_sizes(vocabulary=self.vocabulary)
        SpecialIds(pad=self.pad, bos=self.bos, eos=self.eos)  # refuses what is no set of numbers


class LanguageModel(TiedModel):
    """Predict tokens of a text from those that the mask lets them see.

    Embedding, :class:`~attention_book.models.LayerStack`, output layer: the parameters are
    the same whatever the mask. :class:`~attention_book.models.CausalLanguageModel` and
    :class:`~attention_book.models.MaskedLanguageModel` each choose theirs.

    Args:
        config: The settings.
        looks_ahead: Whether a token may see later ones; "buckets" counts distances accordingly.

    >>> import torch
    >>> from attention_book.attention import causal_mask
    >>> model = LanguageModel(LanguageModelConfig(vocabulary=10))
    >>> model.predict(torch.tensor([[2, 7, 8]]), causal_mask(3)).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, config: LanguageModelConfig, *, looks_ahead: bool = True) -> None:
        """Create embedding, layers and output layer."""
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocabulary, config.d_model, name="tokens")
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.stack = LayerStack(config, looks_ahead=looks_ahead)
        self.readout = nn.Linear(config.d_model, config.vocabulary, bias=not config.tied)
        self.tie()

    def predict(
        self,
        tokens: TokenIds,
        mask: Mask | Visibility | None = None,
        *,
        is_causal: bool = False,
        cache: Cache | None = None,
    ) -> Logits:
        """Return a guess at every place, from the places that it may see.

        Args:
            tokens: (batch, token).
            mask: True where a token may see another; None hides nothing.
            is_causal: A token sees only itself and those before it.
            cache: What was read before; it goes on by these tokens, which see themselves and
                the past.
        """
        x = self.stack(self.embed(tokens), mask, is_causal=is_causal, cache=cache)
        logits: Logits = self.readout(x)
        return logits

    def embed(self, tokens: TokenIds) -> Features:
        """Return the tokens' vectors, about 1 a feature like the sinusoidal positions."""
        return self.embedding.scaled(tokens)


class MaskedLanguageModel(LanguageModel):
    """Predict hidden tokens from those on both sides: an encoder-only model.

    Devlin et al. (2019). Every token sees all real tokens.

    Args:
        config: The settings.

    >>> import torch
    >>> model = MaskedLanguageModel(LanguageModelConfig(vocabulary=10)).eval()
    >>> tokens = torch.tensor([[2, 7, 8, 3, 0]])
    >>> model(tokens, tokens > 0).shape
    torch.Size([1, 5, 10])
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        """Create the model."""
        super().__init__(config, looks_ahead=True)

    def forward(self, tokens: TokenIds, real: TokenMask) -> Logits:
        """Return a prediction at every place; False in ``real`` = padding, hidden from all.

        Padding may stand anywhere: it is read last, and positions count real tokens.

        Raises:
            TypeError: if ``real`` is not boolean.
            ValueError: if it has another shape than the tokens.
        """
        check_real(tokens, real)
        places = reading_places(real)
        real_first = real.scatter(1, places, real)
        logits = self.predict(tokens.scatter(1, places, tokens), Visibility.real(real_first))
        return logits.gather(1, places[..., None].expand_as(logits))


class CausalLanguageModel(LanguageModel):
    """Predict every next token from those before it: a decoder-only model.

    Radford et al. (2018). Padding on the right is never seen by a real token, so it needs
    no mask; where it stands elsewhere, ``real`` must say so.

    Args:
        config: The settings.

    >>> import torch
    >>> model = CausalLanguageModel(LanguageModelConfig(vocabulary=10)).eval()
    >>> tokens = torch.tensor([[2, 7, 8]])
    >>> at_once, state = model(tokens), model.start(1)
    >>> for token in tokens.T:
    ...     last, state = model.step(token, state)
    >>> torch.allclose(last, at_once[:, 2], atol=1e-6)
    True
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        """Create the model."""
        super().__init__(config, looks_ahead=False)

    def forward(self, tokens: TokenIds, real: TokenMask | None = None) -> Logits:
        """Return, at every place, a guess at the token that follows.

        Args:
            tokens: (batch, token).
            real: False where a token is padding; None: at most on the right. It is read last,
                and positions count real tokens.

        Raises:
            TypeError: if ``real`` is not boolean.
            ValueError: if it has another shape than the tokens.
        """
        if real is None:
            return self.predict(tokens, is_causal=True)
        check_real(tokens, real)
        places = reading_places(real)
        logits = self.predict(tokens.scatter(1, places, tokens), is_causal=True)
        return logits.gather(1, places[..., None].expand_as(logits))

    def start(self, batch_size: int) -> Cache:
        """Return the state with nothing read.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        return self.stack.new_cache(batch_size)

    def step(self, token: StepIds, state: Cache) -> tuple[StepLogits, Cache]:
        """Read one token of each text, and guess the next; ``state`` is left as it was.

        Raises:
            ValueError: if there are not as many tokens as texts.
        """
        check_one_each(token, state.batch_size)
        logits, read = self.read(token[:, None], state)
        return logits[:, 0], read

    def read(self, tokens: TokenIds, state: Cache) -> tuple[Logits, Cache]:
        """Read some tokens of each text at once, and guess after each; a prompt, say.

        None may be padding: what is read next would follow it, and not its text.

        Args:
            tokens: (batch, token), those that follow what was read.
            state: Where the model stands; left as it was.

        Raises:
            ValueError: if there are not as many rows as texts, or no token.
        """
        check_rows(tokens, state.batch_size)
        read = state.fork()
        return self.predict(tokens, cache=read), read
