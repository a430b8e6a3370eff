"""From torch's ``nn.MultiheadAttention`` to our multi-head attention, and back.

Both store a linear map in the same way, so parameters are only copied. Torch joins the biases of
the three input projections, and their weights where the sizes allow; ours joins nothing.
"""

import math

import torch
from torch import Tensor, nn

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions.scheme import Positions, entrances


def attention_from_torch(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """Return our attention with copies of the parameters of torch's.

    Raises:
        ValueError: if it was made with ``add_bias_kv`` or ``add_zero_attn``.

    >>> theirs = nn.MultiheadAttention(8, 2, kdim=5)
    >>> ours = attention_from_torch(theirs)
    >>> ours.d_key, torch.equal(ours.W_k.weight, theirs.k_proj_weight)
    (5, True)
    """
    for name, added in (
        ("add_bias_kv", module.bias_k is not None),
        ("add_zero_attn", module.add_zero_attn),
    ):
        if added:
            raise ValueError(f"{name}: expected False, for ours adds no key, got True")
    with torch.device("meta"):  # nothing is drawn: every parameter is a copy
        ours = MultiHeadAttention(
            d_model=module.embed_dim,
            num_heads=module.num_heads,
            d_key=module.kdim,
            d_value=module.vdim,
            dropout=module.dropout,
            bias=module.in_proj_bias is not None,
        )
    for index, letter in enumerate("qkv"):
        rows = slice(index * ours.d_model, (index + 1) * ours.d_model)
        joined = module.in_proj_weight
        weight = getattr(module, f"{letter}_proj_weight") if joined is None else joined[rows]
        _fill(getattr(ours, f"W_{letter}"), weight, module.in_proj_bias, rows)
    _fill(ours.W_o, module.out_proj.weight, module.out_proj.bias)
    return ours.train(module.training)


def attention_to_torch(module: MultiHeadAttention) -> nn.MultiheadAttention:
    """Return torch's attention, batch first, with copies of the parameters of ours.

    Raises:
        TypeError: if ours is of a derived class.
        ValueError: if ours has what torch's lacks: grouped heads of keys and values, a size of
            the heads that does not fill ``d_model``, norms of queries and keys, positions inside
            attention, a window or sinks, another scale; or if only some of the projections that
            torch joins are frozen.

    >>> attention_to_torch(MultiHeadAttention(d_model=8, num_heads=2)).in_proj_weight.shape
    torch.Size([24, 8])
    """
    _check_expressible(module)
    theirs = nn.MultiheadAttention(
        module.d_model,
        module.num_heads,
        dropout=module.dropout,
        bias=module.W_o.bias is not None,
        kdim=module.d_key,
        vdim=module.d_value,
        batch_first=True,
        device="meta",
    )
    linears = [module.W_q, module.W_k, module.W_v]
    if theirs.in_proj_weight is not None:
        theirs.in_proj_weight = _joined([linear.weight for linear in linears])
    else:
        for letter, linear in zip("qkv", linears, strict=True):
            setattr(theirs, f"{letter}_proj_weight", _joined([linear.weight]))
    if theirs.in_proj_bias is not None:
        theirs.in_proj_bias = _joined([linear.bias for linear in linears])
    _fill(theirs.out_proj, module.W_o.weight, module.W_o.bias)
    return theirs.train(module.training)


def check_outside_attention(positions: Positions) -> None:
    """Check that positions enter at the input, if at all: torch's attention has none.

    >>> from attention_book.attention import SinusoidalPositions
    >>> check_outside_attention(SinusoidalPositions(d_model=8))

    Raises:
        ValueError: if they turn queries and keys, or add to the scores or to the output.
    """
    if entrances(positions) - {"forward"}:
        raise ValueError(
            "positions: expected none inside attention, for torch's has none, "
            f"got {type(positions).__name__}"
        )


def _check_expressible(module: MultiHeadAttention) -> None:
    if type(module) is not MultiHeadAttention:
        raise TypeError(
            "module: expected a MultiHeadAttention itself, for torch's attention is no other, "
            f"got a {type(module).__name__}"
        )
    if module.window is not None or module.sinks is not None:
        raise ValueError(
            "window and sinks: expected None, for torch's attention has neither, got "
            f"window={module.window}, sinks={module.sinks is not None}"
        )
    if module.num_kv_heads != module.num_heads:
        raise ValueError(
            f"num_kv_heads: expected num_heads = {module.num_heads}, for torch's attention has "
            f"no groups, got {module.num_kv_heads}"
        )
    if module.num_heads * module.d_k != module.d_model:
        raise ValueError(
            f"d_k: expected d_model / num_heads = {module.d_model} / {module.num_heads}, for "
            f"torch's attention has no other, got {module.d_k}"
        )
    if module.query_norm is not None or module.key_norm is not None:
        raise ValueError(
            "query_norm and key_norm: expected None, for torch's attention has no norms, got one"
        )
    usual = (module.d_model // module.num_heads) ** -0.5
    if module.scale is not None and not math.isclose(module.scale, usual):
        raise ValueError(
            "scale: expected None, for torch's attention has 1 / sqrt(d_k) alone, "
            f"got {module.scale}"
        )
    check_outside_attention(module.positions)


def _fill(
    linear: nn.Linear,
    weight: Tensor,
    bias: Tensor | None,
    rows: slice = slice(None),
) -> None:
    """Give a linear map copies of a weight, and of some rows of a bias."""
    linear.weight = nn.Parameter(weight.detach().clone(), requires_grad=weight.requires_grad)
    if bias is not None:
        kept = bias.detach()[rows].clone()
        linear.bias = nn.Parameter(kept, requires_grad=bias.requires_grad)


def _joined(parts: list[Tensor]) -> nn.Parameter:
    """Return a copy of the parts as one parameter, frozen if they are."""
    trained = {part.requires_grad for part in parts}
    if len(trained) > 1:
        raise ValueError(
            "requires_grad: expected the same of W_q, W_k and W_v, which torch joins, "
            "got True and False"
        )
    return nn.Parameter(torch.cat([part.detach() for part in parts]), requires_grad=trained.pop())
