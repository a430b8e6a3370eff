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
    ),
)


def _scores_and_sinks() -> Iterator[Probe]:
    yield Probe((torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0]), 4.0))
    yield Probe((torch.randn(3, 4), 0.0), Bilingual("汇是 0", "a sink of 0"))
    yield Probe((torch.full((1, 2), -30.0), 0.0), Bilingual("没有值得看的", "nothing to look at"))


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


def _kept_column(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((scores, column), dim=-1).softmax(dim=-1)


SINK_SOFTMAX = Exercise(
    name="sink-softmax",
    task=Bilingual(
        "写 `weights(scores, sink)`：最后一维上的 softmax，分母多一项 e 的 sink 次方；"
        "返回各个键的权重，形状与 scores 相同。",
        "Write `weights(scores, sink)`: a softmax over the last axis whose denominator has one"
        " more term, e to the power of sink; return the keys' weights, shaped like scores.",
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
    ),
)

EXERCISES = (KEPT_POSITIONS, SINK_SOFTMAX)
