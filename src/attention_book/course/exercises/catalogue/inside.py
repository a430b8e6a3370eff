"""Exercises on decoding and looking inside: the cache, what a head sees, leaks."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, dot_product_attention, masked_softmax
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Named, Probe, exercise, probe, shares, whole, wrong
from attention_book.foundations.bilingual import Bilingual

# --- cached-step -------------------------------------------------------------------------------

#: The output, and the keys and values to keep.
Step = tuple[Tensor, Tensor, Tensor]


def _cached(x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return dot_product_attention(x @ W_q, keys, values), keys, values


def _keeps_inputs(x: Tensor, k: Tensor, v: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
    k, v = torch.cat((k, x)), torch.cat((v, x))
    return dot_product_attention(x @ W_q, k @ W_k, v @ W_v), k, v


def _newest_first(x: Tensor, k: Tensor, v: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
    k, v = torch.cat((x @ W_k, k)), torch.cat((x @ W_v, v))
    return dot_product_attention(x @ W_q, k, v), k, v


def _looks(look: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Step]:
    """Return a step that appends what it should, and looks in its own way."""

    def step(x: Tensor, k: Tensor, v: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
        k, v = torch.cat((k, x @ W_k)), torch.cat((v, x @ W_v))
        return look(x @ W_q, k, v), k, v

    return step


def _query_as_it_is(x: Tensor, k: Tensor, v: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
    k, v = torch.cat((k, x @ W_k)), torch.cat((v, x @ W_v))
    return dot_product_attention(x, k, v), k, v


CACHED_STEP = exercise(
    "cached-step",
    "写 `step(x, keys, values, W_q, W_k, W_v)`：带键值缓存走一步。x 是新词（1，特征），keys 与 "
    "values 是存下的过去；返回 (output, keys, values)，新词也在其中。",
    "Write `step(x, keys, values, W_q, W_k, W_v)`: one step with a key–value cache. x is the new"
    " word (1, feature), keys and values are the past that was kept; return (output, keys,"
    " values), the new word included.",
    solution=_cached,
    probes=lambda: [
        probe((*torch.randn(3, 1, 2), *torch.randn(3, 2, 2))),
        probe((torch.randn(1, 4), *torch.randn(2, 3, 4), *torch.randn(3, 4, 4))),
        probe(
            (torch.randn(1, 9), *torch.randn(2, 3, 4), *torch.randn(3, 9, 4)),
            "词的特征比键的多",
            "a word has more features than a key",
        ),
        probe(
            (torch.randn(1, 4), *torch.empty(2, 0, 4), *torch.randn(3, 4, 4)),
            "还没有过去",
            "there is no past yet",
        ),
        probe(
            (whole(1, 4, most=60), *whole(2, 3, 4, most=60), *whole(3, 4, 4, most=3)),
            *hints.LARGE_SCORES,
        ),
    ],
    mistakes={
        "keeps-inputs": wrong(
            "存下的是输入，不是键和值：过去的每个词每一步都重新投影，代价随长度增长。先投影新词，"
            "再接到缓存后面。",
            "What is kept are inputs, not keys and values: every word of the past is projected"
            " again at every step, at a cost that grows with the length. Project the new word"
            " first, then append it.",
            _keeps_inputs,
        ),
        "newest-not-seen": wrong(
            "新词看不见自己：先把它的键和值接上，再看。",
            "The new word does not see itself: append its key and value before looking.",
            lambda x, k, v, W_q, W_k, W_v: (
                (dot_product_attention(x @ W_q, k, v) if len(k) else torch.zeros_like(x)),
                torch.cat((k, x @ W_k)),
                torch.cat((v, x @ W_v)),
            ),
        ),
        "newest-not-kept": wrong(
            "新词没有存下来：返回接上新词之后的 keys 与 values。",
            "The new word is not kept: return keys and values with it appended.",
            lambda x, k, v, W_q, W_k, W_v: (_cached(x, k, v, W_q, W_k, W_v)[0], k, v),
        ),
        "past-dropped": wrong(
            "只存下了新词，过去全丢了。",
            "Only the new word is kept, and the past is lost.",
            lambda x, k, v, W_q, W_k, W_v: (_cached(x, k, v, W_q, W_k, W_v)[0], x @ W_k, x @ W_v),
        ),
        "newest-first": wrong(
            "新词要接在最后：输出虽然一样，缓存的次序却与位置对不上了。",
            "The new word goes to the end: the output is the same, but the order of the cache no"
            " longer matches the positions.",
            _newest_first,
        ),
        "not-scaled": wrong(
            *hints.NOT_SCALED, _looks(lambda q, k, v: (q @ k.mT).softmax(dim=-1) @ v)
        ),
        "over-the-query": wrong(
            *hints.OVER_OTHER_AXIS,
            _looks(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=0) @ v),
        ),
        "bare-exponentials": wrong(
            "评分大时指数溢出成无穷：交给 `softmax`。",
            "For large scores the exponential overflows to infinity: leave it to `softmax`.",
            _looks(lambda q, k, v: shares((q @ k.mT / q.shape[-1] ** 0.5).exp()) @ v),
        ),
        "weights-transposed": wrong(
            "投影是 `x @ W`，W 不转置。",
            "The projections are `x @ W`; W is not transposed.",
            lambda x, k, v, W_q, W_k, W_v: _cached(x, k, v, W_q.mT, W_k.mT, W_v.mT),
        ),
        "query-not-projected": wrong(
            "查询也要投影：`x @ W_q`。",
            "The query is projected as well: `x @ W_q`.",
            _query_as_it_is,
        ),
        "appended-twice": wrong(
            "新词接了两次。",
            "The new word was appended twice.",
            lambda x, k, v, *W: _cached(x, *_cached(x, k, v, *W)[1:], *W),
        ),
    },
)


# --- previous-weight ---------------------------------------------------------------------------


def _on_previous(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)


def _before(weights: Tensor) -> Tensor:
    """Return each query's weight on all earlier words."""
    return weights.tril(-1).sum(dim=-1)


