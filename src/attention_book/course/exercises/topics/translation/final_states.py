"""An exercise on the encoder's final states."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _read_sentences() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 2, 2), torch.tensor([3, 2])))
    yield Probe((torch.randn(5, 3, 4), torch.tensor([2, 5, 4])))


def _last_real(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs[lengths - 1, torch.arange(len(lengths))]


def _last_row(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs[-1]


def _batch_first(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs[:, -1]


def _step_before(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs[lengths - 2, torch.arange(len(lengths))]


def _all_steps(outputs: Tensor, lengths: Tensor) -> Tensor:
    return torch.stack([outputs[:n, i].mean(dim=0) for i, n in enumerate(lengths.tolist())])


FINAL_STATES = Exercise(
    name="final-states",
    task=Bilingual(
        "写 `finals(outputs, lengths)`：每句读完最后一个真词元之后的状态，（批量，特征）；"
        "outputs 的形状是（时间，批量，特征）。",
        "Write `finals(outputs, lengths)`: the state of each sentence after its last real token,"
        " (batch, feature); outputs has the shape (time, batch, feature).",
    ),
    solution=_last_real,
    probes=_read_sentences,
    mistakes=(
        Mistake(
            "last-place",
            _last_row,
            Bilingual(
                "短句的最后一行是读了填充之后的：按 `lengths` 取。",
                "In a short sentence the last row comes after padding: go by `lengths`.",
            ),
        ),
        Mistake(
            "batch-first",
            _batch_first,
            Bilingual(
                "时间在前：`outputs[:, -1]` 取的是最后一句的各步。",
                "Time comes first: `outputs[:, -1]` takes the steps of the last sentence.",
            ),
        ),
        Mistake(
            "previous-step",
            _step_before,
            Bilingual(
                "早了一步：要的是读完最后一个真词元之后，不是之前。",
                "One step early: after the last real token, not before it.",
            ),
        ),
        Mistake(
            "mean",
            _all_steps,
            Bilingual(
                "要的是终态，不是各步的平均。", "The final state is asked for, not the mean."
            ),
        ),
    ),
)

EXERCISES = (FINAL_STATES,)
