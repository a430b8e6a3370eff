"""A language model of attention alone: no feed-forward network, so that only looks can copy."""

from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention import (
    Cache,
    KVCache,
    MultiHeadAttention,
    Positions,
    RotaryPositions,
)
from attention_book.attention.positions.scheme import within_attention
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import (
    Features,
    Mask,
    StepIds,
    StepLogits,
    TokenIds,
)
from attention_book.models.parts import AddNorm, token_embedding
from attention_book.models.protocols import check_one_each


class AttentionOnlyLayer(nn.Module):
    """Causal attention and the sum with its input, the norm before: a layer without an FFN.

    .. math:: x + \\operatorname{MultiHead}(\\operatorname{LayerNorm}(x))

    Args:
        d_model: Size of a token's vector.
        num_heads: Number of heads.
        positions: How positions enter the attention.

    >>> import torch
    >>> from attention_book.attention import NoPositions
    >>> layer = AttentionOnlyLayer(d_model=8, num_heads=2, positions=NoPositions())
    >>> layer(torch.rand(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, *, d_model: int, num_heads: int, positions: Positions) -> None:
        """Create the attention and the norm."""
        super().__init__()
        self.attention = MultiHeadAttention(
            d_model=d_model, num_heads=num_heads, positions=positions
        )
        self.add_norm = AddNorm(d_model=d_model, order="pre")

    def forward(
        self, x: Features, mask: Mask | None = None, *, cache: KVCache | None = None
    ) -> Features:
        """Return one new vector for each token; ``mask`` hides more than the future."""
        added: Features = self.add_norm(x, self.attention, mask=mask, is_causal=True, cache=cache)
        return added


class AttentionOnly(nn.Module):
    """Predict every next token with attention layers alone.

    .. math::

        x^{(l)} = x^{(l-1)} + \\operatorname{MultiHead}_l(\\operatorname{LayerNorm}(x^{(l-1)})),
        \\qquad \\text{logits} = \\operatorname{LayerNorm}(x^{(L)}) \\, W

    The "attention-only Transformer" of Elhage et al. (2021), here with a norm before each
    layer: what a layer adds to a token's vector is a weighted sum of other vectors, so that
    any copying must be done by attention weights. It is a
    :class:`~attention_book.models.Writer`.

    Args:
        vocabulary: Number of different tokens.
        d_model: Size of a token's vector.
        num_heads: Number of heads in each layer.
        num_layers: Number of layers.
        positions: How positions enter every layer; rotary when None.

    Raises:
        ValueError: if a size is below 1, or the heads do not divide ``d_model``.

    >>> import torch
    >>> model = AttentionOnly(vocabulary=10, d_model=8)
    >>> tokens = torch.tensor([[2, 7, 8]])
    >>> at_once, state = model(tokens), model.start(1)
    >>> for token in tokens.T:
    ...     last, state = model.step(token, state)
    >>> torch.allclose(last, at_once[:, 2], atol=1e-6)
    True
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        d_model: int = 64,
        num_heads: int = 1,
        num_layers: int = 2,
        positions: Positions | None = None,
    ) -> None:
        """Draw the layers as torch does, the embedding with a feature of about 1 / √d_model."""
        super().__init__()
        check_sizes(vocabulary=vocabulary, d_model=d_model, num_heads=num_heads)
        check_sizes(num_layers=num_layers)
        if positions is None:
            positions = RotaryPositions(d_k=d_model // num_heads)
        self.embedding = token_embedding(vocabulary, d_model, name="tokens")
        within = within_attention(positions)
        self.layers = nn.ModuleList(
            AttentionOnlyLayer(d_model=d_model, num_heads=num_heads, positions=within)
            for _ in range(num_layers)
        )
        self.positions = positions
        self.norm = nn.LayerNorm(d_model)
        self.readout = nn.Linear(d_model, vocabulary)

    def forward(
        self, tokens: TokenIds, mask: Mask | None = None, *, cache: Cache | None = None
    ) -> Float[Tensor, "batch token vocabulary"]:
        """Return, at every place, a guess at the token that follows.

        Args:
            tokens: (batch, token).
            mask: True where a token may see another, besides hiding the future.
            cache: What was read before; it goes on by these tokens.
        """
        offset = 0 if cache is None else cache.position
        x: Tensor = self.positions(self.embedding(tokens), offset=offset)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, cache=None if cache is None else cache.layers[number])
        logits: Tensor = self.readout(self.norm(x))
        return logits

    def start(self, batch_size: int) -> Cache:
        """Return the state with nothing read.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        layers = cast("list[AttentionOnlyLayer]", list(self.layers))
        return Cache([layer.attention.new_cache() for layer in layers], batch_size=batch_size)

    def step(self, token: StepIds, state: Cache) -> tuple[StepLogits, Cache]:
        """Read one token of each text, and guess the next; ``state`` is left as it was.

        Raises:
            ValueError: if there are not as many tokens as texts.
        """
        check_one_each(token, state.batch_size)
        read = state.fork()
        return self(token[:, None], cache=read)[:, 0], read
