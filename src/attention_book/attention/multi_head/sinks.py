"""Learned attention sinks: one logit a head takes the weight that no key deserves (gpt-oss)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.multi_head.heads import group_heads
from attention_book.attention.multi_head.window_cache import WindowAttention


class SinkAttention(WindowAttention):
    """Attention whose softmax has one more term, so that a query may look at nothing.

    .. math:: \\alpha_{ij} = \\frac{e^{a_{ij}}}{e^{s_h} + \\sum_{j'} e^{a_{ij'}}}

    One learned number :math:`s_h` for each head (OpenAI's gpt-oss, 2025). It acts as a key
    that scores :math:`s_h` whatever is asked, and whose value is 0; with :math:`s_h = 0`, Miller
    (2023). The weights of a query sum to less than 1: what is missing went to the sink. A
    query that sees no key gets 0.

    Args:
        window: How many positions a query sees, its own included; None lets it see all
            before it.
        num_first: How many of the text's first positions every query sees besides.
        kwargs: As of :class:`~attention_book.attention.MultiHeadAttention`.

    >>> attention, x = SinkAttention(d_model=8, num_heads=2), torch.zeros(1, 3, 8)
    >>> attention.weights(x, x)[0, 0]  # all scores are 0, and so is the sink's
    tensor([[0.5000, 0.0000, 0.0000],
            [0.3333, 0.3333, 0.0000],
            [0.2500, 0.2500, 0.2500]], grad_fn=<SelectBackward0>)
    """

    needs_weights = True

    def __init__(self, *, window: int | None = None, num_first: int = 0, **kwargs: Any) -> None:
        """Create the projections; the sinks start at 0."""
        super().__init__(window=window, num_first=num_first, **kwargs)
        self.sinks = nn.Parameter(torch.zeros(self.num_heads))

    def _weights(
        self, asked: Tensor, keys: Tensor, mask: Tensor | None, start: int, is_causal: bool
    ) -> Tensor:
        """Let the sink stand behind the last key, visible to all, and drop its weight."""
        with_sink = F.pad(keys, (0, 0, 0, 1))
        if mask is not None:
            mask = F.pad(mask.expand(*mask.shape[:-1], keys.shape[-2]), (0, 1), value=True)
        return super()._weights(asked, with_sink, mask, start, is_causal)[..., :-1]

    def _bias(self, asked: Tensor, num_keys: int, start: int) -> Tensor | None:
        """Add the sinks' scores to the keys' biases: their own key is 0, so this is all."""
        logits = self.sinks.to(asked.dtype)[None, :, None, None]
        column = group_heads(logits.expand(-1, -1, asked.shape[-2], -1), self.num_kv_heads)
        bias = super()._bias(asked, num_keys - 1, start)
        if bias is None:
            return F.pad(column, (num_keys - 1, 0))
        column = column.expand(len(bias), -1, -1, -1)
        return torch.cat((bias.expand(-1, column.shape[1], column.shape[2], -1), column), dim=-1)
