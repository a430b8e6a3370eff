"""Exercises on training with real text: how much of a batch is padding, the mean of checkpoints."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual

Lengths = Sequence[Sequence[int]]
Weights = Mapping[str, Tensor]


def _batches() -> Iterator[Probe]:
    yield Probe(([[2, 4], [3, 3, 6]],))
    yield Probe(([[5], [1, 9], [4, 4, 4]],))
    yield Probe(([[7, 7], [3]],), Bilingual("没有填充", "no padding at all"))


def _padding(batches: Lengths) -> float:
    places = sum(len(batch) * max(batch) for batch in batches)
    return 1 - sum(map(sum, batches)) / places


PADDING_SHARE = Exercise(
    name="padding-share",
    task=Bilingual(
        "写 `padding(batches)`：`batches` 是每一批里各句的长度，例如 `[[2, 4], [3, 3, 6]]`；"
        "每批补齐到自己最长的一句，返回全部位置里填充所占的比例。",
        "Write `padding(batches)`: `batches` holds the lengths of the sentences of each batch,"
        " such as `[[2, 4], [3, 3, 6]]`; each batch is padded to its own longest sentence."
        " Return the share of padding among all places.",
    ),
    solution=_padding,
    probes=_batches,
    mistakes=(
        Mistake(
            "mean-of-shares",
            lambda batches: sum(_padding([batch]) for batch in batches) / len(batches),
            Bilingual(
                "先算每批的比例再平均，小批和大批就一样重了：先把位置全加起来，再除。",
                "A mean of the batches' shares gives small batches the weight of large ones: add"
                " up all places first, then divide.",
            ),
        ),
        Mistake(
            "longest-of-all",
            lambda batches: (
                1 - sum(map(sum, batches)) / (sum(map(len, batches)) * max(map(max, batches)))
            ),
            Bilingual(
                "每批只补齐到本批最长的一句，不是全部语料里最长的一句。",
                "A batch is padded to its own longest sentence, not to the longest of all.",
            ),
        ),
        Mistake(
            "share-of-words",
            lambda batches: 1 - _padding(batches),
            Bilingual(
                "这是真实词元的比例，填充是余下的部分。",
                "This is the share of real tokens; padding is the rest.",
            ),
        ),
        Mistake(
            "per-real-token",
            lambda batches: (
                sum(len(batch) * max(batch) for batch in batches) / sum(map(sum, batches)) - 1
            ),
            Bilingual(
                "分母应是全部位置（填充也算在内），不是真实词元。",
                "Divide by all places, padding included, not by the real tokens.",
            ),
        ),
    ),
)


def _checkpoints() -> Iterator[Probe]:
    def drawn(count: int) -> list[dict[str, Tensor]]:
        return [{"W": torch.randn(2, 3), "b": torch.randn(3)} for _ in range(count)]

    yield Probe((drawn(2),))
    yield Probe((drawn(4),))
    yield Probe((drawn(1),), Bilingual("只有一个检查点", "a single checkpoint"))


def _mean(checkpoints: Sequence[Weights]) -> dict[str, Tensor]:
    return {
        name: torch.stack([each[name] for each in checkpoints]).mean(dim=0)
        for name in checkpoints[0]
    }


def _pairwise(checkpoints: Sequence[Weights]) -> dict[str, Tensor]:
    mean = dict(checkpoints[0])
    for each in checkpoints[1:]:
        mean = {name: (mean[name] + each[name]) / 2 for name in mean}
    return mean


def _in_place(checkpoints: Sequence[Weights]) -> dict[str, Tensor]:
    mean = dict(checkpoints[0])
    for name, total in mean.items():
        for each in checkpoints[1:]:
            total += each[name]
        total /= len(checkpoints)
    return mean


MEAN_OF_CHECKPOINTS = Exercise(
    name="mean-of-checkpoints",
    task=Bilingual(
        "写 `mean(checkpoints)`：`checkpoints` 是几个检查点，各是“名字 → 张量”的字典；"
        "返回一个新字典，每个张量是各检查点里同名张量的平均。",
        "Write `mean(checkpoints)`: `checkpoints` are dictionaries from names to tensors; return"
        " a new dictionary with the mean of the tensors of each name.",
    ),
    solution=_mean,
    probes=_checkpoints,
    mistakes=(
        Mistake(
            "pairwise",
            _pairwise,
            Bilingual(
                "一个一个地取中点，后面的检查点就重得多：先全部相加，再除以个数。",
                "Taking the midpoint one after the other gives the later ones more weight: add"
                " all of them, then divide by their number.",
            ),
        ),
        Mistake(
            "in-place",
            _in_place,
            Bilingual(
                "`+=` 和 `/=` 改写了第一个检查点里的张量：要返回新的张量。",
                "`+=` and `/=` overwrite the tensors of the first checkpoint: return new ones.",
            ),
        ),
        Mistake(
            "sum",
            lambda checkpoints: {
                name: torch.stack([each[name] for each in checkpoints]).sum(dim=0)
                for name in checkpoints[0]
            },
            Bilingual("加起来了，还没有除以个数。", "This is the sum: divide by their number."),
        ),
        Mistake(
            "last",
            lambda checkpoints: dict(checkpoints[-1]),
            Bilingual(
                "这是最后一个检查点，不是平均。",
                "This is the last checkpoint, not the mean of all.",
            ),
        ),
    ),
)

EXERCISES = (PADDING_SHARE, MEAN_OF_CHECKPOINTS)
