"""Exercises on training: the learning rate's warm-up, and targets that are smoothed."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _steps() -> Iterator[Probe]:
    yield Probe((1, 4, 16), Bilingual("这是第一步", "it is the first step"))
    yield Probe((4, 4, 16), Bilingual("预热刚好结束", "the warm-up has just ended"))
    yield Probe((2, 4, 64))
    yield Probe((9, 4, 16))
    yield Probe((100, 10, 32))
    yield Probe((1, 1, 4), Bilingual("预热只有一步", "the warm-up is a single step"))
    yield Probe((5, 4, 16), Bilingual("预热刚过一步", "it is the first step after the warm-up"))


def _rate(step: int, warmup: int, d_model: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def _from_zero(step: int, warmup: int, d_model: int) -> float:
    return _rate(step - 1, warmup, d_model) if step > 1 else 0.0


def _larger(step: int, warmup: int, d_model: int) -> float:
    return float(d_model**-0.5 * max(step**-0.5, step * warmup**-1.5))


def _no_width(step: int, warmup: int, d_model: int) -> float:
    return float(min(step**-0.5, step * warmup**-1.5))


def _jump(step: int, warmup: int, d_model: int) -> float:
    return float(d_model**-0.5 * (step / warmup if step <= warmup else step**-0.5))


def _no_warmup(step: int, warmup: int, d_model: int) -> float:
    return float((d_model * step) ** -0.5)


_SLOPE = Bilingual(
    "上升的一段斜率不对：是 warmup 的 −3/2 次方。",
    "The slope of the rising part is wrong: it is warmup to the power of −3/2.",
)


WARM_UP = Exercise(
    name="warm-up",
    task=Bilingual(
        "写 `rate(step, warmup, d_model)`：Transformer 论文（2017）公式 3 的学习率，步从 1 数起。",
        "Write `rate(step, warmup, d_model)`: the learning rate of equation 3 in the Transformer's"
        " paper of 2017, with steps counted from 1.",
    ),
    solution=_rate,
    probes=_steps,
    mistakes=(
        Mistake(
            "counted-from-zero",
            _from_zero,
            Bilingual(
                "步从 1 数起：从 0 数，第一步的学习率是 0，白走一步。",
                "Steps count from 1: counted from 0, the first step has a rate of 0 and goes"
                " nowhere.",
            ),
        ),
        Mistake(
            "larger-of-two",
            _larger,
            Bilingual(
                "取的是较小者：先升后降。", "Take the smaller of the two: first up, then down."
            ),
        ),
        Mistake(
            "no-width",
            _no_width,
            Bilingual("少了因子 1/√d_model。", "The factor 1/√d_model is missing."),
        ),
        Mistake(
            "jump-at-the-peak",
            _jump,
            Bilingual(
                "两段接不上：上升的一段在第 warmup 步要正好等于 1/√warmup，"
                "斜率是 warmup 的 −3/2 次方。",
                "The two parts do not meet: at step warmup the rising one must equal 1/√warmup,"
                " so that its slope is warmup to the power of −3/2.",
            ),
        ),
        Mistake(
            "no-warm-up",
            _no_warmup,
            Bilingual(
                "没有预热：一开始就是最大。", "No warm-up: the rate is largest at the start."
            ),
        ),
        Mistake(
            "one-step-ahead",
            lambda step, warmup, d_model: _rate(step + 1, warmup, d_model),
            Bilingual(
                "多数了一步：步已经从 1 数起。",
                "One step too many: the steps count from 1 already.",
            ),
        ),
        Mistake(
            "divided-by-width",
            lambda step, warmup, d_model: _rate(step, warmup, d_model) / d_model**0.5,
            Bilingual("除以的是 √d_model，不是 d_model。", "Divide by √d_model, not by d_model."),
        ),
        Mistake(
            "wrong-slope",
            lambda step, warmup, d_model: float(
                d_model**-0.5 * min(step**-0.5, step * warmup**-0.5)
            ),
            _SLOPE,
        ),
        Mistake(
            "wrong-slope",
            lambda step, warmup, d_model: float(d_model**-0.5 * min(step**-0.5, step / warmup)),
            _SLOPE,
        ),
        Mistake(
            "falls-with-the-step",
            lambda step, warmup, d_model: float(d_model**-0.5 * min(1 / step, step * warmup**-2)),
            Bilingual(
                "下降的一段是步数的 −1/2 次方，不是 −1 次方。",
                "The falling part goes with the step to the power of −1/2, not of −1.",
            ),
        ),
        Mistake(
            "never-falls",
            lambda step, warmup, d_model: float(
                (warmup * d_model) ** -0.5 * min(1.0, step / warmup)
            ),
            Bilingual(
                "预热之后还要下降：按步数的 −1/2 次方。",
                "After the warm-up the rate falls again, with the step to the power of −1/2.",
            ),
        ),
    ),
)


def _predictions() -> Iterator[Probe]:
    yield Probe((torch.randn(3, 4), torch.tensor([0, 3, 1]), 0.2))
    yield Probe((2 * torch.randn(5, 7), torch.tensor([6, 2, 2, 0, 5]), 0.1))
    yield Probe((torch.randn(2, 3), torch.tensor([1, 2]), 0.0), Bilingual("ε 为 0", "ε is 0"))
    far = torch.tensor([[0.0, 200.0], [-150.0, 1.0]])
    yield Probe(
        (far, torch.tensor([0, 0]), 0.3),
        Bilingual("有的类几乎不可能", "some classes are next to impossible"),
    )
    yield Probe((torch.randn(3, 5), torch.tensor([4, 0, 0]), 1.0), Bilingual("ε 为 1", "ε is 1"))


def _smoothed(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits, targets, label_smoothing=smoothing)


def _against(logits: Tensor, targets: Tensor, right: float, wrong: float) -> Tensor:
    """Return the mean loss against targets with these two probabilities."""
    q = torch.full_like(logits, wrong).scatter(-1, targets[:, None], right)
    return -(q * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


def _own_share_forgotten(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return _against(logits, targets, 1 - smoothing, smoothing / logits.shape[-1])


def _among_the_others(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return _against(logits, targets, 1 - smoothing, smoothing / (logits.shape[-1] - 1))


def _added_on_top(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    share = smoothing / logits.shape[-1]
    return _against(logits, targets, 1 + share, share)


def _added_up(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")


def _plain(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits, targets)


def _in_bits(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return _smoothed(logits, targets, smoothing) / math.log(2)


def _by_probabilities(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    q = torch.full_like(logits, smoothing / logits.shape[-1])
    q = q.scatter_add(-1, targets[:, None], torch.full_like(logits, 1 - smoothing)[:, :1])
    return -(q * logits.softmax(dim=-1).log()).sum(dim=-1).mean()


def _summed_over_classes(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    even = -logits.log_softmax(dim=-1).sum(dim=-1).mean()
    return (1 - smoothing) * F.cross_entropy(logits, targets) + smoothing * even


SMOOTHED_LOSS = Exercise(
    name="smoothed-loss",
    task=Bilingual(
        "写 `smoothed(logits, targets, smoothing)`：标签平滑的交叉熵，对各词取平均，单"
        "位是奈特；logits 的形状是（词，类），可以相差几百。ε（即 smoothing）平分给全部"
        "类，正确的那一类也在内。",
        "Write `smoothed(logits, targets, smoothing)`: cross-entropy with label "
        "smoothing, the mean over the words in nats; logits has the shape (word, "
        "class), and they may lie hundreds apart. ε, the smoothing, is shared out "
        "among all classes, the right one included.",
    ),
    solution=_smoothed,
    probes=_predictions,
    mistakes=(
        Mistake(
            "own-share-forgotten",
            _own_share_forgotten,
            Bilingual(
                "正确的那一类也分到 ε/V，它的概率是 1 − ε + ε/V；现在各类加起来不到 1。",
                "The right class gets its share ε/V as well, 1 − ε + ε/V in all; as it is, the"
                " targets sum to less than 1.",
            ),
        ),
        Mistake(
            "shared-among-the-others",
            _among_the_others,
            Bilingual(
                "ε 平分给了其余 V − 1 类；这也是一种定义，但这里（和 torch 里）是平分给全部 V 类。",
                "ε is shared among the V − 1 others; that is a definition too, but here, as in"
                " torch, all V classes get a share.",
            ),
        ),
        Mistake(
            "nothing-taken-away",
            _added_on_top,
            Bilingual(
                "ε 分出去了，却没有从正确的类里拿走：各类加起来大于 1。",
                "ε was given away without being taken from the right class: the targets sum to"
                " more than 1.",
            ),
        ),
        Mistake(
            "sum",
            _added_up,
            Bilingual("要的是平均，不是总和。", "The mean is asked for, not the sum."),
        ),
        Mistake(
            "not-smoothed",
            _plain,
            Bilingual("没有用上 `smoothing`。", "`smoothing` is not used."),
        ),
        Mistake(
            "bits",
            _in_bits,
            Bilingual(
                "单位是奈特：用自然对数。", "The unit is the nat: take the natural logarithm."
            ),
        ),
        Mistake(
            "underflow",
            _by_probabilities,
            Bilingual(
                "概率小到存不下，就成了 0，再取对数就是 −∞：用 `log_softmax`。",
                "A probability too small for its number type becomes 0, and its logarithm −∞: "
                "take `log_softmax`.",
            ),
        ),
        Mistake(
            "softmax-twice",
            lambda logits, targets, smoothing: _smoothed(
                logits.softmax(dim=-1), targets, smoothing
            ),
            Bilingual("softmax 做了两次。", "The softmax was taken twice."),
        ),
        Mistake(
            "sign",
            lambda logits, targets, smoothing: -_smoothed(logits, targets, smoothing),
            Bilingual(
                "少了负号：损失不小于 0。", "The minus sign is missing: a loss is at least 0."
            ),
        ),
        Mistake(
            "share-lost",
            lambda logits, targets, smoothing: (1 - smoothing) * F.cross_entropy(logits, targets),
            Bilingual("ε 拿走了，却没有分出去。", "ε was taken away and given to nobody."),
        ),
        Mistake(
            "the-other-way-round",
            lambda logits, targets, smoothing: _smoothed(logits, targets, 1 - smoothing),
            Bilingual("ε 与 1 − ε 对调了。", "ε and 1 − ε are swapped."),
        ),
        Mistake(
            "fixed-smoothing",
            lambda logits, targets, smoothing: _smoothed(logits, targets, 0.1),
            Bilingual(
                "`smoothing` 是参数：不要写死。",
                "`smoothing` is an argument: do not write a number into the function.",
            ),
        ),
        Mistake(
            "summed-over-classes",
            _summed_over_classes,
            Bilingual(
                "ε 平分给各类：每一类得 ε/V，不是 ε。",
                "ε is shared out among the classes: each gets ε/V, not ε.",
            ),
        ),
        Mistake(
            "id-zero-lost",
            lambda logits, targets, smoothing: F.cross_entropy(
                logits, targets, label_smoothing=smoothing, ignore_index=0
            ),
            Bilingual(
                "编号 0 在这里是一个普通的类，不能略过。",
                "Number 0 is an ordinary class here and must not be left out.",
            ),
        ),
    ),
)

EXERCISES = (WARM_UP, SMOOTHED_LOSS)
