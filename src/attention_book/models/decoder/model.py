"""A decoder-only language model as built today: Llama, Mistral, Qwen3, Gemma 3 by its settings."""

import math
from typing import cast

import torch
from torch import Tensor, nn

from attention_book.attention import (
    AlibiPositions,
    NoPositions,
    Positions,
    SinusoidalPositions,
)
from attention_book.attention.positions.scheme import within_attention
from attention_book.foundations.checks import check_sizes
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
from attention_book.models.decoder.state import DecoderLanguageState
from attention_book.models.language.state import check_one_each
from attention_book.models.tied import TiedModel
from attention_book.models.token_embedding import TokenEmbedding


class DecoderLanguageModel(TiedModel):
    """Predict every next token from those before it: embedding, blocks, norm, output layer.

    Padding may stand on either side if ``real`` tells where it is; on the right it is never
    seen by a real token and needs no mask. Rotary positions and ALiBi count distances alone,
    so a text that begins later is read the same.

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
            real: False where a token is padding, hidden from all; None: nowhere.
        """
        x, mask = self.embed(tokens), None if real is None else real[:, None, :]
        for block in self.blocks:
            x = block(x, mask)
        logits: Logits = self.readout(self.norm(x))
        return logits

    def embed(self, tokens: TokenIds, *, offset: int = 0) -> Features:
        """Return the tokens' vectors, scaled, with positions if they enter here."""
        vectors: Tensor = self.embedding(tokens)
        # Rounded to the type of the weights first, as Gemma's authors do.
        scaled = vectors * torch.tensor(self.embedding_scale, dtype=vectors.dtype)
        placed: Features = self.positions(scaled, offset=offset)
        return placed

    def start(self, batch_size: int) -> DecoderLanguageState:
        """Return the state with nothing read.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        check_sizes(batch_size=batch_size)
        return DecoderLanguageState(batch_size)

    def step(
        self, token: StepIds, state: DecoderLanguageState
    ) -> tuple[StepLogits, DecoderLanguageState]:
        """Read one token of each text, and guess the next; ``state`` is left as it was.

        Raises:
            ValueError: if there are not as many tokens as texts.
        """
        check_one_each(token, state.batch_size)
        logits, read = self.read(token[:, None], state)
        return logits[:, 0], read

    def read(
        self, tokens: TokenIds, state: DecoderLanguageState, *, real: TokenMask | None = None
    ) -> tuple[Logits, DecoderLanguageState]:
        """Read some tokens of each text at once, and guess after each; a prompt, say.

        Args:
            tokens: (batch, token), those that follow what was read.
            state: Where the model stands; left as it was.
            real: False where one of them is padding; None: nowhere.

        Raises:
            ValueError: if there are not as many rows as texts.
        """
        if tokens.shape[0] != state.batch_size:
            raise ValueError(
                f"tokens: expected one row for each of {state.batch_size} texts, "
                f"got the shape {tuple(tokens.shape)}"
            )
        known = _joined(state, tokens, real)
        mask = None if known is None else known[:, None, :]
        x, grown = self.embed(tokens, offset=state.position), []
        for index, block in enumerate(cast("list[DecoderBlock]", list(self.blocks))):
            x, seen = block.read(x, past=state.past[index] if state.past else None, mask=mask)
            grown.append(seen)
        logits: Logits = self.readout(self.norm(x))
        return logits, DecoderLanguageState(state.batch_size, tuple(grown), known)


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


def _joined(state: DecoderLanguageState, tokens: Tensor, real: TokenMask | None) -> Tensor | None:
    """Return which tokens are real, the past's first; None: all."""
    if state.real is None and real is None:
        return None
    shape = len(tokens), state.position
    past = tokens.new_ones(shape, dtype=torch.bool) if state.real is None else state.real
    new = torch.ones_like(tokens, dtype=torch.bool) if real is None else real
    return torch.cat((past, new), dim=1)
