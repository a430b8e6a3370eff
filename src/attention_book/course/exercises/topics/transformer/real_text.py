"""Exercises on training with real text: how much of a batch is padding, the mean of checkpoints."""

from collections.abc import Callable, Iterator, Mapping, Sequence

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
    yield Probe(
        ([[9, 1, 4], [2, 8, 3, 5], [6]],),
        Bilingual("最长的一句不在开头也不在末尾", "the longest is neither first nor last"),
    )
    yield Probe(([[3, 5, 1]],), Bilingual("只有一批", "there is a single batch"))


def _padding(batches: Lengths) -> float:
    places = sum(len(batch) * max(batch) for batch in batches)
    return 1 - sum(map(sum, batches)) / places


def _against(width: Callable[[Sequence[int]], int]) -> Callable[[Lengths], float]:
    """Return a share for which a batch is as wide as this says."""

    def padding(batches: Lengths) -> float:
        places = sum(len(batch) * width(batch) for batch in batches)
        return 1 - sum(map(sum, batches)) / places

    return padding


def _sentences_with_padding(batches: Lengths) -> float:
    short = sum(length < max(batch) for batch in batches for length in batch)
    return short / sum(map(len, batches))


def _mean_lengths(batches: Lengths) -> float:
    return 1 - sum(sum(each) / len(each) for each in batches) / sum(map(max, batches))


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
        Mistake(
            "percent",
            lambda batches: 100 * _padding(batches),
            Bilingual(
                "要的是 0 到 1 的比例，不是百分数。",
                "A share between 0 and 1 is asked for, no percentage.",
            ),
        ),
        Mistake(
            "number",
            lambda batches: (
                sum(len(batch) * max(batch) for batch in batches) - sum(map(sum, batches))
            ),
            Bilingual(
                "这是填充的个数：还要除以全部位置。",
                "This is the number of padding places: divide by all places.",
            ),
        ),
        Mistake(
            "rounded",
            lambda batches: round(_padding(batches), 2),
            Bilingual("不要四舍五入。", "Do not round."),
        ),
        Mistake(
            "first-batch-alone",
            lambda batches: _padding(batches[:1]),
            Bilingual("只算了第一批。", "Only the first batch is counted."),
        ),
        Mistake(
            "last-taken-for-longest",
            _against(lambda batch: batch[-1]),
            Bilingual(
                "最长的一句不一定在末尾：用 `max`。",
                "The longest sentence need not come last: take `max`.",
            ),
        ),
        Mistake(
            "first-taken-for-longest",
            _against(lambda batch: batch[0]),
            Bilingual(
                "最长的一句不一定在开头：用 `max`。",
                "The longest sentence need not come first: take `max`.",
            ),
        ),
        Mistake(
            "lengths-averaged",
            _mean_lengths,
            Bilingual(
                "先对每批求平均，句子多的批就不更重了：先把位置和词元全加起来。",
                "With a mean for each batch, one with more sentences does not weigh more: add "
                "up all places and tokens first.",
            ),
        ),
        Mistake(
            "share-of-sentences",
            _sentences_with_padding,
            Bilingual(
                "数的是带填充的句子；要数的是位置。",
                "This counts sentences that have padding; count places.",
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
    others = [
        {"layer.weight": torch.randn(1, 2), "scale": torch.randn(()), "bias": torch.randn(1)}
        for _ in range(3)
    ]
    yield Probe((others,), Bilingual("名字和形状是别的", "names and shapes are others"))


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


def _combined(
    combine: Callable[[Tensor], Tensor],
) -> Callable[[Sequence[Weights]], dict[str, Tensor]]:
    """Return a mean that combines the tensors of each name, stacked, in its own way."""
    return lambda checkpoints: {
        name: combine(torch.stack([each[name] for each in checkpoints])) for name in checkpoints[0]
    }


def _names_fixed(checkpoints: Sequence[Weights]) -> dict[str, Tensor]:
    return {name: _mean(checkpoints)[name] for name in ("W", "b")}


def _by_names(checkpoints: Sequence[Weights]) -> dict[str, Tensor]:
    return _combined(lambda stacked: stacked.sum(dim=0) / len(checkpoints[0]))(checkpoints)


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
        Mistake(
            "first",
            lambda checkpoints: dict(checkpoints[0]),
            Bilingual(
                "这是第一个检查点，不是平均。", "This is the first checkpoint, not the mean of all."
            ),
        ),
        Mistake(
            "always-two",
            _combined(lambda stacked: stacked.sum(dim=0) / 2),
            Bilingual(
                "检查点不一定是两个：除以它们的个数。",
                "There need not be two checkpoints: divide by their number.",
            ),
        ),
        Mistake(
            "one-less",
            _combined(lambda stacked: stacked.sum(dim=0) / max(len(stacked) - 1, 1)),
            Bilingual("除以个数，不是个数减 1。", "Divide by their number, not by one less."),
        ),
        Mistake(
            "median",
            _combined(lambda stacked: stacked.median(dim=0).values),
            Bilingual("要的是平均，不是中位数。", "The mean is asked for, not the median."),
        ),
        Mistake(
            "to-one-number",
            _combined(torch.mean),
            Bilingual(
                "平均只沿检查点的轴：张量的形状不变。",
                "The mean goes over the checkpoints alone: the tensors keep their shapes.",
            ),
        ),
        Mistake(
            "names-fixed",
            _names_fixed,
            Bilingual(
                "名字写死了：从第一个检查点里取。",
                "The names are fixed in the function: take them from the first checkpoint.",
            ),
        ),
        Mistake(
            "first-and-last",
            _combined(lambda stacked: (stacked[0] + stacked[-1]) / 2),
            Bilingual(
                "只用了第一个和最后一个检查点。", "Only the first and the last checkpoint are used."
            ),
        ),
        Mistake(
            "divided-by-names",
            _by_names,
            Bilingual(
                "除以了名字的个数：要除以检查点的个数。",
                "Divided by the number of names, not of checkpoints.",
            ),
        ),
    ),
)

EXERCISES = (PADDING_SHARE, MEAN_OF_CHECKPOINTS)
