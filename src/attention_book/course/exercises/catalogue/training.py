"""Exercises on training: warm-up, smoothed targets, padding, the mean of checkpoints."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Probe, exercise, probe, wrong

# --- warm-up -----------------------------------------------------------------------------------


def _rate(step: int, warmup: int, d_model: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


WARM_UP = exercise(
    "warm-up",
    "写 `rate(step, warmup, d_model)`：Transformer 论文（2017）公式 3 的学习率，步从 1 数起。",
    "Write `rate(step, warmup, d_model)`: the learning rate of equation 3 in the Transformer's"
    " paper of 2017, with steps counted from 1.",
    solution=_rate,
    probes=lambda: [
        probe((1, 4, 16), "这是第一步", "it is the first step"),
        probe((4, 4, 16), "预热刚好结束", "the warm-up has just ended"),
        probe((2, 4, 64)),
        probe((9, 4, 16)),
        probe((100, 10, 32)),
        probe((1, 1, 4), "预热只有一步", "the warm-up is a single step"),
        probe((5, 4, 16), "预热刚过一步", "it is the first step after the warm-up"),
    ],
    mistakes={
        "counted-from-zero": wrong(
            "步从 1 数起：从 0 数，第一步的学习率是 0，白走一步。",
            "Steps count from 1: counted from 0, the first step has a rate of 0 and goes nowhere.",
            lambda step, warm, d: _rate(step - 1, warm, d) if step > 1 else 0.0,
        ),
        "larger-of-two": wrong(
            "取的是较小者：先升后降。",
            "Take the smaller of the two: first up, then down.",
            lambda step, warm, d: float(d**-0.5 * max(step**-0.5, step * warm**-1.5)),
        ),
        "no-width": wrong(
            "少了因子 1/√d_model。",
            "The factor 1/√d_model is missing.",
            lambda step, warm, d: float(min(step**-0.5, step * warm**-1.5)),
        ),
        "jump-at-the-peak": wrong(
            "两段接不上：上升的一段在第 warmup 步要正好等于 1/√warmup，斜率是 warmup 的 −3/2 次"
            "方。",
            "The two parts do not meet: at step warmup the rising one must equal 1/√warmup, so that"
            " its slope is warmup to the power of −3/2.",
            lambda step, warm, d: float(d**-0.5 * (step / warm if step <= warm else step**-0.5)),
        ),
        "no-warm-up": wrong(
            "没有预热：一开始就是最大。",
            "No warm-up: the rate is largest at the start.",
            lambda step, warm, d: float((d * step) ** -0.5),
        ),
        "one-step-ahead": wrong(
            "多数了一步：步已经从 1 数起。",
            "One step too many: the steps count from 1 already.",
            lambda step, warm, d: _rate(step + 1, warm, d),
        ),
        "divided-by-width": wrong(
            "除以的是 √d_model，不是 d_model。",
            "Divide by √d_model, not by d_model.",
            lambda step, warm, d: _rate(step, warm, d) / d**0.5,
        ),
        "wrong-slope": wrong(
            "上升的一段斜率不对：是 warmup 的 −3/2 次方。",
            "The slope of the rising part is wrong: it is warmup to the power of −3/2.",
            lambda step, warm, d: float(d**-0.5 * min(step**-0.5, step * warm**-0.5)),
            lambda step, warm, d: float(d**-0.5 * min(step**-0.5, step / warm)),
        ),
        "falls-with-the-step": wrong(
            "下降的一段是步数的 −1/2 次方，不是 −1 次方。",
            "The falling part goes with the step to the power of −1/2, not of −1.",
            lambda step, warm, d: float(d**-0.5 * min(1 / step, step * warm**-2)),
        ),
        "never-falls": wrong(
            "预热之后还要下降：按步数的 −1/2 次方。",
            "After the warm-up the rate falls again, with the step to the power of −1/2.",
            lambda step, warm, d: float((warm * d) ** -0.5 * min(1.0, step / warm)),
        ),
    },
)


# --- smoothed-loss -----------------------------------------------------------------------------


def _predictions() -> Iterator[Probe]:
    yield probe((torch.randn(3, 4), torch.tensor([0, 3, 1]), 0.2))
    yield probe((2 * torch.randn(5, 7), torch.tensor([6, 2, 2, 0, 5]), 0.1))
    yield probe((torch.randn(2, 3), torch.tensor([1, 2]), 0.0), "ε 为 0", "ε is 0")
    far = torch.tensor([[0.0, 200.0], [-800.0, 1.0]])
    yield probe(
        (far, torch.tensor([0, 0]), 0.3), "有的类几乎不可能", "some classes are next to impossible"
    )
    yield probe((torch.randn(3, 5), torch.tensor([4, 0, 0]), 1.0), "ε 为 1", "ε is 1")


def _smoothed(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits, targets, label_smoothing=smoothing)


def _against(logits: Tensor, targets: Tensor, right: float, wrong: float) -> Tensor:
    """Return the mean loss against targets with these two probabilities."""
    q = torch.full_like(logits, wrong).scatter(-1, targets[:, None], right)
    return -(q * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


def _added_on_top(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    share = smoothing / logits.shape[-1]
    return _against(logits, targets, 1 + share, share)


def _by_probabilities(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    q = torch.full_like(logits, smoothing / logits.shape[-1])
    q = q.scatter_add(-1, targets[:, None], torch.full_like(logits, 1 - smoothing)[:, :1])
    return -(q * logits.softmax(dim=-1).log()).sum(dim=-1).mean()


SMOOTHED_LOSS = exercise(
    "smoothed-loss",
    "写 `smoothed(logits, targets, smoothing)`：标签平滑的交叉熵，对各词取平均，单位是奈特；"
    "logits 的形状是（词，类），可以相差几百。ε（即 smoothing）平分给全部类，正确的那一类也在"
    "内。",
    "Write `smoothed(logits, targets, smoothing)`: cross-entropy with label smoothing, the mean"
    " over the words in nats; logits has the shape (word, class), and they may lie hundreds"
    " apart. ε, the smoothing, is shared out among all classes, the right one included.",
    solution=_smoothed,
    probes=_predictions,
    mistakes={
        "own-share-forgotten": wrong(
            "正确的那一类也分到 ε/V，它的概率是 1 − ε + ε/V；现在各类加起来不到 1。",
            "The right class gets its share ε/V as well, 1 − ε + ε/V in all; as it is, the targets"
            " sum to less than 1.",
            lambda x, y, eps: _against(x, y, 1 - eps, eps / x.shape[-1]),
        ),
        "shared-among-the-others": wrong(
            "ε 平分给了其余 V − 1 类；这也是一种定义，但这里（和 torch 里）是平分给全部 V 类。",
            "ε is shared among the V − 1 others; that is a definition too, but here, as in torch,"
            " all V classes get a share.",
            lambda x, y, eps: _against(x, y, 1 - eps, eps / (x.shape[-1] - 1)),
        ),
        "nothing-taken-away": wrong(
            "ε 分出去了，却没有从正确的类里拿走：各类加起来大于 1。",
            "ε was given away without being taken from the right class: the targets sum to more"
            " than 1.",
            _added_on_top,
        ),
        "sum": wrong(
            "要的是平均，不是总和。",
            "The mean is asked for, not the sum.",
            lambda x, y, eps: F.cross_entropy(x, y, label_smoothing=eps, reduction="sum"),
        ),
        "not-smoothed": wrong(
            "没有用上 `smoothing`。",
            "`smoothing` is not used.",
            lambda x, y, eps: F.cross_entropy(x, y),
        ),
        "bits": wrong(
            "单位是奈特：用自然对数。",
            "The unit is the nat: take the natural logarithm.",
            lambda x, y, eps: _smoothed(x, y, eps) / math.log(2),
        ),
        "underflow": wrong(
            "概率小到存不下，就成了 0，再取对数就是 −∞：用 `log_softmax`。",
            "A probability too small for its number type becomes 0, and its logarithm −∞: take"
            " `log_softmax`.",
            _by_probabilities,
        ),
        "softmax-twice": wrong(
            *hints.SOFTMAX_TWICE, lambda x, y, eps: _smoothed(x.softmax(dim=-1), y, eps)
        ),
        "sign": wrong(*hints.LOSS_NEGATIVE, lambda x, y, eps: -_smoothed(x, y, eps)),
        "share-lost": wrong(
            "ε 拿走了，却没有分出去。",
            "ε was taken away and given to nobody.",
            lambda x, y, eps: (1 - eps) * F.cross_entropy(x, y),
        ),
        "the-other-way-round": wrong(
            "ε 与 1 − ε 对调了。",
            "ε and 1 − ε are swapped.",
            lambda x, y, eps: _smoothed(x, y, 1 - eps),
        ),
        "fixed-smoothing": wrong(
            "`smoothing` 是参数：不要写死。",
            "`smoothing` is an argument: do not write a number into the function.",
            lambda x, y, eps: _smoothed(x, y, 0.1),
        ),
        "summed-over-classes": wrong(
            "ε 平分给各类：每一类得 ε/V，不是 ε。",
            "ε is shared out among the classes: each gets ε/V, not ε.",
            lambda x, y, eps: (
                (1 - eps) * F.cross_entropy(x, y)
                + eps * (-x.log_softmax(dim=-1).sum(dim=-1).mean())
            ),
        ),
        "id-zero-lost": wrong(
            "编号 0 在这里是一个普通的类，不能略过。",
            "Number 0 is an ordinary class here and must not be left out.",
            lambda x, y, eps: F.cross_entropy(x, y, label_smoothing=eps, ignore_index=0),
        ),
    },
)


# --- padding-share -----------------------------------------------------------------------------

Lengths = Sequence[Sequence[int]]


def _padding(batches: Lengths) -> float:
    places = sum(len(batch) * max(batch) for batch in batches)
    return 1 - sum(map(sum, batches)) / places


def _as_wide_as(width: Callable[[Sequence[int]], int]) -> Callable[[Lengths], float]:
    """Return a share for which a batch is as wide as this says."""

    def padding(batches: Lengths) -> float:
        places = sum(len(batch) * width(batch) for batch in batches)
        return 1 - sum(map(sum, batches)) / places

    return padding


PADDING_SHARE = exercise(
    "padding-share",
    "写 `padding(batches)`：`batches` 是每一批里各句的长度，例如 `[[2, 4], [3, 3, 6]]`；"
    "每批补齐到自己最长的一句，返回全部位置里填充所占的比例。",
    "Write `padding(batches)`: `batches` holds the lengths of the sentences of each batch, such"
    " as `[[2, 4], [3, 3, 6]]`; each batch is padded to its own longest sentence. Return the"
    " share of padding among all places.",
    solution=_padding,
    probes=lambda: [
        probe(([[2, 4], [3, 3, 6]],)),
        probe(([[5], [1, 9], [4, 4, 4]],)),
        probe(([[7, 7], [3]],), "没有填充", "no padding at all"),
        probe(
            ([[9, 1, 4], [2, 8, 3, 5], [6]],),
            "最长的一句不在开头也不在末尾",
            "the longest is neither first nor last",
        ),
        probe(([[3, 5, 1]],), "只有一批", "there is a single batch"),
    ],
    mistakes={
        "mean-of-shares": wrong(
            "先算每批的比例再平均，小批和大批就一样重了：先把位置全加起来，再除。",
            "A mean of the batches' shares gives small batches the weight of large ones: add up all"
            " places first, then divide.",
            lambda b: sum(_padding([batch]) for batch in b) / len(b),
        ),
        "longest-of-all": wrong(
            "每批只补齐到本批最长的一句，不是全部语料里最长的一句。",
            "A batch is padded to its own longest sentence, not to the longest of all.",
            lambda b: 1 - sum(map(sum, b)) / (sum(map(len, b)) * max(map(max, b))),
        ),
        "share-of-words": wrong(
            "这是真实词元的比例，填充是余下的部分。",
            "This is the share of real tokens; padding is the rest.",
            lambda b: 1 - _padding(b),
        ),
        "per-real-token": wrong(
            "分母应是全部位置（填充也算在内），不是真实词元。",
            "Divide by all places, padding included, not by the real tokens.",
            lambda b: sum(len(batch) * max(batch) for batch in b) / sum(map(sum, b)) - 1,
        ),
        "percent": wrong(
            "要的是 0 到 1 的比例，不是百分数。",
            "A share between 0 and 1 is asked for, no percentage.",
            lambda b: 100 * _padding(b),
        ),
        "number": wrong(
            "这是填充的个数：还要除以全部位置。",
            "This is the number of padding places: divide by all places.",
            lambda b: sum(len(batch) * max(batch) for batch in b) - sum(map(sum, b)),
        ),
        "rounded": wrong(*hints.ROUNDED, lambda b: round(_padding(b), 2)),
        "first-batch-alone": wrong(
            "只算了第一批。", "Only the first batch is counted.", lambda b: _padding(b[:1])
        ),
        "last-taken-for-longest": wrong(
            "最长的一句不一定在末尾：用 `max`。",
            "The longest sentence need not come last: take `max`.",
            _as_wide_as(lambda batch: batch[-1]),
        ),
        "first-taken-for-longest": wrong(
            "最长的一句不一定在开头：用 `max`。",
            "The longest sentence need not come first: take `max`.",
            _as_wide_as(lambda batch: batch[0]),
        ),
        "lengths-averaged": wrong(
            "先对每批求平均，句子多的批就不更重了：先把位置和词元全加起来。",
            "With a mean for each batch, one with more sentences does not weigh more: add up all"
            " places and tokens first.",
            lambda b: 1 - sum(sum(each) / len(each) for each in b) / sum(map(max, b)),
        ),
        "share-of-sentences": wrong(
            "数的是带填充的句子；要数的是位置。",
            "This counts sentences that have padding; count places.",
            lambda b: (
                sum(length < max(batch) for batch in b for length in batch) / sum(map(len, b))
            ),
        ),
    },
)


# --- mean-of-checkpoints -----------------------------------------------------------------------

Weights = Mapping[str, Tensor]


def _checkpoints() -> Iterator[Probe]:
    def drawn(count: int) -> list[dict[str, Tensor]]:
        return [{"W": torch.randn(2, 3), "b": torch.randn(3)} for _ in range(count)]

    yield probe((drawn(2),))
    yield probe((drawn(4),))
    yield probe((drawn(1),), "只有一个检查点", "a single checkpoint")
    others = [
        {"layer.weight": torch.randn(1, 2), "scale": torch.randn(()), "bias": torch.randn(1)}
        for _ in range(3)
    ]
    yield probe((others,), "名字和形状是别的", "names and shapes are others")


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


MEAN_OF_CHECKPOINTS = exercise(
    "mean-of-checkpoints",
    "写 `mean(checkpoints)`：`checkpoints` 是几个检查点，各是“名字 → 张量”的字典；"
    "返回一个新字典，每个张量是各检查点里同名张量的平均。",
    "Write `mean(checkpoints)`: `checkpoints` are dictionaries from names to tensors; return a"
    " new dictionary with the mean of the tensors of each name.",
    solution=_mean,
    probes=_checkpoints,
    mistakes={
        "pairwise": wrong(
            "一个一个地取中点，后面的检查点就重得多：先全部相加，再除以个数。",
            "Taking the midpoint one after the other gives the later ones more weight: add all of"
            " them, then divide by their number.",
            _pairwise,
        ),
        "in-place": wrong(
            "`+=` 和 `/=` 改写了第一个检查点里的张量：要返回新的张量。",
            "`+=` and `/=` overwrite the tensors of the first checkpoint: return new ones.",
            _in_place,
        ),
        "sum": wrong(
            "加起来了，还没有除以个数。",
            "This is the sum: divide by their number.",
            lambda saved: {
                name: torch.stack([each[name] for each in saved]).sum(dim=0) for name in saved[0]
            },
        ),
        "last": wrong(
            "这是最后一个检查点，不是平均。",
            "This is the last checkpoint, not the mean of all.",
            lambda saved: dict(saved[-1]),
        ),
        "first": wrong(
            "这是第一个检查点，不是平均。",
            "This is the first checkpoint, not the mean of all.",
            lambda saved: dict(saved[0]),
        ),
        "always-two": wrong(
            "检查点不一定是两个：除以它们的个数。",
            "There need not be two checkpoints: divide by their number.",
            _combined(lambda stacked: stacked.sum(dim=0) / 2),
        ),
        "one-less": wrong(
            "除以个数，不是个数减 1。",
            "Divide by their number, not by one less.",
            _combined(lambda stacked: stacked.sum(dim=0) / max(len(stacked) - 1, 1)),
        ),
        "median": wrong(
            "要的是平均，不是中位数。",
            "The mean is asked for, not the median.",
            _combined(lambda stacked: stacked.median(dim=0).values),
        ),
        "to-one-number": wrong(
            "平均只沿检查点的轴：张量的形状不变。",
            "The mean goes over the checkpoints alone: the tensors keep their shapes.",
            _combined(torch.mean),
        ),
        "names-fixed": wrong(
            "名字写死了：从第一个检查点里取。",
            "The names are fixed in the function: take them from the first checkpoint.",
            lambda saved: {name: _mean(saved)[name] for name in ("W", "b")},
        ),
        "first-and-last": wrong(
            "只用了第一个和最后一个检查点。",
            "Only the first and the last checkpoint are used.",
            _combined(lambda stacked: (stacked[0] + stacked[-1]) / 2),
        ),
        "divided-by-names": wrong(
            "除以了名字的个数：要除以检查点的个数。",
            "Divided by the number of names, not of checkpoints.",
            lambda saved: _combined(lambda stacked: stacked.sum(dim=0) / len(saved[0]))(saved),
        ),
    },
)

EXERCISES = (WARM_UP, SMOOTHED_LOSS, PADDING_SHARE, MEAN_OF_CHECKPOINTS)
