"""Attention with several heads, as PyTorch's module has it: True in a mask means "may not be seen".

Left out: keys and values of other widths (`kdim`, `vdim`), `add_bias_kv`, `add_zero_attn`.
"""

import math

from .._creation import empty, zeros
from .._dtypes import bool_
from .._missing import missing
from .._products import matmul
from .._rows import softmax
from . import functional as F
from . import init
from .layers import Linear
from .module import Module
from .parameter import Parameter


class NonDynamicallyQuantizableLinear(Linear):
    """A linear layer: the name is PyTorch's, and shows where modules are printed."""


class MultiheadAttention(Module):
    """Project, split into heads, look, join, project."""

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if (
            add_bias_kv
            or add_zero_attn
            or kdim not in (None, embed_dim)
            or vdim not in (None, embed_dim)
        ):
            raise missing(
                "torch.nn.MultiheadAttention with kdim, vdim, add_bias_kv or add_zero_attn"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.batch_first, self.head_dim = batch_first, embed_dim // num_heads
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, dtype=dtype))
        self.register_parameter(
            "in_proj_bias", Parameter(empty(3 * embed_dim, dtype=dtype)) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, dtype=dtype)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def _heads(self, x, part):
        """Project (batch, position, feature), and split into (batch, head, position, feature)."""
        rows = slice(part * self.embed_dim, (part + 1) * self.embed_dim)
        bias = None if self.in_proj_bias is None else self.in_proj_bias[rows]
        x = F.linear(x, self.in_proj_weight[rows], bias)
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def _bias(self, mask, shape):
        """Return a mask as numbers that are added to the scores (batch, head, query, key)."""
        if mask.dim() == 3:
            mask = mask.unflatten(0, (-1, self.num_heads))
        mask = mask.expand(shape)
        if mask.dtype is bool_:
            return zeros(shape, dtype=self.in_proj_weight.dtype).masked_fill(mask, -math.inf)
        return mask

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer"
                " module method `generate_square_subsequent_mask` to create this mask."
            )
        batched = query.dim() == 3
        inputs = [query, key, value]
        if not batched:
            inputs = [each.unsqueeze(0) for each in inputs]
        elif not self.batch_first:
            inputs = [each.transpose(0, 1) for each in inputs]
        q, k, v = (self._heads(each, part) for part, each in enumerate(inputs))
        scores = matmul(q * math.sqrt(1 / self.head_dim), k.mT)
        if attn_mask is not None:
            scores = scores + self._bias(attn_mask, scores.shape)
        if key_padding_mask is not None:
            hidden = key_padding_mask if batched else key_padding_mask.unsqueeze(0)
            scores = scores + self._bias(hidden[:, None, None], scores.shape)
        weights = F.dropout(softmax(scores, -1), self.dropout, self.training)
        made = self.out_proj(matmul(weights, v).transpose(1, 2).flatten(2))
        if not batched:
            made, weights = made.squeeze(0), weights.squeeze(0)
        elif not self.batch_first:
            made = made.transpose(0, 1)
        if not need_weights:
            return made, None
        return made, weights.mean(dim=-3) if average_attn_weights else weights
