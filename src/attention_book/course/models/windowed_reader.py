"""A language model of attention alone whose layers can look through a window, or at a sink."""

from typing import cast

from attention_book.attention import MultiHeadAttention, Positions
from attention_book.attention.positions.scheme import within_attention
from attention_book.course.models.attention_only import AttentionOnly, AttentionOnlyLayer


class WindowedReader(AttentionOnly):
    """An :class:`~attention_book.course.models.AttentionOnly` with windows and sinks.

    Train it with one window and let it read with another: :meth:`see` only changes what is
    visible. Step by step it keeps no more keys than its window needs.

    Args:
        vocabulary: Number of different tokens.
        d_model: Size of a token's vector.
        num_heads: Number of heads in each layer.
        num_layers: Number of layers.
        positions: How positions enter every layer; rotary when None.
        window: How many tokens each layer sees, the last one included; None: all.
        learned_sinks: Whether each head has a sink of its own.

    >>> import torch
    >>> model = WindowedReader(vocabulary=10, d_model=8, window=2)
    >>> tokens = torch.tensor([[2, 7, 8, 4, 5]])
    >>> at_once, state = model(tokens), model.start(1)
    >>> for token in tokens.T:
    ...     last, state = model.step(token, state)
    >>> torch.allclose(last, at_once[:, -1], atol=1e-6), state.layers[0].num_keys
    (True, 2)
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        d_model: int = 64,
        num_heads: int = 1,
        num_layers: int = 2,
        positions: Positions | None = None,
        window: int | None = None,
        learned_sinks: bool = False,
    ) -> None:
        """Create the model, and put windowed attention in every layer."""
        super().__init__(
            vocabulary=vocabulary,
            d_model=d_model,
            num_heads=num_heads,
            num_layers=num_layers,
            positions=positions,
        )
        within = within_attention(self.positions)
        for layer in self.layers:
            layer.attention = MultiHeadAttention(
                d_model=d_model,
                num_heads=num_heads,
                positions=within,
                window=window,
                sinks=learned_sinks,
            )

    def see(self, window: int | None, *, num_first: int = 0) -> "WindowedReader":
        """Let every layer see so many tokens, and the first ones besides; return the model.

        Args:
            window: How many tokens, the last one included; None: all.
            num_first: How many of the text's first tokens.

        >>> WindowedReader(vocabulary=10, d_model=8).see(4, num_first=1).layers[0].attention
        MultiHeadAttention(
          num_heads=1, dropout=0.0, window=4, num_first=1
          (W_q): Linear(in_features=8, out_features=8, bias=False)
          (W_k): Linear(in_features=8, out_features=8, bias=False)
          (W_v): Linear(in_features=8, out_features=8, bias=False)
          (W_o): Linear(in_features=8, out_features=8, bias=False)
          (positions): RotaryPositions(d_k=8, base=10000)
        )
        """
        for layer in cast("list[AttentionOnlyLayer]", list(self.layers)):
            layer.attention.window, layer.attention.num_first = window, num_first
        return self
