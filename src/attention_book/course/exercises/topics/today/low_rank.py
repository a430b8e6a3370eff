"""Exercises on fine-tuning by a low-rank change."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _changed() -> Iterator[Probe]:
    for d_in, d_out, rank, alpha in ((5, 4, 2, 4.0), (4, 4, 1, 3.0), (6, 6, 3, 1.5)):
        sizes = ((d_out, d_in), (rank, d_in), (d_out, rank))
        yield Probe((*(torch.randn(size) for size in sizes), alpha))


def _merged(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + alpha / len(A) * B @ A


def _undivided(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + alpha * B @ A


def _unscaled(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + B @ A


def _replaced(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return alpha / len(A) * B @ A


def _turned(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    change = (B @ A).mT
    return W + alpha / len(A) * (change if change.shape == W.shape else B @ A * 0)


def _by_size(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + alpha / len(W) * B @ A


def _by_input_size(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + alpha / W.shape[1] * B @ A


def _by_root(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + alpha / math.sqrt(len(A)) * B @ A


def _without_alpha(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + B @ A / len(A)


def _all_scaled(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return alpha / len(A) * (W + B @ A)


def _wrong_order(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    return W + alpha / len(A) * A @ B


_SIZE = Bilingual(
    "α 除以的是秩 r（A 的行数），不是 d_out，也不是 d_in。",
    "α is divided by the rank r, the rows of A, and not by d_out or d_in.",
)

LORA_MERGED = Exercise(
    name="lora-merged",
    task=Bilingual(
        "写 `merged(W, A, B, alpha)`：把低秩改动并进矩阵；W 的形状是 (d_out, d_in)，"
        "A 是 (r, d_in)，B 是 (d_out, r)。",
        "Write `merged(W, A, B, alpha)`: put the low-rank change into the matrix; the shapes are"
        " (d_out, d_in) for W, (r, d_in) for A and (d_out, r) for B.",
    ),
    solution=_merged,
    probes=_changed,
    mistakes=(
        Mistake(
            "not-divided-by-rank",
            _undivided,
            Bilingual("α 还要除以秩 r。", "α is to be divided by the rank r."),
        ),
        Mistake(
            "no-scale",
            _unscaled,
            Bilingual("改动还要乘以 α/r。", "The change is to be multiplied by α/r."),
        ),
        Mistake(
            "matrix-lost",
            _replaced,
            Bilingual("原来的矩阵 W 没有加上。", "The old matrix W is not added."),
        ),
        Mistake(
            "transposed",
            _turned,
            Bilingual("改动转置了：是 BA，不是它的转置。", "The change is transposed: it is BA."),
        ),
        Mistake("divided-by-size", _by_size, _SIZE),
        Mistake("divided-by-size", _by_input_size, _SIZE),
        Mistake(
            "root-of-rank",
            _by_root,
            Bilingual(
                "α 除以的是 r，不是 √r（那是后来的 rsLoRA）。",
                "α is divided by r, not by √r, which is the later rsLoRA.",
            ),
        ),
        Mistake(
            "no-alpha",
            _without_alpha,
            Bilingual("除以了 r，却没有乘 α。", "Divided by r, but not multiplied by α."),
        ),
        Mistake(
            "everything-scaled",
            _all_scaled,
            Bilingual("α/r 只乘改动，W 本身不变。", "α/r scales the change alone; W itself stays."),
        ),
        Mistake(
            "wrong-order",
            _wrong_order,
            Bilingual(
                "次序反了：BA 是（d_out, r）乘（r, d_in）。",
                "The wrong order: BA is (d_out, r) times (r, d_in).",
            ),
        ),
    ),
)

EXERCISES = (LORA_MERGED,)
