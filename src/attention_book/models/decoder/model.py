"""A decoder-only language model as built today: Llama, Mistral, Qwen3, Gemma 3 by its settings."""

import math
from typing import cast

import torch
from torch import Tensor, nn

from attention_book.attention import (
    AlibiPositions,
    Cache,
    NoPositions,
    Positions,
    SinusoidalPositions,
    Visibility,
)
from attention_book.attention.positions.scheme import within_attention
from attention_book.foundations.shapes import (
    Features,
    Logits,
    StepIds,
    StepLogits,
    TokenIds,
    TokenMask,
)
from attention_book.models.decoder.block import DecoderBlock, create_norm
from attention_book.models.decoder.config import DecoderConfig
from attention_book.models.language.state import check_one_each, check_rows
from attention_book.models.sources import check_real, reading_places
from attention_book.models.tied import TiedModel
from attention_book.models.token_embedding import TokenEmbedding


class DecoderLanguageModel(TiedModel):
    """Predict every next token from those before it: embedding, blocks, norm, output layer.

    Padding may stand anywhere if ``real`` tells where it is: a text is read as if it stood alone,
    and its positions are counted from its own first token. On the right padding is never seen by
    a real token and needs no mask, unless more is to be read behind it.

    Args:
        config: The settings.

    >>> model = DecoderLanguageModel(DecoderConfig(vocabulary=10, num_kv_heads=2)).eval()
    >>> tokens = torch.tensor([[2, 7, 8]])
    >>> at_once, state = model(tokens), model.start(1)
    >>> for token in tokens.T:
    ...     last, state = model.step(token, state)
    >>> torch.allclose(last, at_once[:, 2], atol=1e-6)
    True
    """

    untied_bias = False

    def __init__(self, config: DecoderConfig) -> None:
        """Create embedding, blocks and output layer."""
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocabulary, config.d_model, name="tokens")
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        scale = config.embedding_scale
        self.embedding_scale = math.sqrt(config.d_model) if scale is None else scale
        everywhere = create_positions(config, windowed=False)
        nearby = create_positions(config, windowed=True)
        self.positions = everywhere
        self.blocks = nn.ModuleList()
        for layer in range(config.num_layers):
            window = config.window(layer)
            positions = everywhere if window is None else nearby
            self.blocks.append(DecoderBlock(config, within_attention(positions), window=window))
        self.norm = create_norm(config, config.d_model)
        self.readout = nn.Linear(config.d_model, config.vocabulary, bias=False)
        self.tie()

    def forward(self, tokens: TokenIds, real: TokenMask | None = None) -> Logits:
        """Return, at every place, a guess at the token that follows.

        Args:
            tokens: (batch, token).
            real: False where a token is padding, hidden from all; None: nowhere. What stands
                between a text's tokens is read behind them.

        Raises:
            TypeError: if ``real`` is not boolean.
            ValueError: if it has another shape than the tokens.
        """
        if real is None:
            return self._through(self.embed(tokens))
        check_real(tokens, real)
        # What stands before a text stays there, so that nothing moves but padding in between.
        places = reading_places(real, before=(real.cumsum(dim=1) == 0).sum(dim=1, keepdim=True))
        real = real.scatter(1, places, real)
        x = self.embed(tokens.scatter(1, places, tokens), places=_counted(real))
        logits = self._through(x, Visibility.real(real))
        return logits.gather(1, places[..., None].expand_as(logits))

    def embed(
        self, tokens: TokenIds, *, offset: int = 0, places: TokenIds | None = None
    ) -> Features:
        """Return the tokens' vectors, scaled, with positions if they enter here.

        Args:
            tokens: (batch, token).
            offset: Position of the first.
            places: Position of each, where texts begin at several places; then no ``offset``.
        """
        vectors: Tensor = self.embedding(tokens)
        # Rounded to the type of the weights first, as Gemma's authors do.
        scaled = vectors * torch.tensor(self.embedding_scale, dtype=vectors.dtype)
        if places is None or self.config.positions != "sinusoidal":  # others enter later
            placed: Features = self.positions(scaled, offset=offset)
            return placed
        num_places = offset + tokens.shape[1]
        table: Tensor = self.positions(scaled.new_zeros(1, num_places, scaled.shape[-1]))[0]
        return scaled + table[places]

    def start(self, batch_size: int) -> Cache:
        """Return the state with nothing read.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        blocks = cast("list[DecoderBlock]", list(self.blocks))
        return Cache([block.attention.new_cache() for block in blocks], batch_size=batch_size)

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
            TypeError: if ``real`` is not boolean.
            ValueError: if there are not as many rows as texts, if ``real`` has another shape
                than the tokens, or if there is padding behind what was read.
        """
        check_rows(tokens, state.batch_size)
        places = None
        if real is not None:
            check_real(tokens, real)
            if state.position:
                _check_none_between(real)
            places = reading_places(real, before=(~real).sum(dim=1, keepdim=True))
            tokens, real = tokens.scatter(1, places, tokens), real.scatter(1, places, real)
        read = state.fork()
        known = read.note(tokens, real)
        counted = None if known is None else _counted(known)[:, state.position :]
        x = self.embed(tokens, offset=state.position, places=counted)
        logits = self._through(x, Visibility.real(known), read)
        if places is not None:
            logits = logits.gather(1, places[..., None].expand_as(logits))
        return logits, read

    def _through(
        self, x: Features, see: Visibility | None = None, cache: Cache | None = None
    ) -> Logits:
        """Take vectors through the blocks to the guesses."""
        for index, block in enumerate(self.blocks):
            x = block(x, see, cache=None if cache is None else cache.layers[index])
        logits: Logits = self.readout(self.norm(x))
        return logits


def create_positions(config: DecoderConfig, *, windowed: bool) -> Positions:
    """Return the positions of the layers with a window, or of those without.

    >>> create_positions(DecoderConfig(vocabulary=10), windowed=False)
    RotaryPositions(d_k=8, base=10000)
    """
    match config.positions:
        case "rotary":
            settings = (config.windowed_rotary if windowed else None) or config.rotary
            return settings.positions(config.head_size)
        case "sinusoidal":
            return SinusoidalPositions(d_model=config.d_model)
        case "alibi":
            return AlibiPositions(num_heads=config.num_heads)
        case "none":
            return NoPositions()


def _counted(real: TokenMask) -> TokenIds:
    """Return each token's position in its text, counted from the text's first token."""
    return (real.cumsum(dim=1) - 1).clamp(min=0)


def _check_none_between(real: TokenMask) -> None:
    """Check that a later call has no padding: it would stand within a text.

    Raises:
        ValueError: if it has.
    """
    if not bool(real.all()):
        row = int((~real).any(dim=1).nonzero()[0])
        raise ValueError(
            "real: expected padding in the first call alone, for what is read behind it would not "
            f"follow its text, got some in row {row}; read each text's tokens in one call, or each "
            "text by itself (a text that has ended may be given any token)"
        )
