"""An exercise on gradients: the way back through a softmax."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _weights_and_gradients() -> Iterator[Probe]:
    yield Probe((torch.randn(1, 3).softmax(dim=-1), torch.randn(1, 3)))
    yield Probe((torch.randn(3, 5).softmax(dim=-1), torch.randn(3, 5)))
    hidden = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    yield Probe((hidden, torch.randn(2, 3)), Bilingual("有的权重是 0", "some weights are 0"))
    yield Probe(
        (torch.randn(3, 3).softmax(dim=-1), torch.randn(3, 3)),
        Bilingual("查询与键一样多", "there are as many queries as keys"),
    )


def _backward(weights: Tensor, gradient: Tensor) -> Tensor:
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))


_MIXED = Bilingual(
    "把各个查询混在一起了：每一行各自求和。",
    "This mixes the queries: sum within each row.",
)
_TWICE = Bilingual(
    "`weights` 已经是 softmax 的结果：不要再做一次。",
    "`weights` is the result of the softmax already: do not take it again.",
)


SOFTMAX_BACKWARD = Exercise(
    name="softmax-backward",
    task=Bilingual(
        "写 `backward(weights, gradient)`："
        "已知 softmax 的结果和损失对权重的梯度，返回对评分的梯度。",
        "Write `backward(weights, gradient)`: given the result of a softmax and the loss's"
        " gradient with respect to the weights, return the one with respect to the scores.",
    ),
    solution=_backward,
    probes=_weights_and_gradients,
    mistakes=(
        Mistake(
            "diagonal-only",
            lambda weights, gradient: weights * (1 - weights) * gradient,
            Bilingual(
                "只用了雅可比矩阵的对角线：抬高一个评分，别的权重也会变小。",
                "Only the diagonal of the Jacobian: raising one score lowers the other weights,"
                " too.",
            ),
        ),
        Mistake(
            "nothing-subtracted",
            lambda weights, gradient: weights * gradient,
            Bilingual(
                "一行的梯度之和应当是 0：给所有评分加同一个数，什么都不变。要减去什么？",
                "The gradients of a row must sum to 0, for adding one number to all scores changes"
                " nothing. What has to be subtracted?",
            ),
        ),
        Mistake(
            "plain-mean",
            lambda weights, gradient: weights * (gradient - gradient.mean(dim=-1, keepdim=True)),
            Bilingual(
                "减去的是加权平均，不是普通平均。",
                "What is subtracted is the weighted mean, not the plain one.",
            ),
        ),
        Mistake(
            "sign",
            lambda weights, gradient: -_backward(weights, gradient),
            Bilingual("每个数都对，只是符号反了。", "Right but for the sign, which is reversed."),
        ),
        Mistake(
            "wrong-axis",
            lambda weights, gradient: weights * (gradient - (weights * gradient).sum(dim=0)),
            _MIXED,
        ),
        Mistake(
            "wrong-axis",
            lambda weights, gradient: weights * (gradient - (weights * gradient).sum()),
            _MIXED,
        ),
        Mistake(
            "no-kept-axis",
            lambda weights, gradient: weights * (gradient - (weights * gradient).sum(dim=-1)),
            Bilingual(
                "和少了一个轴，减的时候对错了行：求和时加上 `keepdim=True`。",
                "The sum has lost its axis and is subtracted from the wrong rows: sum with "
                "`keepdim=True`.",
            ),
        ),
        Mistake(
            "plain-sum",
            lambda weights, gradient: weights * (gradient - gradient.sum(dim=-1, keepdim=True)),
            Bilingual(
                "减去的是按权重求的平均，不是普通的和。",
                "What is subtracted is the mean under the weights, not the plain sum.",
            ),
        ),
        Mistake(
            "weights-missing",
            lambda weights, gradient: gradient - (weights * gradient).sum(dim=-1, keepdim=True),
            Bilingual(
                "外面还要乘以权重：权重为 0 的键，评分的梯度也是 0。",
                "The weights are missing outside: where a weight is 0, so is the gradient of "
                "its score.",
            ),
        ),
        Mistake(
            "softmax-twice",
            lambda weights, gradient: _backward(weights.softmax(dim=-1), gradient),
            _TWICE,
        ),
        Mistake(
            "softmax-twice",
            lambda weights, gradient: (
                weights
                * (gradient - (weights.softmax(dim=-1) * gradient).sum(dim=-1, keepdim=True))
            ),
            _TWICE,
        ),
        Mistake(
            "divided-by-weights",
            lambda weights, gradient: _backward(weights, gradient) * weights / weights,
            Bilingual(
                "除以了权重：权重为 0 时是 0/0。",
                "Divided by the weights: where one is 0, this is 0/0.",
            ),
        ),
    ),
)

EXERCISES = (SOFTMAX_BACKWARD,)
