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


def _longest_for_all(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, _visible(x, lengths.max().expand_as(lengths)))


def _first_sentence_only(x: Tensor, lengths: Tensor) -> Tensor:
    whole = torch.full_like(lengths, x.shape[-2])
    return dot_product_attention(x, x, x, _visible(x, torch.cat((lengths[:1], whole[1:]))))


def _one_place_hidden(x: Tensor, lengths: Tensor) -> Tensor:
    return dot_product_attention(x, x, x, torch.arange(x.shape[-2]) != lengths[:, None, None])


def _zeroed_afterwards(x: Tensor, lengths: Tensor) -> Tensor:
    weights: Tensor = (x @ x.mT / x.shape[-1] ** 0.5).softmax(dim=-1)
    return weights * _visible(x, lengths) @ x


def _implementations() -> Iterator[Probe]:
    for function, about in (
        (_deaf, Bilingual("实现不理会长度", "the implementation ignores the lengths")),
        (_inverted, Bilingual("实现把掩码弄反了", "the implementation inverts the mask")),
        (_one_too_many, Bilingual("实现多看了一个", "the implementation looks at one too many")),
        (_last_word_lost, Bilingual("实现漏了最后一个真词", "the last real word is left out")),
        (_first_length_for_all, Bilingual("各句都用了第一句的长度", "one length is used for all")),
        (_longest_for_all, Bilingual("各句都用了最长的长度", "the longest length is used for all")),
        (_first_sentence_only, Bilingual("只遮了第一句", "only the first sentence is masked")),
        (_one_place_hidden, Bilingual("只遮了一个填充", "one place of padding alone is hidden")),
        (
            _zeroed_afterwards,
            Bilingual("softmax 之后才置零", "weights are zeroed after the softmax"),
        ),
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


def _one_sentence(attention: Padded) -> bool:
    x = torch.randn(1, 5, 8)
    expected = dot_product_attention(x, x, x, mask_from_lengths(torch.tensor([3]), 5))
    return torch.allclose(attention(x, torch.tensor([3])), expected, atol=1e-5)


def _far_padding(attention: Padded) -> bool:
    x, lengths = torch.randn(2, 6, 8), torch.tensor([2, 4])
    far = x + F.one_hot(torch.tensor([5, 5]), 6)[..., None]
    last = x + F.one_hot(lengths - 1, 6)[..., None]
    before, padding, word = (attention(each, lengths)[:, 0] for each in (x, far, last))
    moved = ~torch.isclose(before, word).all(dim=-1)
    return torch.allclose(before, padding, atol=1e-5) and bool(moved.all())


_NOTHING_HIDDEN = Bilingual(
    "看得太多的实现也通过了：长度不小于键数就什么也没遮，输入全相同就看不出遮没遮，不动填充也看不出。"
    "用随机的输入和小于键数的长度，再改动填充：真词处的输出不许动。",
    "An implementation that sees too much passes: hiding does not show if no length is below the"
    " number of keys, if all inputs are equal, or if the padding is never moved. Take random input"
    " and smaller lengths, and change the padding: outputs at real words must stay.",
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
        Mistake(
            "reversed",
            lambda attention: not _strict(attention),
            Bilingual(
                "正好说反了：对的实现返回 True。",
                "Just the wrong way round: a right implementation is True.",
            ),
        ),
        Mistake(
            "one-sentence",
            _one_sentence,
            Bilingual(
                "批量里只有一句：句子之间弄混了看不出。取长度不同的几句，每句都比较。",
                "The batch is one sentence, and mix-ups between sentences do not show: take several"
                " of different lengths and compare each.",
            ),
        ),
        Mistake(
            "far-padding",
            _far_padding,
            Bilingual(
                "只动了最后一个填充：紧跟着真词的那一个也要动，多看一个的错误就在那里。",
                "Only the last place of padding was moved: move the one right after the real words,"
                " too, which is where “one too many” shows.",
            ),
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
        "word-1-sees-word-2": _causal_but(0, 1),
        "word-1-sees-word-4": _causal_but(0, 3),
        "word-2-sees-word-3": _causal_but(1, 2),
        "word-2-sees-word-4": _causal_but(1, 3),
        "word-3-sees-word-4": _causal_but(2, 3),
    }
    for name, mask in masks.items():
        layer = Named(name, lambda x, mask=mask: _layer(x, mask))
        yield Probe((layer, torch.randn(4, 8)))
    faint = Named("faint", lambda x: _layer(x, causal_mask(4)) + 1e-3 * x.mean(dim=0))
    yield Probe((faint, torch.randn(4, 8)), Bilingual("泄漏很弱", "the leak is faint"))
    rounding = Named("rounding", _rounding)
    about = Bilingual("只有舍入误差不同", "nothing but rounding differs")
    yield Probe((rounding, torch.randn(4, 8)), about)
    previous = Named("previous-word", lambda x: torch.cat((torch.zeros_like(x[:1]), x[:-1])))
    yield Probe(
        (previous, torch.randn(4, 8)), Bilingual("只看前一个词", "it sees the word before alone")
    )
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


def _first_output(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return any(_moves(layer, x, t, slice(1)) for t in range(1, len(x)))


def _all_for_any(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return all(_moves(layer, x, t, slice(None, t)) for t in range(1, len(x)))


def _neighbors(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return any(_moves(layer, x, t, slice(t - 1, t)) for t in range(1, len(x)))


def _own_place(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return any(_moves(layer, x, t, slice(None, t + 1)) for t in range(1, len(x)))


def _last_with_itself(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return _moves(layer, x, -1, slice(None))


def _exactly_equal(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    changed = (torch.cat((x[:t], x[t:] + 1)) for t in range(1, len(x)))
    return any(
        not torch.equal(layer(x)[:t], layer(other)[:t]) for t, other in enumerate(changed, start=1)
    )


_ONE_WORD = Bilingual(
    "只改了一个词：泄漏可能在别处，每个词都要改一遍。",
    "Only one word was changed: the leak may lie elsewhere. Change every word in turn.",
)
_OWN_PLACE = Bilingual(
    "改动的那个位置自己也算进去了：它的输出当然会动，只比较它前面的。",
    "The changed position itself is counted: its own output moves, of course. Compare those before"
    " it.",
)

LOOKS_AHEAD = Exercise(
    name="looks-ahead",
    task=Bilingual(
        "写 `looks_ahead(layer, x)`：只靠调用 `layer(x)`（x 的形状是（位置，特征）），"
        "判断某个位置的输出是否取决于后面的输入；舍入误差不算，比它大的都算。",
        "Write `looks_ahead(layer, x)`: by nothing but calls of `layer(x)`, with x (position,"
        " feature), find out whether the output of some position depends on later inputs; rounding"
        " does not count, and whatever is larger does.",
    ),
    solution=_looks_ahead,
    probes=_layers,
    mistakes=(
        Mistake(
            "own-place-counted", lambda layer, x: _moves(layer, x, -1, slice(None)), _OWN_PLACE
        ),
        Mistake("own-place-counted", _own_place, _OWN_PLACE),
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
        Mistake("one-word-only", _only_one(1), _ONE_WORD),
        Mistake("one-word-only", _only_one(2), _ONE_WORD),
        Mistake(
            "always-yes",
            lambda layer, x: True,
            Bilingual("它总是报警。", "It always raises the alarm."),
        ),
        Mistake(
            "first-output-only",
            _first_output,
            Bilingual(
                "只看了第一个输出：改动的词前面的每个输出都要比较。",
                "Only the first output was looked at: compare all outputs before the changed word.",
            ),
        ),
        Mistake(
            "all-for-any",
            _all_for_any,
            Bilingual(
                "有一处泄漏就够了：是 `any`，不是 `all`。", "One leak is enough: `any`, not `all`."
            ),
        ),
        Mistake(
            "neighbors-only",
            _neighbors,
            Bilingual(
                "只比较了紧挨着的前一个输出：泄漏可以隔得更远。",
                "Only the output right before was compared: a leak may reach further.",
            ),
        ),
        Mistake(
            "reversed",
            lambda layer, x: not _looks_ahead(layer, x),
            Bilingual("正好说反了：有泄漏返回 True。", "Just the wrong way round: a leak is True."),
        ),
        Mistake(
            "exactly-equal",
            _exactly_equal,
            Bilingual(
                "舍入误差也当成了泄漏：用 `torch.allclose`，不用 `torch.equal`。",
                "Rounding is taken for a leak: use `torch.allclose`, not `torch.equal`.",
            ),
        ),
    ),
)

EXERCISES = (MASK_TEST, LOOKS_AHEAD)
