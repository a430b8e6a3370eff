"""An exercise on the encoder's final states."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _read_sentences() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 2, 2), torch.tensor([3, 2])))
    yield Probe((torch.randn(5, 3, 4), torch.tensor([2, 5, 4])))
    yield Probe(
        (torch.randn(4, 1, 1), torch.tensor([2])),
        Bilingual("只有一句，特征只有一个", "there is one sentence, with one feature"),
    )
    yield Probe(
        (torch.randn(3, 3, 2), torch.tensor([1, 3, 1])),
        Bilingual("有的句子只有一个词", "some sentences have one word"),
    )
    silent = torch.randn(4, 2, 2)
    silent[1, 0] = 0
    yield Probe(
        (silent, torch.tensor([2, 4])), Bilingual("有一个状态全是 0", "one of the states is all 0")
    )


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


def _every_pair(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs[lengths - 1]


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
        Mistake(
            "mean-with-padding",
            lambda outputs, lengths: outputs.mean(dim=0),
            Bilingual(
                "这是各步的平均，填充也在内：要的是最后一个真词元之后的状态。",
                "This is the mean of all steps, padding included: asked for is the state after "
                "the last real token.",
            ),
        ),
        Mistake(
            "first-step",
            lambda outputs, lengths: outputs[0],
            Bilingual(
                "这是第一步之后的状态，不是最后一步。",
                "This is the state after the first step, not the last.",
            ),
        ),
        Mistake(
            "all-pairs",
            _every_pair,
            Bilingual(
                "`outputs[lengths - 1]` 为每个长度取了整批：第 i 句要它自己的那一个，下标还要加"
                "上 `torch.arange(batch)`。",
                "`outputs[lengths - 1]` takes the whole batch for every length: sentence i "
                "needs its own, so index with `torch.arange(batch)` as well.",
            ),
        ),
    ),
)

EXERCISES = (FINAL_STATES,)
