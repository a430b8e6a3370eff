"""Single heads of multi-head attention: switch them off, measure what they look at, by relations.

One picture shows what one head did in one sentence. The functions here give numbers over
many sentences instead: what is lost without a head, and how much weight it puts somewhere.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book.attention import MultiHeadAttention
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.devices import sent
from attention_book.foundations.shapes import HeadWeights, TokenIds, Weights
from attention_book.inspection.interventions import Change, Visible, changed_attention

# --- heads -------------------------------------------------------------------------------------


class Head(NamedTuple):
    """A head's address in a model.

    Attributes:
        module: Name of its multi-head attention among the model's modules.
        number: Its place among that module's heads, from 0.

    >>> Head("encoder.layers.0.self_attention", 3).number
    3
    """

    module: str
    number: int


def attention_heads(model: nn.Module) -> tuple[Head, ...]:
    """Return all heads of a model, in the order of its modules.

    >>> attention_heads(nn.Sequential(MultiHeadAttention(d_model=6, num_heads=2)))
    (Head(module='0', number=0), Head(module='0', number=1))
    """
    return tuple(
        Head(name, number)
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
        for number in range(module.num_heads)
    )


def without_heads(numbers: Collection[int]) -> Change:
    """Return a change that switches some heads off: all their weights become 0.

    .. math:: \\alpha'^{(i)} = \\begin{cases} 0 & i \\text{ is off} \\\\
        \\alpha^{(i)} & \\text{otherwise} \\end{cases}

    A head without weights finds 0, so that its rows of :math:`W_o` add nothing; it is not made
    up for by the others. Michel et al. (2019), section 2.3, with the mask at 0.

    Args:
        numbers: The heads, from 0.

    Returns:
        A change for :func:`changed_attention`, for multi-head attention only.

    >>> attention, x = MultiHeadAttention(d_model=6, num_heads=2), torch.rand(1, 5, 6)
    >>> with changed_attention(attention, without_heads({0, 1})):
    ...     attention(x, x).abs().max().item()
    0.0
    """

    def change(weights: Weights, visible: Visible) -> Weights:
        num_heads = weights.shape[-3] if weights.ndim >= 4 else 0
        if unknown := [number for number in numbers if not 0 <= number < num_heads]:
            raise ValueError(
                f"numbers: expected heads from 0 to below {num_heads}, got {unknown[0]}"
            )
        on = torch.ones(num_heads, dtype=weights.dtype, device="cpu")
        on[list(numbers)] = 0
        return weights * sent(on, weights.device)[:, None, None]

    return change


@contextmanager
def pruned(model: nn.Module, heads: Collection[Head]) -> Iterator[None]:
    """Switch heads anywhere in a model off while the block lasts.

    Args:
        model: Holds multi-head attention.
        heads: Some of its :func:`attention_heads`.

    >>> model, x = nn.Sequential(MultiHeadAttention(d_model=6, num_heads=2)), torch.rand(1, 5, 6)
    >>> with pruned(model, attention_heads(model)):
    ...     model[0](x, x).abs().max().item()
    0.0
    """
    there = set(attention_heads(model))
    if unknown := [head for head in heads if head not in there]:
        raise ValueError(f"heads: expected heads of the model, got {unknown[0]}")
    off = defaultdict(set)
    for name, number in heads:
        off[name].add(number)
    with ExitStack() as changes:
        for name, numbers in off.items():
            module = model.get_submodule(name)
            changes.enter_context(changed_attention(module, without_heads(numbers)))
        yield


def head_importance(model: nn.Module, measure: Callable[[], float]) -> dict[Head, float]:
    """Switch each head off in turn; return by how much that raises a measure.

    .. math:: I_i = L(\\text{without head } i) - L

    With a loss, a large number is an important head. Every head is judged while all others
    work: two heads that stand in for each other both look unimportant.

    Args:
        model: Holds multi-head attention.
        measure: Takes nothing and runs the model, for example on held-out data.

    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <torch._C.Generator object at ...>
    >>> model, x = nn.Sequential(MultiHeadAttention(d_model=6, num_heads=2)), torch.rand(1, 5, 6)
    >>> effects = head_importance(model, lambda: model[0](x, x).square().sum().item())
    >>> [head.number for head in effects]
    [0, 1]
    """
    before, effects = measure(), {}
    for head in attention_heads(model):
        with pruned(model, [head]):
            effects[head] = measure() - before
    return effects


def weight_on(
    weights: HeadWeights,
    chosen: Bool[Tensor, "#batch #query #key"],
    mask: Bool[Tensor, "#batch #query #key"],
) -> Float[Tensor, " head"]:
    """Return how much of its weight each head puts on chosen pairs, on average over the queries.

    .. math:: \\frac{1}{|Q|} \\sum_{q \\in Q} \\sum_{k : (q, k) \\text{ chosen}} \\alpha^{(i)}_{qk}

    Q are the queries that may see at least one chosen key. Set beside it what
    :func:`even` weights put there.

    Args:
        weights: (batch, head, query, key).
        chosen: True = this pair of query and key counts.
        mask: True = a real query that may see a real key.

    >>> weights = torch.tensor([[[[0.9, 0.1], [0.3, 0.7]]]])
    >>> last = torch.tensor([[[False, True]]])
    >>> weight_on(weights, last, mask=torch.ones(1, 2, 2, dtype=torch.bool))
    tensor([0.4000])
    """
    pairs = (chosen.to(weights.device) & mask.to(weights.device)).expand(
        weights.shape[0], *weights.shape[2:]
    )
    num_queries = pairs.any(dim=-1).sum()
    if num_queries == 0:
        raise ValueError("chosen: expected a key that some query may see, got none")
    return (weights * pairs[:, None]).sum(dim=(0, 2, 3)) / num_queries


def offset_profile(
    weights: HeadWeights,
    mask: Bool[Tensor, "#batch #query #key"],
    offsets: Sequence[int] = (-1, 0, 1),
) -> Float[Tensor, "head offset"]:
    """Return the mean weight of each head on the key at each offset from the query.

    .. math:: \\operatorname{mean}_{q} \\; \\alpha^{(i)}_{q,\\, q + o}

    -1 is the previous token, 0 the query's own, 1 the next. A query without such a key
    does not count. Voita et al. (2019), section 5.1, look for positional heads in a like way.

    Args:
        weights: (batch, head, query, key).
        mask: True = a real query that may see a real key.
        offsets: Position of the key minus position of the query.

    >>> weights = torch.tensor([[[[1.0, 0.0], [0.8, 0.2]]]])
    >>> offset_profile(weights, torch.ones(1, 2, 2, dtype=torch.bool))
    tensor([[0.8000, 0.6000, 0.0000]])
    """
    queries, keys = (torch.arange(size, device=weights.device) for size in weights.shape[-2:])
    away = keys - queries[:, None]
    return torch.stack([weight_on(weights, (away == each)[None], mask) for each in offsets], dim=1)


# --- relations between positions ---------------------------------------------------------------


Pairs = Bool[Tensor, "text query key"]


def places_back(length: int, distance: int, *, device: torch.device | str | None = None) -> Pairs:
    """Return the pairs whose key stands ``distance`` places before the query.

    A head that puts most of its weight on distance 1 is a previous-token head (Elhage et
    al. 2021).

    Args:
        length: How many tokens the text has.
        distance: 1 is the token before.
        device: Where to make them; what takes pairs moves them to its weights anyway.

    >>> places_back(3, 1).long()
    tensor([[[0, 0, 0],
             [1, 0, 0],
             [0, 1, 0]]])
    """
    check_sizes(length=length)
    if distance < 0:
        raise ValueError(f"distance: expected 0 or more, got {distance}")
    place = torch.arange(length, device=device)
    return (place[:, None] - place == distance)[None]


def after_earlier(tokens: TokenIds, distance: int = 1) -> Pairs:
    """Return the pairs whose key stands ``distance`` places after an earlier token like the query.

    .. math:: x_{k - d} = x_q, \\qquad k - d < q, \\quad k \\le q

    With d = 1 the key followed an earlier occurrence of the query's own token: where an
    induction head looks (Olsson et al. 2022: "prefix matching"). With d = 0 it is the
    occurrence itself, with d = 2 the token after the next.

    Args:
        tokens: (text, token).
        distance: d, counted from the earlier token.

    >>> after_earlier(torch.tensor([[7, 3, 9, 7]]))[0, 3].long()
    tensor([0, 1, 0, 0])
    """
    if distance < 0:
        raise ValueError(f"distance: expected 0 or more, got {distance}")
    place = torch.arange(tokens.shape[1], device=tokens.device)
    same = (tokens[:, :, None] == tokens[:, None, :]) & (place[:, None] > place)
    moved = same.roll(distance, dims=-1)  # what comes in again at the left end does not count
    return moved & (place >= distance) & (place[:, None] >= place)
