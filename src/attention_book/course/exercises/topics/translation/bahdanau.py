"""An exercise on Bahdanau's attention: one look at the source."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import masked_softmax
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _states_and_annotations() -> Iterator[Probe]:
    for lengths in ((3, 3), (4, 2), (5, 1, 3), (2,)):
        batch, width = len(lengths), max(lengths)
        mask = torch.arange(width) < torch.tensor(lengths)[:, None]
        weights = torch.randn(7, 2), torch.randn(7, 3), torch.randn(7)
        about = Bilingual("有填充", "there is padding") if min(lengths) < width else None
        yield Probe((torch.randn(batch, 2), torch.randn(batch, width, 3), mask, *weights), about)


def _scores(state: Tensor, annotations: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((state @ W_s.T)[:, None] + annotations @ W_h.T) @ v


def _look(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a look whose weights are made of scores and mask, both (batch, key)."""

    def look(
        state: Tensor, annotations: Tensor, mask: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor
    ) -> Tensor:
        weights = weigh(_scores(state, annotations, W_s, W_h, v), mask)
        return (weights[..., None] * annotations).sum(dim=1)

    return look


def _over_batch(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=0)


def _state_left_out(
    state: Tensor, annotations: Tensor, mask: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor
) -> Tensor:
    return LOOK.solution(state * 0, annotations, mask, W_s, W_h, v)  # type: ignore[no-any-return]


def _scaled_to_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(dim=-1)


def _highest(scores: Tensor, mask: Tensor) -> Tensor:
    seen = scores.masked_fill(~mask, -torch.inf)
    return (seen == seen.amax(dim=-1, keepdim=True)).to(scores.dtype)


def _over_all(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).flatten().softmax(dim=0).view_as(scores)


def _no_tanh(
    state: Tensor, annotations: Tensor, mask: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor
) -> Tensor:
    scores = ((state @ W_s.T)[:, None] + annotations @ W_h.T) @ v
    return (masked_softmax(scores, mask)[..., None] * annotations).sum(dim=1)


_COMPETING_SENTENCES = Bilingual(
    "softmax 沿着批量的轴，成了句子与句子相争：要沿源句的位置。",
    "The softmax runs over the batch: sentences compete with one another. It goes over the"
    " positions of the source.",
)


LOOK = Exercise(
    name="bahdanau-look",
    task=Bilingual(
        "写 `look(state, annotations, mask, W_s, W_h, v)`："
        "解码器的状态（批量，d_s）看一眼源句的注释"
        "（批量，位置，d_h），返回上下文（批量，d_h）；mask（批量，位置）里 True 是真词；"
        "W_s 的形状是（隐单元，d_s），W_h 是（隐单元，d_h），v 是（隐单元）。",
        "Write `look(state, annotations, mask, W_s, W_h, v)`: the decoder's state (batch, d_s)"
        " looks at the annotations (batch, position, d_h) and returns a context (batch, d_h);"
        " True in mask (batch, position) marks a real word; W_s has the shape (hidden"
        " unit, d_s), W_h (hidden unit, d_h), and v (hidden unit).",
    ),
    solution=_look(lambda scores, mask: masked_softmax(scores, mask)),
    probes=_states_and_annotations,
    mistakes=(
        Mistake(
            "padding-seen",
            _look(lambda scores, mask: scores.softmax(dim=-1)),
            Bilingual(
                "没有填充时对，有填充就错：填充也分到了权重。评分之后、softmax 之前要遮住它。",
                "Right without padding, wrong with it: the padding gets weight as well. Hide it"
                " after scoring and before the softmax.",
            ),
        ),
        Mistake(
            "masked-afterwards",
            _look(lambda scores, mask: scores.softmax(dim=-1) * mask),
            Bilingual(
                "softmax 之后才遮，短句的权重之和小于 1，上下文也跟着缩小。",
                "Masked after the softmax, the weights of a short sentence sum to less than 1, and"
                " its context shrinks.",
            ),
        ),
        Mistake(
            "over-the-batch",
            _look(_over_batch),
            _COMPETING_SENTENCES,
        ),
        Mistake(
            "plain-average",
            _look(lambda scores, mask: mask / mask.sum(dim=-1, keepdim=True)),
            Bilingual(
                "每个词的权重都一样：评分没有用上。",
                "Every word has the same weight: the scores are not used.",
            ),
        ),
        Mistake(
            "state-left-out",
            _state_left_out,
            Bilingual(
                "状态没有进入评分：每一步看到的都一样，这不是注意力，是一个固定的平均。",
                "The state is not part of the score: every step sees the same. This is no attention"
                " but a fixed average.",
            ),
        ),
        Mistake("over-the-batch", _look(_over_all), _COMPETING_SENTENCES),
        Mistake(
            "scores-set-to-zero",
            _look(_scaled_to_zero),
            Bilingual(
                "把评分变成 0 并没有遮住它：`exp(0)` 是 1，不是 0。填 `-inf`。",
                "A score of 0 is not hidden: `exp(0)` is 1, not 0. Fill with `-inf`.",
            ),
        ),
        Mistake(
            "mask-inverted",
            _look(lambda scores, mask: masked_softmax(scores, ~mask)),
            Bilingual("掩码反了：True 是真词。", "The mask is inverted: True marks a real word."),
        ),
        Mistake(
            "mask-inverted",
            _look(lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(dim=-1)),
            Bilingual(
                "掩码反了：要填充的是 `~mask` 的位置。",
                "The mask is inverted: what gets filled is `~mask`.",
            ),
        ),
        Mistake(
            "highest-only",
            _look(_highest),
            Bilingual(
                "只取了评分最高的词：上下文是所有真词的加权平均。",
                "Only the word of the highest score is taken: the context is a weighted "
                "average over all real words.",
            ),
        ),
        Mistake(
            "no-softmax",
            _look(lambda scores, mask: scores * mask),
            Bilingual(
                "没有 softmax：评分还不是权重。", "There is no softmax: scores are no weights yet."
            ),
        ),
        Mistake(
            "not-normalized",
            _look(lambda scores, mask: scores.exp() * mask),
            Bilingual(
                "指数还要除以这一句的和。",
                "The exponentials still have to be divided by the sum of their sentence.",
            ),
        ),
        Mistake(
            "sign",
            _look(lambda scores, mask: masked_softmax(-scores, mask)),
            Bilingual(
                "符号反了：评分越高，权重越大。",
                "The sign is reversed: a higher score means a larger weight.",
            ),
        ),
        Mistake(
            "no-tanh", _no_tanh, Bilingual("评分里少了 tanh。", "The tanh of the score is missing.")
        ),
    ),
)

EXERCISES = (LOOK,)
