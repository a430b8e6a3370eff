"""Exercises on windows and sinks: what a query still sees, and a softmax that may look away."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _places() -> Iterator[Probe]:
    yield Probe((9, 3, 1))
    yield Probe((2, 4, 0), Bilingual("文字比窗口短", "a text shorter than the window"))
    yield Probe((4, 4, 2), Bilingual("窗口碰到开头", "the window touches the first ones"))
    yield Probe((20, 5, 4))
    yield Probe((6, 4, 3), Bilingual("窗口正好接着开头", "the window follows the first ones"))
    yield Probe((7, 4, 3), Bilingual("只隔开一个位置", "one position lies between"))
    yield Probe((6, 1, 2), Bilingual("窗口里只有自己", "the window is its own position alone"))
    yield Probe((2, 1, 5), Bilingual("开头的还没有写完", "the first ones are still to come"))
    yield Probe((0, 3, 1), Bilingual("第一个位置", "the first position"))


def _kept(i: int, w: int, f: int) -> list[int]:
    return [j for j in range(i + 1) if i - j < w or j < f]


def _one_more(i: int, w: int, f: int) -> list[int]:
    return _kept(i, w + 1, f)


def _inside(i: int, w: int, f: int) -> list[int]:
    return _kept(i, max(w - f, 1), f)


def _twice(i: int, w: int, f: int) -> list[int]:
    return [*range(min(f, i + 1)), *range(max(0, i - w + 1), i + 1)]


def _without_itself(i: int, w: int, f: int) -> list[int]:
    return [j for j in _kept(i, w, f) if j < i]


def _first_not_written(i: int, w: int, f: int) -> list[int]:
    return sorted({*range(f), *_kept(i, w, f)})


def _below_zero(i: int, w: int, f: int) -> list[int]:
    return sorted({*range(min(f, i + 1)), *range(i - w + 1, i + 1)})


def _both_sides(i: int, w: int, f: int) -> list[int]:
    return [j for j in range(i + w) if abs(i - j) < w or j < f]


KEPT_POSITIONS = Exercise(
    name="kept-positions",
    task=Bilingual(
        "写 `kept(i, w, f)`：位置 i 的查询看得见哪些位置，从小到大列出。"
        "窗口是 w（连它自己），开头的 f 个始终看得见。",
        "Write `kept(i, w, f)`: list the positions that the query at position i sees, in order."
        " The window is w (its own position included), and the first f always stay visible.",
    ),
    solution=_kept,
    probes=_places,
    mistakes=(
        Mistake(
            "one-more",
            _one_more,
            Bilingual(
                "多了一个：w 把查询自己也算在内，最远看到 i − w + 1。",
                "One too many: w counts the query's own position, so the farthest is i − w + 1.",
            ),
        ),
        Mistake(
            "first-inside-the-window",
            _inside,
            Bilingual(
                "开头的 f 个是另加的，不占窗口的名额。",
                "The first f come on top; they take no place in the window.",
            ),
        ),
        Mistake(
            "twice",
            _twice,
            Bilingual(
                "窗口碰到开头时，有的位置列了两次；缓存里一个键只有一份。",
                "Where the window touches the first ones, positions are listed twice; a cache"
                " holds each key once.",
            ),
        ),
        Mistake(
            "not-itself",
            _without_itself,
            Bilingual("查询也看见自己。", "A query sees itself, too."),
        ),
        Mistake(
            "first-too-early",
            _first_not_written,
            Bilingual(
                "列出了还没有写的位置：开头的 f 个里，只有不晚于 i 的看得见。",
                "Positions are listed that are still to come: of the first f, only those up to i"
                " can be seen.",
            ),
        ),
        Mistake(
            "below-zero",
            _below_zero,
            Bilingual(
                "窗口伸到了开头之前：没有负的位置。",
                "The window reaches back beyond the start: no position is negative.",
            ),
        ),
        Mistake(
            "window-alone",
            lambda i, w, f: _kept(i, w, 0),
            Bilingual("漏了开头的 f 个。", "The first f are missing."),
        ),
        Mistake(
            "one-first-more",
            lambda i, w, f: _kept(i, w, f + 1),
            Bilingual(
                "开头多了一个：前 f 个是位置 0 到 f − 1。",
                "One too many at the start: the first f are the positions 0 to f − 1.",
            ),
        ),
        Mistake(
            "one-less",
            lambda i, w, f: _kept(i, w - 1, f),
            Bilingual(
                "窗口少了一个：连自己在内是 w 个，最远看到 i − w + 1。",
                "The window lacks one: it holds w positions with the query's own, so the farthest"
                " is i − w + 1.",
            ),
        ),
        Mistake(
            "both-sides",
            _both_sides,
            Bilingual(
                "窗口只朝后看：后面的词还没有写。",
                "The window looks back alone: later words are not written yet.",
            ),
        ),
        Mistake(
            "largest-first",
            lambda i, w, f: _kept(i, w, f)[::-1],
            Bilingual("次序反了：从小到大。", "The order is reversed: the smallest comes first."),
        ),
    ),
)


def _scores_and_sinks() -> Iterator[Probe]:
    yield Probe((torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0]), 4.0))
    yield Probe((torch.randn(3, 4), 0.0), Bilingual("汇是 0", "a sink of 0"))
    yield Probe((torch.full((1, 2), -30.0), 0.0), Bilingual("没有值得看的", "nothing to look at"))
    yield Probe((torch.randn(2, 3), -1.5), Bilingual("汇是负的", "a negative sink"))
    huge = Bilingual("评分很大", "huge scores")
    yield Probe((torch.tensor([[1000.0, 999.0, 0.0]]), 998.5), huge)
    tiny = Bilingual("评分都很小", "all scores far below zero")
    yield Probe((torch.tensor([[-1000.0, -1001.0]]), -999.5), tiny)
    hidden = torch.tensor([[1.0, -torch.inf, 0.5], [-torch.inf, 2.0, -torch.inf]])
    yield Probe((hidden, 1.0), Bilingual("有的键被遮住了", "some keys are hidden"))


def _with_sink(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((scores, column), dim=-1).softmax(dim=-1)[..., :-1]


def _first_key(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((column, scores), dim=-1).softmax(dim=-1)[..., :-1]


def _normalized(scores: Tensor, sink: float) -> Tensor:
    return scores.softmax(dim=-1)


def _added(scores: Tensor, sink: float) -> Tensor:
    return scores.exp() / (scores.exp().sum(dim=-1, keepdim=True) + sink)


def _plus_one(scores: Tensor, sink: float) -> Tensor:
    return scores.exp() / (scores.exp().sum(dim=-1, keepdim=True) + 1)


def _overflowing(scores: Tensor, sink: float) -> Tensor:
    extra = torch.tensor(float(sink)).exp()
    return scores.exp() / (scores.exp().sum(dim=-1, keepdim=True) + extra)


def _shifted(scores: Tensor, extra: float | Tensor) -> Tensor:
    parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return parts / (parts.sum(dim=-1, keepdim=True) + extra)


def _over_queries(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((scores, column), dim=-1).softmax(dim=0)[..., :-1]


def _kept_column(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((scores, column), dim=-1).softmax(dim=-1)


_SHIFT = Bilingual(
    "评分减去了最大值，汇没有减：分母里每一项都要除以同一个数。",
    "The maximum is subtracted from the scores and not from the sink: every term of the denominator"
    " is to be divided by the same number.",
)

SINK_SOFTMAX = Exercise(
    name="sink-softmax",
    task=Bilingual(
        "写 `weights(scores, sink)`：最后一维上的 softmax，分母多一项 e 的 sink 次方；"
        "返回各个键的权重，形状与 scores 相同；评分再大再小也不许溢出。",
        "Write `weights(scores, sink)`: a softmax over the last axis whose denominator has one"
        " more term, e to the power of sink; return the keys' weights, shaped like scores, without"
        " overflow however large or small they are.",
    ),
    solution=_with_sink,
    probes=_scores_and_sinks,
    mistakes=(
        Mistake(
            "no-sink",
            _normalized,
            Bilingual(
                "这是普通的 softmax：权重之和仍是 1，汇没有起作用。",
                "This is the usual softmax: the weights still sum to 1, and the sink does nothing.",
            ),
        ),
        Mistake(
            "sink-not-a-score",
            _added,
            Bilingual(
                "汇是一个评分，进分母之前要取指数。",
                "The sink is a score: its exponential goes into the denominator.",
            ),
        ),
        Mistake(
            "always-one",
            _plus_one,
            Bilingual(
                "分母加 1 是汇等于 0 的情形；这里要用给定的汇。",
                "To add 1 is right for a sink of 0; use the one that is given.",
            ),
        ),
        Mistake(
            "sink-returned",
            _kept_column,
            Bilingual(
                "汇的权重也返回了：它没有值，要去掉。",
                "The sink's own weight is returned, too: it has no value, drop it.",
            ),
        ),
        Mistake(
            "last-key-dropped",
            _first_key,
            Bilingual(
                "汇放在最前面，去掉的却是最后一个键。",
                "The sink stands first, but it is the last key that is dropped.",
            ),
        ),
        Mistake(
            "overflow",
            _overflowing,
            Bilingual(
                "e 的 1000 次方溢出，e 的 −1000 次方是 0，商是 NaN：先减去最大的一项，"
                "或者把汇接在评分后面，一起做 softmax。",
                "e to the power of 1000 overflows, to the power of −1000 it is 0, and their ratios"
                " are NaN: subtract the largest first, or append the sink to the scores and take"
                " one softmax.",
            ),
        ),
        Mistake("sink-not-shifted", lambda x, sink: _shifted(x, torch.tensor(sink).exp()), _SHIFT),
        Mistake("sink-not-shifted", lambda scores, sink: _shifted(scores, 1.0), _SHIFT),
        Mistake(
            "wrong-sign",
            lambda scores, sink: _with_sink(scores, -sink),
            Bilingual(
                "汇的符号反了：汇越大，键分到的越少。",
                "The sink's sign is wrong: the larger the sink, the less is left for the keys.",
            ),
        ),
        Mistake(
            "wrong-axis",
            _over_queries,
            Bilingual(
                "softmax 沿着查询做了：要沿最后一维，键。",
                "The softmax runs over the queries: take the last axis, that of the keys.",
            ),
        ),
    ),
)

EXERCISES = (KEPT_POSITIONS, SINK_SOFTMAX)
