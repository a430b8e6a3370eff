"""Splitting vectors into heads, merging them, and sharing keys and values between heads."""

from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention.masks import causal_mask, check_mask
from attention_book.attention.multi_head.kv_cache import KVCache
from attention_book.foundations.checks import check_weights, check_whole
from attention_book.foundations.shapes import Features, Heads


def split_heads(x: Features, num_heads: int) -> Heads:
    """Cut each position's vector into equal parts, one for each head.

    The features are cut first, then the new axis moves before the positions. To read
    (position, d_model) as (head, position, d_k) at once would fit in size, but it would
    hand whole positions to a head. Nothing is copied: the result is a view.

    Args:
        x: One vector for each position.
        num_heads: How many parts; ``d_model`` must be a multiple of it.

    Returns:
        Head h has the features :math:`h \\, d_k` to :math:`(h + 1) \\, d_k - 1` of every
        position, where :math:`d_k = d_\\text{model} / h`.

    Raises:
        ValueError: if there are too few axes or features, or the parts are not equal.

    >>> import torch
    >>> x = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]).float()
    >>> split_heads(x, num_heads=2)
    tensor([[[ 1.,  2.],
             [ 5.,  6.],
             [ 9., 10.]],
    <BLANKLINE>
            [[ 3.,  4.],
             [ 7.,  8.],
             [11., 12.]]])
    """
    _check_axes("x: expected the axes (*batch, position, d_model)", x, 2)
    check_divisible(x.shape[-1], num_heads)
    by_head: Tensor = x.unflatten(-1, (num_heads, -1))
    return by_head.transpose(-3, -2)


def merge_heads(heads: Heads) -> Features:
    """Join the parts of each position's vector again: the inverse of ``split_heads``.

    Where the memory allows it the result is a view, and torch's fused attention leaves its
    output so that it does.

    Args:
        heads: One part for each head and position.

    Raises:
        ValueError: if there are too few axes.

    >>> import torch
    >>> x = torch.rand(5, 3, 8)
    >>> torch.equal(merge_heads(split_heads(x, num_heads=4)), x)
    True
    """
    _check_axes("heads: expected the axes (*batch, head, position, d_k)", heads, 3)
    return heads.transpose(-3, -2).flatten(-2)


def check_divisible(d_model: int, num_heads: int) -> None:
    """Check that a vector can be cut into equal parts.

    Raises:
        ValueError: if it can't.
    """
    if num_heads < 1 or d_model < 1 or d_model % num_heads != 0:
        raise ValueError(
            "num_heads: expected a divisor of d_model, "
            f"got num_heads={num_heads} for d_model={d_model}"
        )


def _check_axes(expected: str, tensor: Tensor, at_least: int) -> None:
    if tensor.ndim < at_least:
        raise ValueError(f"{expected}, got the shape {tuple(tensor.shape)}")


def checked_groups(num_heads: int, num_kv_heads: int | None) -> int:
    """Return the number of heads of keys and values; None means as many as of queries.

    Raises:
        ValueError: if it does not divide the number of heads.
    """
    if num_kv_heads is None:
        return num_heads
    check_whole(num_kv_heads=num_kv_heads)
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError(
            "num_kv_heads: expected a divisor of num_heads, "
            f"got num_kv_heads={num_kv_heads} for num_heads={num_heads}"
        )
    return num_kv_heads


def group_heads(heads: Tensor, num_groups: int) -> Tensor:
    """Line up the queries of all heads that share keys and values: nothing is copied for them.

    Grouped-query attention (GQA, Ainslie et al. 2023): heads :math:`g r` to
    :math:`(g + 1) r - 1` of h belong to group g, where :math:`r = h / \\text{num\\_groups}`.

    Args:
        heads: (batch, head, query, ...).
        num_groups: How many heads of keys and values there are.

    Returns:
        (batch, group, head in group * query, ...).

    >>> import torch
    >>> group_heads(torch.rand(5, 6, 7, 2), num_groups=3).shape
    torch.Size([5, 3, 14, 2])
    """
    if heads.shape[1] == num_groups:
        return heads
    grouped: Tensor = heads.unflatten(1, (num_groups, -1))
    return grouped.flatten(2, 3)


