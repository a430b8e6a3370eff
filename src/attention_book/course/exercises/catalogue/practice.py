"""Exercises of “Find the bug”: states, parameters and masks that go wrong, and tests of them."""

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import dot_product_attention, mask_from_ignore, mask_from_lengths
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import (
    Answer,
    Law,
    Named,
    Probe,
    exercise,
    probe,
    shares,
    wrong,
)
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- final-states ------------------------------------------------------------------------------


def _read_sentences() -> Iterator[Probe]:
    yield probe((torch.randn(3, 2, 2), torch.tensor([3, 2])))
    yield probe((torch.randn(5, 3, 4), torch.tensor([2, 5, 4])))
    yield probe(
        (torch.randn(4, 1, 1), torch.tensor([2])),
        "只有一句，特征只有一个",
        "there is one sentence, with one feature",
    )
    yield probe(
        (torch.randn(3, 3, 2), torch.tensor([1, 3, 1])),
        "有的句子只有一个词",
        "some sentences have one word",
    )
    silent = torch.randn(4, 2, 2)
    silent[1, 0] = 0
    yield probe((silent, torch.tensor([2, 4])), "有一个状态全是 0", "one of the states is all 0")


FINAL_STATES = exercise(
    "final-states",
    "写 `finals(outputs, lengths)`：每句读完最后一个真词元之后的状态，（批量，特征）；outputs 的"
    "形状是（时间，批量，特征）。",
    "Write `finals(outputs, lengths)`: the state of each sentence after its last real token,"
    " (batch, feature); outputs has the shape (time, batch, feature).",
    solution=lambda outputs, lengths: outputs[lengths - 1, torch.arange(len(lengths))],
    probes=_read_sentences,
    mistakes={
        "last-place": wrong(
            "短句的最后一行是读了填充之后的：按 `lengths` 取。",
            "In a short sentence the last row comes after padding: go by `lengths`.",
            lambda h, n: h[-1],
        ),
        "batch-first": wrong(
            "时间在前：`outputs[:, -1]` 取的是最后一句的各步。",
            "Time comes first: `outputs[:, -1]` takes the steps of the last sentence.",
            lambda h, n: h[:, -1],
        ),
        "previous-step": wrong(
            "早了一步：要的是读完最后一个真词元之后，不是之前。",
            "One step early: after the last real token, not before it.",
            lambda h, n: h[n - 2, torch.arange(len(n))],
        ),
        "mean": wrong(
            "要的是终态，不是各步的平均。",
            "The final state is asked for, not the mean.",
            lambda h, lengths: torch.stack(
                [h[:n, i].mean(dim=0) for i, n in enumerate(lengths.tolist())]
            ),
        ),
        "mean-with-padding": wrong(
            "这是各步的平均，填充也在内：要的是最后一个真词元之后的状态。",
            "This is the mean of all steps, padding included: asked for is the state after the last"
            " real token.",
            lambda h, n: h.mean(dim=0),
        ),
        "first-step": wrong(
            "这是第一步之后的状态，不是最后一步。",
            "This is the state after the first step, not the last.",
            lambda h, n: h[0],
        ),
        "all-pairs": wrong(
            "`outputs[lengths - 1]` 为每个长度取了整批：第 i 句要它自己的那一个，下标还要加上 "
            "`torch.arange(batch)`。",
            "`outputs[lengths - 1]` takes the whole batch for every length: sentence i needs its"
            " own, so index with `torch.arange(batch)` as well.",
            lambda h, n: h[n - 1],
        ),
    },
)


# --- dead-parameters ---------------------------------------------------------------------------

Parameters = Mapping[str, Tensor]


def _models() -> Iterator[Probe]:
    x, y = torch.linspace(0, 5, 9), torch.randn(9)
    W_q, W_k, b_q, b_k = *torch.randn(2, 4, 4), *torch.randn(2, 4)
    words = torch.randn(5, 4)

    def kernel(width: Tensor, shift: Tensor) -> Tensor:
        scores: Tensor = -((x[:, None] - x) / width).square() / 2
        return (scores + shift).softmax(dim=-1) @ y

    def attention(b_q: Tensor, b_k: Tensor) -> Tensor:
        scores = (words @ W_q + b_q) @ (words @ W_k + b_k).mT / 2
        output: Tensor = scores.softmax(dim=-1) @ words
        return output

    def line(slope: Tensor, height: Tensor) -> Tensor:
        return slope * x + height

    def proportional(slope: Tensor, spare: Tensor) -> Tensor:
        return slope * x + 0 * spare

    yield probe((Named("kernel", kernel), {"width": torch.ones(()), "shift": torch.ones(())}))
    yield probe((Named("attention", attention), {"b_q": b_q, "b_k": b_k}))
    yield probe((Named("line", line), {"slope": torch.ones(()), "height": torch.ones(())}))
    unused = {"slope": torch.ones(()), "spare": torch.ones(())}
    yield probe((Named("proportional", proportional), unused))


