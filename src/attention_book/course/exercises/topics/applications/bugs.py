"""Exercises of the page “Find the bug”: a mask of the other kind, attention that saw no key."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import dot_product_attention, mask_from_ignore
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual


def _with_ignored_keys() -> Iterator[Probe]:
    ignore = torch.tensor([[0, 0, 1], [0, 1, 0]])
    yield Probe((torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 2), ignore))
    yield Probe((torch.randn(1, 4), torch.randn(3, 4), torch.randn(3, 2), ignore[:1]))
    nothing = torch.zeros(2, 3, dtype=torch.long)
    yield Probe(
        (torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 2), nothing),
        Bilingual("什么也不忽略", "nothing is ignored"),
    )
    keys = torch.tensor([[-10.0], [40.0], [-10.05]]).expand(3, 4).clone()  # scores −200, 800, −201
    yield Probe(
        (torch.full((1, 4), 10.0), keys, torch.randn(3, 2), torch.tensor([[0, 1, 0]])),
        Bilingual("被忽略的键评分最高", "the ignored key has the highest score"),
    )
    yield Probe(
        (torch.randn(3, 9), torch.randn(3, 9), torch.randn(3, 3), torch.eye(3, dtype=torch.long)),
        Bilingual("查询与键一样多", "as many queries as keys"),
    )


def _converted(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return dot_product_attention(queries, keys, values, mask_from_ignore(ignore))


def _as_it_is(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=ignore.bool())


def _as_it_is_with_nan(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    hidden = _scores(queries, keys).masked_fill(ignore == 0, -torch.inf)
    return hidden.softmax(dim=-1) @ values


def _added(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return (_scores(queries, keys) + ignore).softmax(dim=-1) @ values


def _visible_added(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return (_scores(queries, keys) + (1 - ignore)).softmax(dim=-1) @ values


def _unmasked(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return _scores(queries, keys).softmax(dim=-1) @ values


def _filled(value: float) -> Answer:
    def attend(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
        hidden = _scores(queries, keys).masked_fill(ignore == 1, value)
        return hidden.softmax(dim=-1) @ values

    return attend


def _added_to(value: float) -> Answer:
    def attend(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
        return (_scores(queries, keys) + value * ignore).softmax(dim=-1) @ values

    return attend


def _kept_weights(queries: Tensor, keys: Tensor, ignore: Tensor) -> Tensor:
    return _scores(queries, keys).softmax(dim=-1) * (1 - ignore)


def _not_renormalized(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return _kept_weights(queries, keys, ignore) @ values


def _too_late(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    weights = _kept_weights(queries, keys, ignore)
    return weights / weights.sum(dim=-1, keepdim=True) @ values


def _masked_unscaled(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    scale = math.sqrt(keys.shape[-1])
    return dot_product_attention(queries * scale, keys, values, mask_from_ignore(ignore))


def _first_row(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return _converted(queries, keys, values, ignore[:1].expand_as(ignore))


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.mT / math.sqrt(keys.shape[-1])


def _hidden_is_nothing(answer: Answer) -> Finding | None:
    queries, keys, values = torch.randn(2, 4), torch.randn(3, 4), torch.tensor([[1.0], [2], [100]])
    ignore = torch.tensor([[0, 0, 1], [0, 0, 1]])
    output = answer(queries, keys, values, ignore)
    if (output < 3).all():
        return None
    return Finding(
        {"values": values, "ignore": ignore},
        Bilingual("输出在 1 与 2 之间", "outputs between 1 and 2"),
        output,
    )


_A_FLOAT = Bilingual(
    "掩码被当成数加到了评分上：被忽略的键照样分到注意力。先变成布尔掩码。",
    "The mask is added to the scores as a number, and ignored keys keep a share of the attention."
    " Make it boolean first.",
)
_POLARITY = Bilingual(
    "掩码反了：这里 1 表示忽略，而 `scaled_dot_product_attention` 里 True 表示可以看。",
    "The mask is inverted: a 1 means ignore here, while True means “may attend” in"
    " `scaled_dot_product_attention`.",
)

_ZERO = Bilingual(
    "被忽略的评分换成了 0：e 的 0 次方是 1，照样分到注意力。换成 −∞。",
    "Ignored scores become 0, and e to the power of 0 is 1: they keep a share of the attention. Put"
    " −∞ there.",
)
_LOW = Bilingual(
    "换上或加上的数不够小：别的评分可能更低，被忽略的可能很高。用 −∞。",
    "The number that is put there, or added, is not low enough: other scores may be lower and"
    " ignored ones high. Use −∞.",
)

IGNORE_MASK = Exercise(
    name="ignore-mask",
    task=Bilingual(
        "写 `attend(queries, keys, values, ignore)`：缩放点积注意力，"
        "整数张量 ignore 里 1 表示不要看，不管评分多高。",
        "Write `attend(queries, keys, values, ignore)`: scaled dot-product attention, where a 1 in"
        " the integer tensor ignore says “do not look”, however high the score.",
    ),
    solution=_converted,
    probes=_with_ignored_keys,
    mistakes=(
        Mistake("mask-inverted", _as_it_is, _POLARITY),
        Mistake("mask-inverted", _as_it_is_with_nan, _POLARITY),
        Mistake("added-as-a-number", _added, _A_FLOAT),
        Mistake("added-as-a-number", _visible_added, _A_FLOAT),
        Mistake(
            "not-masked",
            _unmasked,
            Bilingual(
                "`ignore` 没有起作用。对整数取 `~`，0 变成 −1，不是 True 与 False 互换。",
                "`ignore` has no effect. Of an integer 0, `~` makes −1: it does not exchange True"
                " and False there.",
            ),
        ),
        Mistake("filled-with-zero", _filled(0.0), _ZERO),
        Mistake("not-low-enough", _filled(-1.0), _LOW),
        Mistake("not-low-enough", _filled(-10.0), _LOW),
        Mistake("not-low-enough", _filled(-100.0), _LOW),
        Mistake("not-low-enough", _added_to(-10.0), _LOW),
        Mistake("not-low-enough", _added_to(-100.0), _LOW),
        Mistake(
            "not-renormalized",
            _not_renormalized,
            Bilingual(
                "softmax 之后才把权重置零，它们的和就不到 1：在 softmax 之前遮评分。",
                "Weights are set to 0 after the softmax and no longer sum to 1: mask the scores,"
                " before it.",
            ),
        ),
        Mistake(
            "masked-too-late",
            _too_late,
            Bilingual(
                "softmax 之后才遮：被忽略的评分很高时，其余的权重全是 0，除以总和得到 NaN。"
                "在 softmax 之前遮评分。",
                "Masked after the softmax: where an ignored score is high all other weights are 0,"
                " and divided by their sum they are NaN. Mask the scores, before it.",
            ),
        ),
        Mistake(
            "not-scaled",
            _masked_unscaled,
            Bilingual("评分还没有除以 √d_k。", "The scores have not been divided by √d_k."),
        ),
        Mistake(
            "first-row-for-all",
            _first_row,
            Bilingual(
                "每个查询有自己的一行，现在都用了第一行。",
                "Each query has a row of its own; all got the first.",
            ),
        ),
    ),
    laws=(
        Law(
            "hidden-is-nothing",
            Bilingual(
                "被忽略的键和值不影响输出。", "Ignored keys and values do not affect the output."
            ),
            _hidden_is_nothing,
        ),
    ),
)


def _six_places() -> Iterator[Probe]:
    for _ in range(2):
        yield Probe((torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 3)))
    query, keys = torch.full((1, 4), 20.0), 10 - torch.arange(6.0)[:, None].expand(6, 4) / 100
    high = Bilingual("评分很高", "the scores are high")
    yield Probe((query, keys, torch.randn(6, 2)), high)
    yield Probe((query, -keys, torch.randn(6, 2)), Bilingual("评分都很低", "all scores are low"))


def _by_content(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(query, keys, values)


def _uniform(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return values.mean(dim=0, keepdim=True).expand(len(query), -1)


def _not_scaled(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (query @ keys.mT).softmax(dim=-1) @ values


def _keys_averaged(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _by_content(query, keys, keys)


def _with_scores(change: Callable[[Tensor, Tensor], Tensor]) -> Answer:
    """Weigh by a softmax over other scores, made of the products and the keys."""

    def look(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return change(query @ keys.mT, keys).softmax(dim=-1) @ values

    return look


def _without_softmax(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _scores(query, keys) @ values


def _over_queries(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _scores(query, keys).softmax(dim=0) @ values


def _cosines(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _by_content(F.normalize(query, dim=-1), F.normalize(keys, dim=-1), values)


def _largest(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return values[_scores(query, keys).argmax(dim=-1)]


def _overflowing(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    parts = _scores(query, keys).exp()
    return parts / parts.sum(dim=-1, keepdim=True) @ values


def _order_is_free(answer: Answer) -> Finding | None:
    query, keys, values = torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 3)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    before, after = answer(query, keys, values), answer(query, keys[order], values[order])
    if torch.allclose(before, after, rtol=1e-4, atol=1e-5):
        return None
    return Finding({"query": query, "keys": keys[order], "values": values[order]}, before, after)


def _any_number_of_keys(answer: Answer) -> Finding | None:
    for count in (5, 1):
        query, keys, values = torch.randn(1, 4), torch.randn(count, 4), torch.randn(count, 3)
        shape = tuple(answer(query, keys, values).shape)
        if shape != (1, 3):
            return Finding({"keys": keys}, (1, 3), shape)
    return None


def _any_number_of_features(answer: Answer) -> Finding | None:
    query, keys, values = torch.randn(1, 9), torch.randn(6, 9), torch.randn(6, 3)
    expected, got = _by_content(query, keys, values), answer(query, keys, values)
    if torch.allclose(expected, got, rtol=1e-4, atol=1e-5):
        return None
    return Finding({"query": query, "keys": keys, "values": values}, expected, got)


CONTENT_ATTENTION = Exercise(
    name="content-attention",
    task=Bilingual(
        "写 `look(query, keys, values)`：按内容看的注意力，缩放点积；评分多高多低都不许溢出。",
        "Write `look(query, keys, values)`: attention by content, with scaled dot products, without"
        " overflow however high or low the scores are.",
    ),
    solution=_by_content,
    probes=_six_places,
    mistakes=(
        Mistake(
            "uniform",
            _uniform,
            Bilingual(
                "这只是平均：查询和键都没有用上。", "A mere mean: neither query nor keys are used."
            ),
        ),
        Mistake(
            "not-scaled",
            _not_scaled,
            Bilingual("评分还没有除以 √d_k。", "The scores have not been divided by √d_k."),
        ),
        Mistake(
            "keys-averaged",
            _keys_averaged,
            Bilingual("加权平均的是值，不是键。", "What is averaged are the values, not the keys."),
        ),
        Mistake(
            "divided-by-d",
            _with_scores(lambda products, keys: products / keys.shape[-1]),
            Bilingual("除以的是 √d_k，不是 d_k。", "Divide by √d_k, not by d_k."),
        ),
        Mistake(
            "divided-by-count",
            _with_scores(lambda products, keys: products / math.sqrt(len(keys))),
            Bilingual(
                "除以了键的个数的平方根：d_k 是特征数，最后一个轴。",
                "That is the root of the number of keys: d_k counts features, the last axis.",
            ),
        ),
        Mistake(
            "wrong-sign",
            _with_scores(lambda products, keys: -products / math.sqrt(keys.shape[-1])),
            Bilingual(
                "符号反了：点积越大，权重越大。",
                "The sign is wrong: the larger the product, the larger the weight.",
            ),
        ),
        Mistake(
            "no-softmax",
            _without_softmax,
            Bilingual("还没有做 softmax。", "The softmax is missing."),
        ),
        Mistake(
            "wrong-axis",
            _over_queries,
            Bilingual(
                "softmax 的轴错了：沿着键，最后一个轴。",
                "The softmax runs over the wrong axis: take that of the keys, the last.",
            ),
        ),
        Mistake(
            "lengths-lost",
            _cosines,
            Bilingual(
                "查询和键先归一化了：点积里长度也算数。",
                "Query and keys are normalized first: their lengths count in the product.",
            ),
        ),
        Mistake(
            "largest-alone",
            _largest,
            Bilingual(
                "只取了评分最高的值：要按权重平均。",
                "Only the value with the highest score is taken: average by the weights.",
            ),
        ),
        Mistake(
            "overflow",
            _overflowing,
            Bilingual(
                "评分很高时 `exp` 溢出，很低时全是 0，商是 NaN：用 `softmax`，它先减去最大值。",
                "`exp` overflows where scores are high, and is 0 where they are low; the ratio is"
                " NaN. Use `softmax`, which subtracts the largest first.",
            ),
        ),
    ),
    laws=(
        Law(
            "order-is-free",
            Bilingual(
                "键和值一起重排，输出不变。",
                "Shuffle keys and values together, and the output stays.",
            ),
            _order_is_free,
            Bilingual(
                "权重跟着位置走，没有跟着内容走：每个键都要进入自己的评分。",
                "The weights go by place and not by content: every key must enter its score.",
            ),
        ),
        Law(
            "any-number-of-keys",
            Bilingual("键可以有任意多个。", "There may be any number of keys."),
            _any_number_of_keys,
        ),
        Law(
            "any-number-of-features",
            Bilingual("特征可以有任意多个。", "There may be any number of features."),
            _any_number_of_features,
            Bilingual(
                "√d_k 只在 4 个特征时是 2：从键的形状里取 d_k。",
                "Only with 4 features is √d_k equal to 2: take d_k from the shape of the keys.",
            ),
        ),
    ),
)

EXERCISES = (IGNORE_MASK, CONTENT_ATTENTION)
