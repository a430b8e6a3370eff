"""Exercises of the page “Find the bug”: a mask of the other kind, attention that saw no key."""

import math
from collections.abc import Iterator

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

IGNORE_MASK = Exercise(
    name="ignore-mask",
    task=Bilingual(
        "写 `attend(queries, keys, values, ignore)`：缩放点积注意力，"
        "整数张量 ignore 里 1 表示不要看。",
        "Write `attend(queries, keys, values, ignore)`: scaled dot-product attention, where a 1 in"
        " the integer tensor ignore says “do not look”.",
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
            Bilingual("没有用上 `ignore`。", "`ignore` is not used."),
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


def _by_content(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(query, keys, values)


def _uniform(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return values.mean(dim=0, keepdim=True).expand(len(query), -1)


def _not_scaled(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (query @ keys.mT).softmax(dim=-1) @ values


def _keys_averaged(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return _by_content(query, keys, keys)


def _order_is_free(answer: Answer) -> Finding | None:
    query, keys, values = torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 3)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    before, after = answer(query, keys, values), answer(query, keys[order], values[order])
    if torch.allclose(before, after, rtol=1e-4, atol=1e-5):
        return None
    return Finding({"query": query, "keys": keys[order], "values": values[order]}, before, after)


def _any_number_of_keys(answer: Answer) -> Finding | None:
    query, keys, values = torch.randn(1, 4), torch.randn(5, 4), torch.randn(5, 3)
    shape = tuple(answer(query, keys, values).shape)
    return None if shape == (1, 3) else Finding({"keys": keys}, (1, 3), shape)


CONTENT_ATTENTION = Exercise(
    name="content-attention",
    task=Bilingual(
        "写 `look(query, keys, values)`：按内容看的注意力，缩放点积。",
        "Write `look(query, keys, values)`: attention by content, with scaled dot products.",
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
    ),
)

EXERCISES = (IGNORE_MASK, CONTENT_ATTENTION)