def _dead(function: Callable[..., Tensor], parameters: Parameters) -> set[str]:
    before, names = function(**parameters), set()
    for name, value in parameters.items():
        after = function(**{**parameters, name: value + 1 + torch.rand_like(value)})
        if torch.allclose(before, after, rtol=1e-4, atol=1e-4):
            names.add(name)
    return names


def _without_gradient(function: Callable[..., Tensor], parameters: Parameters) -> set[str]:
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    loss = function(**leaves).square().sum()
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return {name for name, each in zip(leaves, gradients, strict=True) if not each.any()}


def _exactly_equal(function: Callable[..., Tensor], parameters: Parameters) -> set[str]:
    before = function(**parameters)
    moved = {name: {**parameters, name: value + 0.7} for name, value in parameters.items()}
    return {name for name, each in moved.items() if torch.equal(before, function(**each))}


DEAD_PARAMETERS = exercise(
    "dead-parameters",
    "写 `dead(function, parameters)`：返回一个集合，里面是改了也不影响 `function(**parameters)` "
    "的参数的名字。",
    "Write `dead(function, parameters)`: return the set of the names of those parameters whose"
    " change leaves `function(**parameters)` as it is.",
    solution=_dead,
    probes=_models,
    mistakes={
        "rounding-taken-for-life": [
            wrong(
                "舍入误差不是生命：约掉的参数，梯度也很少恰好是 0，输出也很少一位不差。改动它，"
                "用 `allclose` 比较输出。",
                "Rounding error is no sign of life: the gradient of a parameter that cancels is"
                " rarely exactly 0, nor are outputs equal to the last bit. Change it, and compare"
                " outputs with `allclose`.",
                _without_gradient,
            ),
            wrong(
                "舍入误差不是生命：输出很少一位不差，用 `allclose` 比较。",
                "Rounding error is no sign of life: outputs are rarely equal to the last bit, so"
                " compare with `allclose`.",
                _exactly_equal,
            ),
        ],
        "never-dead": wrong("它从不报告。", "It never reports any.", lambda f, p: set()),
        "always-dead": wrong(
            "有用的参数也被报告了。",
            "Parameters that are of use are reported too.",
            lambda f, p: set(p),
        ),
        "living": wrong(
            "反了：要报告的是改了也没有影响的。",
            "Inverted: report those whose change has no effect.",
            lambda f, p: set(p) - _dead(f, p),
        ),
    },
)


# --- mask-test ---------------------------------------------------------------------------------

#: Self-attention over x (batch, position, feature) where only the first words are real.
Padded = Callable[[Tensor, Tensor], Tensor]