def ungroup_heads(grouped: Tensor, num_heads: int) -> Tensor:
    """Give each head its own queries back: the inverse of :func:`group_heads`.

    >>> import torch
    >>> ungroup_heads(torch.rand(5, 3, 14, 2), num_heads=6).shape
    torch.Size([5, 6, 7, 2])
    """
    if grouped.shape[1] == num_heads:
        return grouped
    heads: Tensor = grouped.unflatten(2, (num_heads // grouped.shape[1], -1))
    return heads.flatten(1, 2)


def heads_mask(mask: Tensor | None, asked: Heads, num_keys: int) -> Tensor | None:
    """Check the mask of a call with several heads, and give it an axis for them.

    Args:
        mask: (query, key); (batch, query, key) for all heads; or (batch, head, query, key).
        asked: The heads' queries.
        num_keys: How many keys there are.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if its shape does not fit, or it is on another device.

    >>> import torch
    >>> heads_mask(torch.ones(3, 1, 5, dtype=torch.bool), torch.rand(3, 2, 7, 4), 5).shape
    torch.Size([3, 1, 1, 5])
    """
    if mask is None:
        return None
    num_examples, num_heads, num_queries, _ = asked.shape
    if isinstance(mask, Tensor) and mask.ndim == 3:
        if mask.shape[0] not in (1, num_examples):
            ways = {
                num_heads: "; one for each head is mask[None]",
                num_examples * num_heads: "; torch's, examples times heads, is "
                f"mask.unflatten(0, ({num_examples}, {num_heads}))",
            }
            raise ValueError(
                "mask: expected a shape (batch, query, key) for all heads, or (batch, head, "
                f"query, key), with {num_examples} examples and {num_heads} heads, got "
                f"{tuple(mask.shape)}{ways.get(mask.shape[0], '')}"
            )
        mask = mask.unsqueeze(1)
    check_mask(mask, num_queries, num_keys, batch=asked.shape[:-2], device=asked.device)
    return mask


def group_mask(mask: Tensor | None, asked: Heads, num_groups: int) -> Tensor | None:
    """Give a mask the axes of grouped queries.

    Args:
        mask: What :func:`heads_mask` made.
        asked: The heads' queries, before they are grouped.
        num_groups: How many heads of keys and values there are.
    """
    num_heads, num_queries = asked.shape[1:3]
    if mask is None or num_groups == num_heads:
        return mask
    mask = mask[(None,) * (4 - mask.ndim)]
    if mask.shape[1] == 1:  # one for all heads is repeated for those of a group
        rows = mask.expand(-1, num_heads // num_groups, num_queries, -1)
        return rows.flatten(1, 2).unsqueeze(1)
    return group_heads(mask.expand(-1, -1, num_queries, -1), num_groups)


def check_given(weights: Tensor, values: Tensor, num_heads: int, num_kv_heads: int) -> None:
    """Check that there are weights for each head, and values for each that has its own.

    Raises:
        ValueError: if the shapes do not fit.
    """
    if values.shape[1] != num_kv_heads:
        raise ValueError(f"values: expected {num_kv_heads} heads, got {values.shape[1]}")
    check_weights(weights, values[:, :1].expand(-1, num_heads, -1, -1))


def without_unweighted(weights: Tensor, values: Tensor) -> Tensor:
    """Return values with zeros for infinity and NaN where no query has a weight.

    >>> import torch
    >>> values = torch.tensor([[1.0], [float("nan")], [float("inf")]])
    >>> without_unweighted(torch.tensor([[1.0, 0.0, 0.5]]), values)
    tensor([[1.],
            [0.],
            [inf]])
    """
    unweighted = (weights == 0).all(dim=-2, keepdim=True).mT
    return values.masked_fill(unweighted & ~values.isfinite(), 0.0)


def first_query(num_queries: int, keys: Tensor | KVCache, offset: int, *, is_causal: bool) -> int:
    """Return where the first query stands among the keys; raw keys begin where it stands.

    Args:
        num_queries: How many queries there are.
        keys: The keys of the call, or a cache.
        offset: Position of the first query.
        is_causal: Whether the call is causal: then it must be plain.

    Raises:
        ValueError: if the call is causal, and there are more or fewer keys than queries, but no
            cache, or a cache and no offset.

    >>> import torch
    >>> first_query(2, KVCache(torch.rand(1, 1, 9, 4), torch.rand(1, 1, 9, 4)), 7, is_causal=True)
    7
    """
    if isinstance(keys, KVCache):
        if is_causal and offset == 0 and num_queries != keys.position:
            counts = f"{num_queries}, {keys.num_keys}"
            raise ValueError(
                f"offset: expected where the first of {num_queries} queries stands among "
                f"{keys.position} keys, got {offset}; offset={keys.position - num_queries} where "
                "the last query stands at the last key; where the first stands at the first key, "
                f"leave is_causal out and give the mask causal_mask({counts}, offset=0)"
            )
        return offset
    if is_causal and num_queries != keys.shape[-2]:
        counts = f"{num_queries}, {keys.shape[-2]}"
        ahead = keys.shape[-2] - num_queries
        raise ValueError(
            f"is_causal: expected as many keys as queries, got {num_queries} queries and "
            f"{keys.shape[-2]} keys; leave it out and give a mask: causal_mask({counts}, offset=0) "
            f"where the first query stands at the first key, causal_mask({counts}, offset={ahead}) "
            "where the last query stands at the last key (with positions, give project(keys) and "
            f"offset={ahead} instead)"
        )
    return 0


def past_only(mask: Tensor | None, asked: Tensor, keys: Tensor, start: int) -> Tensor | None:
    """Hide from each query the keys behind its own position, besides what ``mask`` hides.

    A single query at the last key has all behind it: nothing is hidden, and no mask is made.

    >>> import torch
    >>> past_only(None, torch.rand(1, 1, 2, 4), torch.rand(1, 1, 3, 4), start=1)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    num_queries, num_keys = asked.shape[-2], keys.shape[-2]
    if num_queries == 1 and start + 1 == num_keys:
        return mask
    past = causal_mask(num_queries, num_keys, offset=start, device=asked.device)
    return past if mask is None else past & mask


def linear_rows(linear: nn.Module, x: Tensor, rows: slice, num_rows: int) -> Tensor:
    """Apply some rows of a linear map, or all.

    A plain map multiplies by these rows alone; a slice that takes all would still cost the
    backward. What somebody wrapped, quantized, parametrized or hooked says what it does in a
    call only: it is called, and its output is cut.

    >>> import torch
    >>> linear, x = nn.Linear(4, 6), torch.rand(2, 4)
    >>> first = linear_rows(linear, x, slice(0, 2), num_rows=6)
    >>> _ = linear.register_forward_hook(lambda linear, given, output: 2 * output)
    >>> torch.allclose(linear_rows(linear, x, slice(0, 2), num_rows=6), 2 * first)
    True
    """
    if rows == slice(0, num_rows):
        whole: Tensor = linear(x)
        return whole
    if type(linear) is nn.Linear and is_told_by_its_matrix(linear):
        bias = None if linear.bias is None else linear.bias[rows]
        return F.linear(x, linear.weight[rows], bias)
    cut: Tensor = linear(x)[..., rows]
    return cut


def is_told_by_its_matrix(linear: nn.Module) -> bool:
    """Whether ``weight`` and ``bias`` say all that a call of this module does.

    So it is for an ``nn.Linear`` and for a class that makes its ``weight`` itself, unless
    somebody looks on by a hook, gave the object another ``forward``, or put a tensor of a kind
    of its own where the matrix was. Hooks of all modules at once, by which operations are
    counted, change nothing here: what is counted must be what is computed without them.

    >>> linear = nn.Linear(4, 6)
    >>> before = is_told_by_its_matrix(linear)
    >>> _ = linear.register_forward_pre_hook(lambda linear, given: None)
    >>> before, is_told_by_its_matrix(linear)
    (True, False)
    """
    if not isinstance(linear, nn.Linear):
        return False
    watched = (
        linear._forward_hooks
        or linear._forward_pre_hooks
        or linear._backward_hooks
        or linear._backward_pre_hooks
        or "forward" in linear.__dict__
    )
    own = type(linear) is nn.Linear or "weight" in vars(type(linear))
    return own and not watched and type(linear.weight) in (Tensor, nn.Parameter)
