"""Language models, masked (BERT) and causal: GPT, Llama, Mistral, Qwen3, Gemma 3 by settings."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from attention_book.attention import Cache, Visibility
from attention_book.foundations.checks import (
    check_positive,
    check_sizes,
    check_whole,
    whole_numbers,
)
from attention_book.foundations.shapes import (
    Logits,
    Mask,
    StepIds,
    StepLogits,
    TokenIds,
    TokenMask,
)
from attention_book.models.config import LayerConfig
from attention_book.models.layers import TokenStack
from attention_book.models.parts import token_embedding
from attention_book.models.protocols import check_one_each
from attention_book.models.sources import check_real, places_within, reading_places
from attention_book.models.tied import TiedModel
from attention_book.text import BOS, EOS, PAD, SpecialIds


@dataclass(frozen=True, kw_only=True)
class LanguageConfig(LayerConfig):
    """Settings of a :class:`~attention_book.models.LanguageModel`.

    Attributes:
        vocabulary: Number of different tokens.
        causal: Whether a token sees those before it alone (GPT, Llama), or all (BERT).
        tied: Whether the output layer is the embedding (Press and Wolf 2017).
        readout_bias: Whether the output layer has a bias; None: unless it is tied.
        embedding_scale: Factor of the embeddings; :math:`\\sqrt{d_\\text{model}}` when None.
        bos: Number of the token that begins a text; outside the vocabulary: there is none.
        eos: Number of the token that ends one.
        ends: Numbers of all tokens that end one, where there are several, ``eos`` among them.
        pad: Number of the token that fills a batch up.

    The others are those of every stack, :class:`~attention_book.models.LayerConfig`.

    Raises:
        ValueError: if a number is out of range, or what a ``LayerConfig`` refuses.

    >>> LanguageConfig(vocabulary=10, norm="pre").vocabulary
    10
    >>> config = LanguageConfig.today(vocabulary=100, num_kv_heads=2, windows=(16, None))
    >>> config.norm_kind, LanguageConfig.from_dict(config.to_dict()) == config
    ('rms', True)
    """

    vocabulary: int
    causal: bool = True
    tied: bool = False
    readout_bias: bool | None = None
    embedding_scale: float | None = None
    bos: int = BOS
    eos: int = EOS
    ends: tuple[int, ...] = ()
    pad: int = PAD

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        super().__post_init__()
        check_sizes(vocabulary=self.vocabulary)
        if self.embedding_scale is not None:
            check_positive("embedding_scale", self.embedding_scale)
        SpecialIds(pad=self.pad, bos=self.bos, eos=self.eos)  # refuses what is no set of numbers
        for end in self.ends:
            check_whole(ends=end)
        if self.ends and (self.eos not in self.ends or min(self.ends) < 0):
            raise ValueError(f"ends: expected numbers, eos={self.eos} among them, got {self.ends}")

    @classmethod
    def today(cls, **settings: Any) -> "LanguageConfig":
        """Return the settings of Llama (2023), but for those that are given.

        RMSNorm before each sublayer, rotary positions, SwiGLU, no biases, no dropout.

        >>> LanguageConfig.today(vocabulary=10, qk_norm=True).feed_forward
        'swiglu'
        """
        llama: dict[str, Any] = {
            "norm": "pre",
            "norm_kind": "rms",
            "eps": 1e-6,
            "positions": "rotary",
            "feed_forward": "swiglu",
            "feed_forward_bias": False,
            "readout_bias": False,
            "dropout": 0.0,
        }
        return cls(**llama | settings)


class LanguageModel(TiedModel):
    """Predict every next token from those before it, or hidden tokens from all.

    Embedding, :class:`~attention_book.models.TokenStack`, output layer: the parameters are the
    same whatever a token may see. Where it sees those before it alone, this is a decoder-only
    model (GPT, Radford et al. 2018); where it sees all, an encoder-only one (BERT, Devlin et al.
    2019), which reads texts whole and takes no steps.

    Padding may stand anywhere if ``real`` tells where it is. On the right no real token of a
    causal model sees it, so that it needs no telling, unless more is to be read behind it.

    Args:
        config: The settings.

    >>> import torch
    >>> model = LanguageModel(LanguageConfig.today(vocabulary=10, num_kv_heads=2)).eval()
    >>> tokens = torch.tensor([[2, 7, 8]])
    >>> at_once, state = model(tokens), model.start(1)
    >>> for token in tokens.T:
    ...     last, state = model.step(token, state)
    >>> torch.allclose(last, at_once[:, 2], atol=1e-6)
    True
    >>> reader = LanguageModel(LanguageConfig(vocabulary=10, causal=False))
    >>> reader(torch.tensor([[2, 7, 8, 3, 0]])).shape
    torch.Size([1, 5, 10])
    """

    def __init__(self, config: LanguageConfig) -> None:
        """Create embedding, layers and output layer."""
        super().__init__()
        self.config = config
        embedding = token_embedding(
            config.vocabulary, config.d_model, name="tokens", scale=config.embedding_scale
        )
        self.stack = TokenStack(config, embedding, looks_ahead=not config.causal)
        self.untied_bias = config.readout_bias is not False  # for untie()
        bias = not config.tied if config.readout_bias is None else config.readout_bias
        self.readout = nn.Linear(config.d_model, config.vocabulary, bias=bias)
        self.tie()

    def tied_places(self) -> tuple[str, ...]:
        """Return where the one matrix stands by the config, the output layer last; or nothing."""
        return ("stack.embedding", "readout") if self.says("tied") else ()

    def forward(
        self,
        tokens: TokenIds,
        real: TokenMask | None = None,
        *,
        documents: TokenIds | None = None,
    ) -> Logits:
        """Return a guess at every place: at the token that follows or, not causal, at its own.

        Args:
            tokens: (batch, token).
            real: False where a token is padding, hidden from all; None: nowhere. It is read last,
                and positions count real tokens.
            documents: Where several texts stand in a row, which one each token belongs to, (batch,
                token), as :class:`~attention_book.text.PackedBatch` numbers them. A token sees its
                own text alone, whose positions begin at 0: what comes out is what each text would
                give by itself. None: a row is one text.

        Raises:
            TypeError: if ``real`` is not boolean.
            ValueError: if it has another shape than the tokens, or padding would count as text:
                :meth:`~attention_book.models.LayerConfig.check_padding`; if ``documents`` has
                another shape, or comes with ``real``, or positions would turn by the row:
                :meth:`~attention_book.models.LayerConfig.check_packed`.
        """
        causal = self.config.causal
        if documents is not None:
            if real is not None or documents.shape != tokens.shape:
                raise ValueError(
                    f"documents: expected the tokens' shape {tuple(tokens.shape)} and no real, "
                    f"got {tuple(documents.shape)} and {'one' if real is not None else 'none'}"
                )
            self.config.check_packed(documents)
            x = self.stack.embed(tokens, places=places_within(documents))
            same = documents[:, None, :, None] == documents[:, None, None, :]
            apart: Logits = self.readout(self.stack.run(x, Visibility(mask=same), is_causal=causal))
            return apart
        if real is None:
            return self.predict(tokens, is_causal=causal)
        check_real(tokens, real)
        self.config.check_padding(real)
        places = reading_places(real)
        tokens, real_first = tokens.scatter(1, places, tokens), real.scatter(1, places, real)
        see = None if causal else Visibility.real(real_first)  # behind its text none sees it
        logits = self.predict(tokens, see, is_causal=causal)
        return logits.gather(1, places[..., None].expand_as(logits))

    def predict(
        self, tokens: TokenIds, mask: Mask | Visibility | None = None, *, is_causal: bool = False
    ) -> Logits:
        """Return a guess at every place, from the places that the mask lets it see.

        Args:
            tokens: (batch, token).
            mask: True where a token may see another; None hides nothing.
            is_causal: A token sees only itself and those before it.
        """
        logits: Logits = self.readout(self.stack(tokens, mask, is_causal=is_causal))
        return logits

    def start(self, batch_size: int, *, max_tokens: int | None = None) -> Cache:
        """Return the state with nothing read.

        Args:
            batch_size: How many texts there are.
            max_tokens: Take memory for texts of so many tokens, prompt included, once; None: take
                more as they grow. What comes out is the same.

        Raises:
            ValueError: if a number is below 1, or the model is not causal.
        """
        if not self.config.causal:
            raise ValueError(
                "causal: expected True, for a token that sees those behind it can't be read "
                "before they are there, got False; call the model on whole texts"
            )
        return self.stack.new_cache(batch_size, max_tokens=max_tokens)

    def step(self, token: StepIds, state: Cache) -> tuple[StepLogits, Cache]:
        """Read one token of each text, and guess the next; ``state`` is left as it was.

        Raises:
            ValueError: if there are not as many tokens as texts.
        """
        check_one_each(token, state.batch_size)
        logits, read = self.read(token[:, None], state)
        return logits[:, 0], read

    def read(
        self, tokens: TokenIds, state: Cache, *, real: TokenMask | None = None
    ) -> tuple[Logits, Cache]:
        """Read some tokens of each text at once, and guess after each; a prompt, say.

        Args:
            tokens: (batch, token), those that follow what was read.
            state: Where the model stands; left as it was.
            real: False where one of the first call's is padding; None: nowhere. Padding is read
                before its text, wherever it stands, so that the next token follows the text.

        Raises:
            TypeError: if the tokens are not integers, or ``real`` is not boolean.
            ValueError: if there are not as many rows as texts, or no token, if ``real`` has
                another shape than the tokens, or if there is padding behind what was read.
        """
        whole_numbers("tokens", tokens)
        if tokens.ndim != 2 or tokens.shape[0] != state.batch_size or tokens.shape[1] == 0:
            raise ValueError(
                f"tokens: expected one row for each of {state.batch_size} texts, with at least "
                f"one token, got the shape {tuple(tokens.shape)}"
            )
        if real is not None:
            check_real(tokens, real)
            if state.position:
                _check_none_between(real)
            places = reading_places(real, before=(~real).sum(dim=1, keepdim=True))
            tokens, real = tokens.scatter(1, places, tokens), real.scatter(1, places, real)
        read = state.fork()
        known = read.note(tokens, real)  # of all that was read; None: no padding
        if known is not None:
            self.config.check_padding(known)
        # Each token's position in its text, counted from the text's first token.
        counted = None if known is None else (known.cumsum(dim=1) - 1).clamp(min=0)
        if counted is not None:
            counted = counted[:, state.position :]
        x = self.stack.embed(tokens, offset=state.position, places=counted)
        logits: Logits = self.readout(self.stack.run(x, Visibility.real(known), cache=read))
        if real is not None:
            logits = logits.gather(1, places[..., None].expand_as(logits))
        return logits, read


def _check_none_between(real: TokenMask) -> None:
    """Check that a later call has no padding: it would stand within a text."""
    if not bool(real.all()):
        row = int((~real).any(dim=1).nonzero()[0])
        raise ValueError(
            "real: expected padding in the first call alone, for what is read behind it would not "
            f"follow its text, got some in row {row}; read each text's tokens in one call, or each "
            "text by itself (a text that has ended may be given any token)"
        )