def _visible(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(x.shape[-2]) < lengths[:, None, None]


def _attending(seen: Callable[[Tensor, Tensor], Tensor | None]) -> Padded:
    """Return self-attention where a mask of x and the lengths says what is seen."""
    return lambda x, lengths: dot_product_attention(x, x, x, seen(x, lengths))


def _first_sentence_only(x: Tensor, lengths: Tensor) -> Tensor:
    whole = torch.full_like(lengths, x.shape[-2])
    return _visible(x, torch.cat((lengths[:1], whole[1:])))


def _zeroed_afterwards(x: Tensor, lengths: Tensor) -> Tensor:
    weights: Tensor = (x @ x.mT / x.shape[-1] ** 0.5).softmax(dim=-1)
    return weights * _visible(x, lengths) @ x


def _implementations() -> Iterator[Probe]:
    for name, function, zh, en in (
        (
            "deaf",
            _attending(lambda x, n: None),
            "实现不理会长度",
            "the implementation ignores the lengths",
        ),
        (
            "inverted",
            _attending(lambda x, n: ~_visible(x, n)),
            "实现把掩码弄反了",
            "the implementation inverts the mask",
        ),
        (
            "one-too-many",
            _attending(lambda x, n: _visible(x, n + 1)),
            "实现多看了一个",
            "the implementation looks at one too many",
        ),
        (
            "last-word-lost",
            _attending(lambda x, n: _visible(x, n - 1)),
            "实现漏了最后一个真词",
            "the last real word is left out",
        ),
        (
            "first-length-for-all",
            _attending(lambda x, n: _visible(x, n[:1].expand_as(n))),
            "各句都用了第一句的长度",
            "one length is used for all",
        ),
        (
            "longest-for-all",
            _attending(lambda x, n: _visible(x, n.max().expand_as(n))),
            "各句都用了最长的长度",
            "the longest length is used for all",
        ),
        (
            "first-sentence-only",
            _attending(_first_sentence_only),
            "只遮了第一句",
            "only the first sentence is masked",
        ),
        (
            "one-place-hidden",
            _attending(lambda x, n: torch.arange(x.shape[-2]) != n[:, None, None]),
            "只遮了一个填充",
            "one place of padding alone is hidden",
        ),
        (
            "zeroed-afterwards",
            _zeroed_afterwards,
            "softmax 之后才置零",
            "weights are zeroed after the softmax",
        ),
        ("healthy", _attending(_visible), "实现是对的", "the implementation is right"),
    ):
        yield probe((Named(name, function),), zh, en)


def _strict(attention: Padded) -> bool:
    x, lengths = torch.randn(2, 5, 8), torch.tensor([3, 4])
    real = torch.arange(5) < lengths[:, None]
    output = attention(x, lengths)[real]
    padding = attention(torch.where(real[..., None], x, x + 1), lengths)[real]
    last_word = attention(x + F.one_hot(lengths - 1, 5)[..., None], lengths)[real]
    moved = ~torch.isclose(output, last_word, atol=1e-5).all(dim=-1)
    return torch.allclose(output, padding, atol=1e-5) and bool(moved.all())


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


MASK_TEST = exercise(
    "mask-test",
    "写一个测试 `test(attention)`：对的实现返回 True，错的返回 False。`attention(x, lengths)` 是"
    "带填充掩码的自注意力，x 的形状是（批量，位置，8）。",
    "Write a test `test(attention)` that returns True for a right implementation and False for a"
    " wrong one. `attention(x, lengths)` is self-attention with a padding mask, x of shape"
    " (batch, position, 8).",
    solution=_strict,
    probes=_implementations,
    mistakes={
        "cannot-fail": wrong(
            "它什么都放行：比较数值，不要只比较形状。",
            "It lets everything pass: compare numbers, not shapes alone.",
            lambda f: True,
        ),
        "nothing-hidden": wrong(
            "看得太多的实现也通过了：长度不小于键数就什么也没遮，输入全相同就看不出遮没遮，"
            "不动填充也看不出。用随机的输入和小于键数的长度，再改动填充：真词处的输出不许动。",
            "An implementation that sees too much passes: hiding does not show if no length is"
            " below the number of keys, if all inputs are equal, or if the padding is never moved."
            " Take random input and smaller lengths, and change the padding: outputs at real words"
            " must stay.",
            _all_ones,
            _hides_nothing,
        ),
        "padding-alone": wrong(
            "只动了填充：看得太少的实现也通过了。再动一个真词，输出必须动。",
            "Only the padding was moved, and an implementation that sees too little passes as well."
            " Move a real word too: then the outputs must move.",
            _padding_alone,
        ),
        "equal-lengths": wrong(
            "所有句子一样长，句子弄混了也看不出：取不同的长度。",
            "All sentences have one length, and a mix-up between them does not show: take different"
            " ones.",
            _equal_lengths,
        ),
        "cannot-pass": wrong(
            "对的实现也通不过。", "A right implementation does not pass either.", lambda f: False
        ),
        "reversed": wrong(
            "正好说反了：对的实现返回 True。",
            "Just the wrong way round: a right implementation is True.",
            lambda f: not _strict(f),
        ),
        "one-sentence": wrong(
            "批量里只有一句：句子之间弄混了看不出。取长度不同的几句，每句都比较。",
            "The batch is one sentence, and mix-ups between sentences do not show: take several of"
            " different lengths and compare each.",
            _one_sentence,
        ),
        "far-padding": wrong(
            "只动了最后一个填充：紧跟着真词的那一个也要动，多看一个的错误就在那里。",
            "Only the last place of padding was moved: move the one right after the real words,"
            " too, which is where “one too many” shows.",
            _far_padding,
        ),
    },
)


# --- ignore-mask -------------------------------------------------------------------------------


def _with_ignored_keys() -> Iterator[Probe]:
    ignore = torch.tensor([[0, 0, 1], [0, 1, 0]])
    yield probe((torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 2), ignore))
    yield probe((torch.randn(1, 4), torch.randn(3, 4), torch.randn(3, 2), ignore[:1]))
    nothing = torch.zeros(2, 3, dtype=torch.long)
    yield probe(
        (torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 2), nothing),
        "什么也不忽略",
        "nothing is ignored",
    )
    # scores −200, 800, −201.25
    keys = torch.tensor([[-10.0], [40.0], [-10.0625]]).expand(3, 4).clone()
    yield probe(
        (torch.full((1, 4), 10.0), keys, torch.randn(3, 2), torch.tensor([[0, 1, 0]])),
        "被忽略的键评分最高",
        "the ignored key has the highest score",
    )
    yield probe(
        (torch.randn(3, 9), torch.randn(3, 9), torch.randn(3, 3), torch.eye(3, dtype=torch.long)),
        "查询与键一样多",
        "as many queries as keys",
    )


