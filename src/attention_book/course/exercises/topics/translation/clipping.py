"""An exercise on training a translator: gradients that are clipped."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _gradients() -> Iterator[Probe]:
    yield Probe(([torch.tensor([3.0, 0.0]), torch.tensor([4.0])], 1.0))
    yield Probe(([torch.randn(2, 3), torch.randn(5)], 0.5))
    yield Probe(
        ([torch.tensor([0.3]), torch.tensor([0.4])], 2.0),
        Bilingual("范数本来就不大", "the norm is small already"),
    )
    yield Probe(
        ([torch.zeros(2), torch.zeros(1, 3)], 1.0),
        Bilingual("梯度全是 0", "all gradients are 0"),
    )
    yield Probe(
        ([torch.tensor([1e-3]), torch.tensor([3e4, -4e4])], 2.5),
        Bilingual("大小悬殊", "sizes differ by far"),
    )
    yield Probe(([torch.tensor(-6.0)], 2.0), Bilingual("只有一个数", "there is a single number"))


def _norm(gradients: Sequence[Tensor]) -> float:
    return math.sqrt(sum(gradient.square().sum().item() for gradient in gradients))


def _factor(max_norm: float, norm: float) -> float:
    return max_norm / norm if norm > max_norm else 1.0


def _clip(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    factor = _factor(max_norm, _norm(gradients))
    return [gradient * factor for gradient in gradients]


def _zero_divided(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    """Divide by the norm whatever it is: the minimum comes too late."""
    factor = min(1.0, max_norm / _norm(gradients))
    return [gradient * factor for gradient in gradients]


def _largest_number(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    largest = max(gradient.abs().max().item() for gradient in gradients)
    return [gradient * _factor(max_norm, largest) for gradient in gradients]


def _to_one(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    norm = _norm(gradients)
    return [gradient / norm if norm > max_norm else gradient.clone() for gradient in gradients]


_ZERO_DIVIDED = Bilingual(
    "梯度全是 0 时，范数也是 0，不能作除数：先问范数是否超过 max_norm，超过才除。",
    "Where all gradients are 0 so is the norm, and it can't be divided by: ask first whether it"
    " exceeds max_norm, and divide only then.",
)


def _clip_in_place(gradients: Sequence[Tensor], max_norm: float) -> Sequence[Tensor]:
    factor = _factor(max_norm, _norm(gradients))
    for gradient in gradients:
        gradient.mul_(factor)
    return gradients


CLIP_GRADIENTS = Exercise(
    name="clip-gradients",
    task=Bilingual(
        "写 `clip(gradients, max_norm)`：所有梯度合起来的范数超过 max_norm 时，按同一比"
        "例缩小；返回新的张量。梯度可以全是 0。",
        "Write `clip(gradients, max_norm)`: where the norm of all gradients together "
        "exceeds max_norm, shrink them by one factor; return new tensors. All "
        "gradients may be 0.",
    ),
    solution=_clip,
    probes=_gradients,
    mistakes=(
        Mistake(
            "each-alone",
            lambda gradients, max_norm: [_clip([each], max_norm)[0] for each in gradients],
            Bilingual(
                "每个张量各自裁剪，改变了梯度的方向：先算所有张量合起来的范数。",
                "Clipping each tensor alone turns the direction of the gradient: take the norm of"
                " all of them together.",
            ),
        ),
        Mistake(
            "values",
            lambda gradients, max_norm: [each.clamp(-max_norm, max_norm) for each in gradients],
            Bilingual(
                "裁的是每个数，不是范数：方向变了，范数也可能仍然太大。",
                "This clips every number, not the norm: the direction changes, and the norm may"
                " still be too large.",
            ),
        ),
        Mistake(
            "always",
            lambda gradients, max_norm: [
                each * (max_norm / (_norm(gradients) or 1.0)) for each in gradients
            ],
            Bilingual(
                "范数本来就小的梯度被放大了：只缩小，不放大。",
                "A gradient that was small is blown up: shrink only, never enlarge.",
            ),
        ),
        Mistake(
            "sum-of-norms",
            lambda gradients, max_norm: [
                each * _factor(max_norm, sum(_norm([other]) for other in gradients))
                for each in gradients
            ],
            Bilingual(
                "范数不能相加：先把所有的平方相加，最后开根号。",
                "Norms do not add up: sum all squares first, and take the root at the end.",
            ),
        ),
        Mistake(
            "no-root",
            lambda gradients, max_norm: [
                each * _factor(max_norm, _norm(gradients) ** 2) for each in gradients
            ],
            Bilingual("平方和忘了开根号。", "The sum of squares lacks its root."),
        ),
        Mistake(
            "in-place",
            _clip_in_place,
            Bilingual(
                "这里要求返回新的张量：`mul_` 改写了交进来的梯度。",
                "New tensors were asked for: `mul_` overwrites the gradients handed in.",
            ),
        ),
        Mistake("zero-divided", _zero_divided, _ZERO_DIVIDED),
        Mistake(
            "largest-number",
            _largest_number,
            Bilingual(
                "范数是平方和的平方根，不是最大的绝对值。",
                "The norm is the root of the sum of squares, not the largest absolute value.",
            ),
        ),
        Mistake(
            "not-clipped",
            lambda gradients, max_norm: list(gradients),
            Bilingual(
                "范数超过 max_norm 时没有缩小。",
                "Nothing is shrunk where the norm exceeds max_norm.",
            ),
        ),
        Mistake(
            "to-norm-one",
            _to_one,
            Bilingual(
                "缩小之后的范数应当是 max_norm，不是 1。",
                "After shrinking the norm should be max_norm, not 1.",
            ),
        ),
    ),
)

EXERCISES = (CLIP_GRADIENTS,)