PREVIOUS_WEIGHT = exercise(
    "previous-weight",
    "写 `on_previous(weights)`：每个头平均把多少权重放在前一个词上；weights 的形状是（头，查询，"
    "键），返回（头）。",
    "Write `on_previous(weights)`: how much weight each head puts on the previous word on"
    " average; weights has the shape (head, query, key), the result (head).",
    solution=_on_previous,
    probes=lambda: [
        probe((torch.randn(2, 4, 4).softmax(dim=-1),)),
        probe((torch.randn(3, 5, 5).softmax(dim=-1),)),
        probe(
            (masked_softmax(torch.randn(2, 4, 4), causal_mask(4)),),
            "权重是因果的",
            "the weights are causal",
        ),
        probe(
            (torch.randn(1, 2, 2).softmax(dim=-1),),
            "只有一个头、两个词",
            "there are one head and two words",
        ),
    ],
    mistakes={
        "next-word": wrong(
            "这是后一个词：行是查询，列是键，前一个在对角线的下方。",
            "That is the next word: rows are queries, columns keys, and the previous one is below"
            " the diagonal.",
            lambda w: w.diagonal(1, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "own-word": wrong(
            "这是词自己：要对角线下方的一条。",
            "That is the word itself: take the diagonal below.",
            lambda w: w.diagonal(0, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "first-counted": wrong(
            "第一个词没有前一个词：平均只取其余的 n − 1 个查询。",
            "The first word has no previous one: take the mean over the other n − 1 queries.",
            lambda w: w.diagonal(-1, dim1=-2, dim2=-1).sum(dim=-1) / w.shape[-1],
            lambda w: w.roll(1, dims=-1).diagonal(0, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "heads-mixed": wrong(
            "各个头不要平均到一起。",
            "Do not average over the heads.",
            lambda w: _on_previous(w).mean().expand(len(w)),
            lambda w: _on_previous(w).mean(),
        ),
        "sum": wrong(
            "加起来了，还没有除以个数。",
            "This is the sum: divide by how many there are.",
            lambda w: w.diagonal(-1, dim1=-2, dim2=-1).sum(dim=-1),
        ),
        "largest": wrong(
            "要的是平均，不是最大的一个。",
            "The mean is asked for, not the largest.",
            lambda w: w.diagonal(-1, dim1=-2, dim2=-1).amax(dim=-1),
        ),
        "two-before": wrong(
            "差了一格：这是前面第二个词。",
            "Off by one: this is the word two places before.",
            lambda w: w.diagonal(-2, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "all-before": wrong(
            "前面所有的词都算进来了：只要紧挨着的一个。",
            "All earlier words are counted: only the one right before is asked for.",
            lambda w: _before(w).mean(dim=-1),
            lambda w: _before(w)[:, 1:].mean(dim=-1),
        ),
        "share-of-words": wrong(
            "数的是有多少个词最看重前一个词；要的是权重的平均。",
            "This counts for how many words the previous one weighs most; asked for is the mean"
            " weight.",
            lambda w: (
                (w.argmax(dim=-1)[:, 1:] == torch.arange(w.shape[-1] - 1)).float().mean(dim=-1)
            ),
        ),
    },
)


# --- looks-ahead -------------------------------------------------------------------------------


def _layers() -> Iterator[Probe]:
    masks = {
        "causal": causal_mask(4),
        "sees-all": None,
        "one-ahead": causal_mask(4, offset=1),
        "future-only": causal_mask(4).mT,
        "past-only": causal_mask(4, offset=-1),
        "word-1-sees-word-2": _causal_but(0, 1),
        "word-1-sees-word-4": _causal_but(0, 3),
        "word-2-sees-word-3": _causal_but(1, 2),
        "word-2-sees-word-4": _causal_but(1, 3),
        "word-3-sees-word-4": _causal_but(2, 3),
    }
    for name, mask in masks.items():
        layer = Named(name, lambda x, mask=mask: _layer(x, mask))
        yield probe((layer, torch.randn(4, 8)))
    faint = Named("faint", lambda x: _layer(x, causal_mask(4)) + 1e-3 * x.mean(dim=0))
    yield probe((faint, torch.randn(4, 8)), "泄漏很弱", "the leak is faint")
    rounding = Named("rounding", _rounding)
    about = Bilingual("只有舍入误差不同", "nothing but rounding differs")
    yield Probe((rounding, torch.randn(4, 8)), about)
    previous = Named("previous-word", lambda x: torch.cat((torch.zeros_like(x[:1]), x[:-1])))
    yield probe((previous, torch.randn(4, 8)), "只看前一个词", "it sees the word before alone")
    one = Bilingual("只有一个词", "there is one word")
    yield Probe((Named("sees-all", lambda x: _layer(x, None)), torch.randn(1, 8)), one)


def _layer(x: Tensor, mask: Tensor | None) -> Tensor:
    """Attend with the mask of as many words as there are."""
    return dot_product_attention(x, x, x, None if mask is None else mask[: len(x), : len(x)])


def _rounding(x: Tensor) -> Tensor:
    """See the past alone, with numbers whose last bits depend on the future."""
    scale = 1 + x.square().sum()
    return _layer(x, causal_mask(len(x))) * scale / scale


def _causal_but(query: int, key: int) -> Tensor:
    mask = causal_mask(4)
    mask[query, key] = True
    return mask


def _moves(layer: Callable[[Tensor], Tensor], x: Tensor, changed: int, seen: slice) -> bool:
    """Whether outputs move when one input is changed."""
    other = x.clone()
    other[changed] += 1 + torch.rand(x.shape[-1])
    return not torch.allclose(layer(x)[seen], layer(other)[seen], atol=1e-5)


def _looks_ahead(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return any(_moves(layer, x, t, slice(None, t)) for t in range(1, len(x)))


def _only_one(place: int) -> Callable[[Callable[[Tensor], Tensor], Tensor], bool]:
    return lambda layer, x: len(x) > place and _moves(layer, x, place, slice(None, place))


def _exactly_equal(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    changed = (torch.cat((x[:t], x[t:] + 1)) for t in range(1, len(x)))
    return any(
        not torch.equal(layer(x)[:t], layer(other)[:t]) for t, other in enumerate(changed, start=1)
    )


LOOKS_AHEAD = exercise(
    "looks-ahead",
    "写 `looks_ahead(layer, x)`：只靠调用 `layer(x)`（x 的形状是（位置，特征）），判断某个位置的"
    "输出是否取决于后面的输入；舍入误差不算，比它大的都算。",
    "Write `looks_ahead(layer, x)`: by nothing but calls of `layer(x)`, with x (position,"
    " feature), find out whether the output of some position depends on later inputs; rounding"
    " does not count, and whatever is larger does.",
    solution=_looks_ahead,
    probes=_layers,
    mistakes={
        "own-place-counted": wrong(
            "改动的那个位置自己也算进去了：它的输出当然会动，只比较它前面的。",
            "The changed position itself is counted: its own output moves, of course. Compare those"
            " before it.",
            lambda f, x: _moves(f, x, -1, slice(None)),
            lambda f, x: any(_moves(f, x, t, slice(None, t + 1)) for t in range(1, len(x))),
        ),
        "wrong-direction": wrong(
            "方向反了：改的是前面的词，看的是后面的输出，那本来就该动。",
            "The wrong direction: an earlier word was changed and later outputs looked at, which"
            " should move.",
            lambda f, x: _moves(f, x, 0, slice(1, None)),
        ),
        "always-no": wrong("它从不报警。", "It never raises an alarm.", lambda f, x: False),
        "last-word-only": wrong(
            "只改了最后一个词：泄漏可能只在中间，每个词都要改一遍。",
            "Only the last word was changed: a leak may lie in the middle alone. Change every word"
            " in turn.",
            lambda f, x: _moves(f, x, -1, slice(None, -1)),
        ),
        "one-word-only": wrong(
            "只改了一个词：泄漏可能在别处，每个词都要改一遍。",
            "Only one word was changed: the leak may lie elsewhere. Change every word in turn.",
            _only_one(1),
            _only_one(2),
        ),
        "always-yes": wrong("它总是报警。", "It always raises the alarm.", lambda f, x: True),
        "first-output-only": wrong(
            "只看了第一个输出：改动的词前面的每个输出都要比较。",
            "Only the first output was looked at: compare all outputs before the changed word.",
            lambda f, x: any(_moves(f, x, t, slice(1)) for t in range(1, len(x))),
        ),
        "all-for-any": wrong(
            "有一处泄漏就够了：是 `any`，不是 `all`。",
            "One leak is enough: `any`, not `all`.",
            lambda f, x: all(_moves(f, x, t, slice(None, t)) for t in range(1, len(x))),
        ),
        "neighbors-only": wrong(
            "只比较了紧挨着的前一个输出：泄漏可以隔得更远。",
            "Only the output right before was compared: a leak may reach further.",
            lambda f, x: any(_moves(f, x, t, slice(t - 1, t)) for t in range(1, len(x))),
        ),
        "reversed": wrong(
            "正好说反了：有泄漏返回 True。",
            "Just the wrong way round: a leak is True.",
            lambda f, x: not _looks_ahead(f, x),
        ),
        "exactly-equal": wrong(
            "舍入误差也当成了泄漏：用 `torch.allclose`，不用 `torch.equal`。",
            "Rounding is taken for a leak: use `torch.allclose`, not `torch.equal`.",
            _exactly_equal,
        ),
    },
)

EXERCISES = (CACHED_STEP, PREVIOUS_WEIGHT, LOOKS_AHEAD)