def _converted(queries: Tensor, keys: Tensor, values: Tensor, ignore: Tensor) -> Tensor:
    return dot_product_attention(queries, keys, values, mask_from_ignore(ignore))


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


IGNORE_MASK = exercise(
    "ignore-mask",
    "写 `attend(queries, keys, values, ignore)`：缩放点积注意力，整数张量 ignore 里 1 表示不要"
    "看，不管评分多高。",
    "Write `attend(queries, keys, values, ignore)`: scaled dot-product attention, where a 1 in"
    " the integer tensor ignore says “do not look”, however high the score.",
    solution=_converted,
    probes=_with_ignored_keys,
    mistakes={
        "mask-inverted": wrong(
            "掩码反了：这里 1 表示忽略，而 `scaled_dot_product_attention` 里 True 表示可以看。",
            "The mask is inverted: a 1 means ignore here, while True means “may attend” in"
            " `scaled_dot_product_attention`.",
            lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m.bool()),
            lambda q, k, v, m: _scores(q, k).masked_fill(m == 0, -torch.inf).softmax(dim=-1) @ v,
        ),
        "added-as-a-number": wrong(
            "掩码被当成数加到了评分上：被忽略的键照样分到注意力。先变成布尔掩码。",
            "The mask is added to the scores as a number, and ignored keys keep a share of the"
            " attention. Make it boolean first.",
            lambda q, k, v, m: (_scores(q, k) + m).softmax(dim=-1) @ v,
            lambda q, k, v, m: (_scores(q, k) + (1 - m)).softmax(dim=-1) @ v,
        ),
        "not-masked": wrong(
            "`ignore` 没有起作用。对整数取 `~`，0 变成 −1，不是 True 与 False 互换。",
            "`ignore` has no effect. Of an integer 0, `~` makes −1: it does not exchange True and"
            " False there.",
            lambda q, k, v, m: _scores(q, k).softmax(dim=-1) @ v,
        ),
        "filled-with-zero": wrong(
            "被忽略的评分换成了 0：e 的 0 次方是 1，照样分到注意力。换成 −∞。",
            "Ignored scores become 0, and e to the power of 0 is 1: they keep a share of the"
            " attention. Put −∞ there.",
            _filled(0.0),
        ),
        "not-low-enough": wrong(
            "换上或加上的数不够小：别的评分可能更低，被忽略的可能很高。用 −∞。",
            "The number that is put there, or added, is not low enough: other scores may be lower"
            " and ignored ones high. Use −∞.",
            _filled(-1.0),
            _filled(-10.0),
            _filled(-100.0),
            _added_to(-10.0),
            _added_to(-100.0),
        ),
        "not-renormalized": wrong(
            "softmax 之后才把权重置零，它们的和就不到 1：在 softmax 之前遮评分。",
            "Weights are set to 0 after the softmax and no longer sum to 1: mask the scores, before"
            " it.",
            lambda q, k, v, m: _kept_weights(q, k, m) @ v,
        ),
        "masked-too-late": wrong(
            "softmax 之后才遮：被忽略的评分很高时，其余的权重全是 0，除以总和得到 NaN。在 softmax "
            "之前遮评分。",
            "Masked after the softmax: where an ignored score is high all other weights are 0, and"
            " divided by their sum they are NaN. Mask the scores, before it.",
            lambda q, k, v, m: shares(_kept_weights(q, k, m)) @ v,
        ),
        "not-scaled": wrong(
            *hints.NOT_SCALED,
            lambda q, k, v, m: dot_product_attention(
                q * math.sqrt(k.shape[-1]), k, v, mask_from_ignore(m)
            ),
        ),
        "first-row-for-all": wrong(
            "每个查询有自己的一行，现在都用了第一行。",
            "Each query has a row of its own; all got the first.",
            lambda q, k, v, m: _converted(q, k, v, m[:1].expand_as(m)),
        ),
    },
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


