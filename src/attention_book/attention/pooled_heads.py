"""Fewer key-value heads for a trained model: the heads of each group are averaged."""

from copy import deepcopy

import torch

from attention_book.attention.multi_head import MultiHeadAttention


def pooled_heads(attention: MultiHeadAttention, num_kv_heads: int) -> MultiHeadAttention:
    """Turn trained multi-head attention into grouped-query attention (GQA).

    The keys' and values' projections of each group are replaced by their mean, as in Ainslie
    et al. (2023), section 2.1, who then train a little more. The queries' and the output's
    projections are copied. With as many heads as before the output is the same.

    Raises:
        TypeError: if the attention is of a derived class, or there is a change beside one of its
            matrices, as by LoRA.
        ValueError: if the number of heads does not divide, or keys or values have sizes of
            their own.

    >>> import torch
    >>> attention, x = MultiHeadAttention(d_model=8, num_heads=4), torch.rand(1, 5, 8)
    >>> torch.allclose(pooled_heads(attention, 4)(x, x), attention(x, x), atol=1e-6)
    True
    >>> pooled_heads(attention, 2).num_kv_heads
    2
    """
    if type(attention) is not MultiHeadAttention:
        raise TypeError(
            f"attention: expected a MultiHeadAttention itself, got a {type(attention).__name__}"
        )
    if not attention.d_key == attention.d_value == attention.d_model:
        raise ValueError(
            f"attention: expected keys and values of the size d_model={attention.d_model}, "
            f"got {attention.d_key} and {attention.d_value}"
        )
    for name in ("W_q", "W_k", "W_v", "W_o"):
        linear = attention.get_submodule(name)
        if {kind for kind, _ in linear.named_parameters()} - {"weight", "bias"}:
            raise TypeError(
                f"attention: expected weights and biases alone in {name}, "
                f"got a {type(linear).__name__}; merge_lora makes a plain map of a LoRA"
            )
    pooled = MultiHeadAttention(
        d_model=attention.d_model,
        num_heads=attention.num_heads,
        num_kv_heads=num_kv_heads,
        d_k=attention.d_k,
        dropout=attention.dropout,
        bias=attention.W_o.bias is not None,
        positions=deepcopy(attention.positions),  # training the one must not change the other
        scale=attention.scale,
        query_norm=deepcopy(attention.query_norm),
        key_norm=deepcopy(attention.key_norm),
        window=attention.window,
        num_first=attention.num_first,
        sinks=attention.sinks is not None,
    ).to(attention.W_o.weight)
    with torch.no_grad():
        if attention.sinks is not None and pooled.sinks is not None:
            pooled.sinks.copy_(attention.sinks)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            for kind, each in attention.get_submodule(name).named_parameters():
                if name in ("W_k", "W_v"):  # (group, head of the group, feature, …)
                    heads = each.unflatten(0, (num_kv_heads, -1, attention.d_k))
                    each = heads.mean(dim=1).flatten(0, 1)
                pooled.get_parameter(f"{name}.{kind}").copy_(each)
    return pooled.train(attention.training)


__all__ = ["pooled_heads"]
