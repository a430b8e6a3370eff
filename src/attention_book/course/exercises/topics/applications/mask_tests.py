"""Exercises whose answers are tests: of a mask, and of causality."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import causal_mask, dot_product_attention, mask_from_lengths
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.course.exercises.named import Named
from attention_book.foundations.bilingual import Bilingual

#: Self-attention over x (batch, position, feature) where only the first words are real.
Padded = Callable[[Tensor, Tensor], Tensor]


def _visible(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(x.shape[-2]) < lengths[:, None, None]


def _healthy(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, _visible(x, lengths))


def _deaf(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x)


def _one_too_many(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, _visible(x, lengths + 1))


def _first_length_for_all(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, _visible(x, lengths[:1].expand_as(lengths)))


def _inverted(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, ~_visible(x, lengths))


def _last_word_lost(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, _visible(x, lengths - 1))


def _implementations() -> Iterator[Probe]:
    for function, about in (
        (_deaf, Bilingual("实现不理会长度", "the implementation ignores the lengths")),
        (_inverted, Bilingual("实现把掩码弄反了", "the implementation inverts the mask")),
        (_one_too_many, Bilingual("实现多看了一个", "the implementation looks at one too many")),
        (_last_word_lost, Bilingual("实现漏了最后一个真词", "the last real word is left out")),
        (_first_length_for_all, Bilingual("各句都用了第一句的长度", "one length is used for all")),
        (_healthy, Bilingual("实现是对的", "the implementation is right")),
    ):
        yield Probe((Named(function.__name__[1:].replace("_", "-"), function),), about)


def _strict(attention: Padded) -> bool:
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    real = torch.arange(5) < lengths[:, None]
    output = attention(x, lengths)[real]
    padding = attention(torch.where(real[..., None], x, x + 1), lengths)[real]
    last_word = attention(x + F.one_hot(lengths - 1, 5)[..., None], lengths)[real]
    moved = ~torch.isclose(output, last_word, atol=1e-5).all(dim=-1)
    return torch.allclose(output, padding, atol=1e-5) and bool(moved.all())


def _always(attention: Padded) -> bool:
    return True


def _never(attention: Padded) -> bool:
    return False


def _all_ones(attention: Padded) -> bool:
    x = torch.ones(2, 3, 8)
    return torch.allclose(attention(x, torch.tensor([3, 4])), x)


def _hides_nothing(attention: Padded) -> bool:
    x = torch.randn(2, 3, 8)
    expected = dot_product_attention(x, x, x)
    return torch.allclose(attention(x, torch.tensor([3, 3])), expected, atol=1e-5)


def _padding_alone(attention: Padded) -> bool:
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    real = torch.arange(5) < lengths[:, None]
    changed = torch.where(real[..., None], x, x + 1)
    return torch.allclose(attention(x, lengths)[real], attention(changed, lengths)[real], atol=1e-5)


def _equal_lengths(attention: Padded) -> bool:
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 3])
    expected = dot_product_attention(x, x, x, mask_from_lengths(lengths, 5))
    return torch.allclose(attention(x, lengths), expected, atol=1e-5)


_NOTHING_HIDDEN = Bilingual(
    "这个测试失败不了：长度不小于键数，什么也没遮；输入若全相同，遮了也看不出。"
    "用随机的输入和小于键数的长度。",
    "This test cannot fail: no length is below the number of keys, so nothing is hidden; and with"
    " equal inputs hiding would not show. Take random input and smaller lengths.",
)

MASK_TEST = Exercise(
    name="mask-test",
    task=Bilingual(
        "写一个测试 `test(attention)`：对的实现返回 True，错的返回 False。"
        "`attention(x, lengths)` 是带填充掩码的自注意力，x 的形状是（批量，位置，8）。",
        "Write a test `test(attention)` that returns True for a right implementation and False"
        " for a wrong one. `attention(x, lengths)` is self-attention with a padding mask, x of"
        " shape (batch, position, 8).",
    ),
    solution=_strict,
    probes=_implementations,
    mistakes=(
        Mistake(
            "cannot-fail",
            _always,
            Bilingual(
                "它什么都放行：比较数值，不要只比较形状。",
                "It lets everything pass: compare numbers, not shapes alone.",
            ),
        ),
        Mistake("nothing-hidden", _all_ones, _NOTHING_HIDDEN),
        Mistake("nothing-hidden", _hides_nothing, _NOTHING_HIDDEN),
        Mistake(
            "padding-alone",
            _padding_alone,
            Bilingual(
                "只动了填充：看得太少的实现也通过了。再动一个真词，输出必须动。",
                "Only the padding was moved, and an implementation that sees too little passes as"
                " well. Move a real word too: then the outputs must move.",
            ),
        ),
        Mistake(
            "equal-lengths",
            _equal_lengths,
            Bilingual(
                "所有句子一样长，句子弄混了也看不出：取不同的长度。",
                "All sentences have one length, and a mix-up between them does not show: take"
                " different ones.",
            ),
        ),
        Mistake(
            "cannot-pass",
            _never,
            Bilingual("对的实现也通不过。", "A right implementation does not pass either."),
        ),
    ),
)


def _layers() -> Iterator[Probe]:
    masks = {
        "causal": causal_mask(4),
        "sees-all": None,
        "one-ahead": causal_mask(4, offset=1),
        "future-only": causal_mask(4).mT,
        "past-only": causal_mask(4, offset=-1),
        "word-1-sees-word-2": causal_mask(4).index_put(
            (torch.tensor(0), torch.tensor(1)), torch.tensor(True)
        ),
    }
    for name, mask in masks.items():
        layer = Named(name, lambda x, mask=mask: dot_product_attention(x, x, x, mask))
        yield Probe((layer, torch.randn(4, 8)))


def _moves(layer: Callable[[Tensor], Tensor], x: Tensor, changed: int, seen: slice) -> bool:
    """Whether outputs move when one input is changed."""
    other = x.clone()
    other[changed] += 1 + torch.rand(x.shape[-1])
    return not torch.allclose(layer(x)[seen], layer(other)[seen], atol=1e-5)


def _looks_ahead(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return any(_moves(layer, x, t, slice(None, t)) for t in range(1, len(x)))


LOOKS_AHEAD = Exercise(
    name="looks-ahead",
    task=Bilingual(
        "写 `looks_ahead(layer, x)`：只靠调用 `layer(x)`（x 的形状是（位置，特征）），"
        "判断某个位置的输出是否取决于后面的输入。",
        "Write `looks_ahead(layer, x)`: by nothing but calls of `layer(x)`, with x (position,"
        " feature), find out whether the output of some position depends on later inputs.",
    ),
    solution=_looks_ahead,
    probes=_layers,
    mistakes=(
        Mistake(
            "own-place-counted",
            lambda layer, x: _moves(layer, x, -1, slice(None)),
            Bilingual(
                "改动的那个位置自己也算进去了：它的输出当然会动，只比较它前面的。",
                "The changed position itself is counted: its own output moves, of course. Compare"
                " those before it.",
            ),
        ),
        Mistake(
            "wrong-direction",
            lambda layer, x: _moves(layer, x, 0, slice(1, None)),
            Bilingual(
                "方向反了：改的是前面的词，看的是后面的输出，那本来就该动。",
                "The wrong direction: an earlier word was changed and later outputs looked at,"
                " which should move.",
            ),
        ),
        Mistake(
            "always-no",
            lambda layer, x: False,
            Bilingual("它从不报警。", "It never raises an alarm."),
        ),
        Mistake(
            "last-word-only",
            lambda layer, x: _moves(layer, x, -1, slice(None, -1)),
            Bilingual(
                "只改了最后一个词：泄漏可能只在中间，每个词都要改一遍。",
                "Only the last word was changed: a leak may lie in the middle alone. Change every"
                " word in turn.",
            ),
        ),
    ),
)

EXERCISES = (MASK_TEST, LOOKS_AHEAD)