# --- content-attention -------------------------------------------------------------------------


def _six_places() -> Iterator[Probe]:
    for _ in range(2):
        yield probe((torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 3)))
    query, keys = torch.full((1, 4), 20.0), 10 - torch.arange(6.0)[:, None].expand(6, 4) / 128
    high = Bilingual("评分很高", "the scores are high")
    yield Probe((query, keys, torch.randn(6, 2)), high)
    yield probe((query, -keys, torch.randn(6, 2)), "评分都很低", "all scores are low")


def _by_content(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return dot_product_attention(query, keys, values)


def _with_scores(change: Callable[[Tensor, Tensor], Tensor]) -> Answer:
    """Weigh by a softmax over other scores, made of the products and the keys."""

    def look(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return change(query @ keys.mT, keys).softmax(dim=-1) @ values

    return look


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


CONTENT_ATTENTION = exercise(
    "content-attention",
    "写 `look(query, keys, values)`：按内容看的注意力，缩放点积；评分多高多低都不许溢出。",
    "Write `look(query, keys, values)`: attention by content, with scaled dot products, without"
    " overflow however high or low the scores are.",
    solution=_by_content,
    probes=_six_places,
    mistakes={
        "uniform": wrong(
            "这只是平均：查询和键都没有用上。",
            "A mere mean: neither query nor keys are used.",
            lambda q, k, v: v.mean(dim=0, keepdim=True).expand(len(q), -1),
        ),
        "not-scaled": wrong(*hints.NOT_SCALED, lambda q, k, v: (q @ k.mT).softmax(dim=-1) @ v),
        "keys-averaged": wrong(
            "加权平均的是值，不是键。",
            "What is averaged are the values, not the keys.",
            lambda q, k, v: _by_content(q, k, k),
        ),
        "divided-by-d": wrong(
            *hints.DIVIDED_BY_D, _with_scores(lambda products, keys: products / keys.shape[-1])
        ),
        "divided-by-count": wrong(
            "除以了键的个数的平方根：d_k 是特征数，最后一个轴。",
            "That is the root of the number of keys: d_k counts features, the last axis.",
            _with_scores(lambda products, keys: products / math.sqrt(len(keys))),
        ),
        "wrong-sign": wrong(
            "符号反了：点积越大，权重越大。",
            "The sign is wrong: the larger the product, the larger the weight.",
            _with_scores(lambda products, keys: -products / math.sqrt(keys.shape[-1])),
        ),
        "no-softmax": wrong(
            "还没有做 softmax。", "The softmax is missing.", lambda q, k, v: _scores(q, k) @ v
        ),
        "wrong-axis": wrong(
            "softmax 的轴错了：沿着键，最后一个轴。",
            "The softmax runs over the wrong axis: take that of the keys, the last.",
            lambda q, k, v: _scores(q, k).softmax(dim=0) @ v,
        ),
        "lengths-lost": wrong(
            "查询和键先归一化了：点积里长度也算数。",
            "Query and keys are normalized first: their lengths count in the product.",
            lambda q, k, v: _by_content(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v),
        ),
        "largest-alone": wrong(
            "只取了评分最高的值：要按权重平均。",
            "Only the value with the highest score is taken: average by the weights.",
            lambda q, k, v: v[_scores(q, k).argmax(dim=-1)],
        ),
        "overflow": wrong(
            "评分很高时 `exp` 溢出，很低时全是 0，商是 NaN：用 `softmax`，它先减去最大值。",
            "`exp` overflows where scores are high, and is 0 where they are low; the ratio is NaN."
            " Use `softmax`, which subtracts the largest first.",
            lambda q, k, v: shares(_scores(q, k).exp()) @ v,
        ),
    },
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

EXERCISES = (FINAL_STATES, DEAD_PARAMETERS, MASK_TEST, IGNORE_MASK, CONTENT_ATTENTION)
