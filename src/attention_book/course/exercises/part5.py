"""Exercises of part V, the Transformer: norms, training, real text, caches, heads."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import causal_mask, dot_product_attention, masked_softmax
from attention_book.course.exercises.core import Answer, Law, Named, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- layer-norm --------------------------------------------------------------------------------

_EPSILON = 1e-5


def _to_normalize() -> Iterator[Probe]:
    yield probe((3 * torch.randn(3, 4) + 1, torch.ones(4), torch.zeros(4)))
    yield probe((torch.randn(2, 5, 8), torch.rand(8) + 0.5, torch.randn(8)))
    yield probe((torch.randn(4, 4), torch.rand(4) + 0.5, torch.randn(4)))
    constant = torch.tensor([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 4.0]])
    yield probe(
        (constant, torch.rand(3) + 0.5, torch.randn(3)),
        "有的词各个特征都相等",
        "all features of some words are equal",
    )
    yield probe(
        (3e-3 * torch.randn(2, 5), torch.rand(5) + 0.5, torch.randn(5)),
        "特征很小，ε 看得出来",
        "the features are small, and ε shows",
    )


def _over(x: Tensor, axes: tuple[int, ...], correction: int = 0) -> Tensor:
    mean = x.mean(dim=axes, keepdim=True)
    return (x - mean) / (x.var(dim=axes, keepdim=True, correction=correction) + _EPSILON).sqrt()


def _with_epsilon(epsilon: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    return lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, epsilon)


def _plain(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=_EPSILON)


def _nobody_peeks(answer: Answer) -> Finding | None:
    x, gain, bias = torch.randn(4, 6), torch.ones(6), torch.zeros(6)
    later = x.clone()
    later[-1] += 1 + torch.randn(6)
    moved = (answer(x, gain, bias) - answer(later, gain, bias))[:-1].abs().max()
    if moved < 1e-5:
        return None
    return Finding(
        {"x": x, "gain": gain, "bias": bias},
        Bilingual(
            "只改最后一个词，前面的输出不动", "with another last word, the same earlier outputs"
        ),
        Bilingual(f"前面的输出动了 {moved:.3f}", f"earlier outputs that move by {moved:.3f}"),
    )


LAYER_NORM = exercise(
    "layer-norm",
    "写 `norm(x, gain, bias)`：层归一化，x 的最后两个轴是（位置，特征）；ε = 1e-5，在根号里面与方"
    "差相加。",
    "Write `norm(x, gain, bias)`: layer normalization; the last two axes of x are (position,"
    " feature), and ε = 1e-5 is added to the variance, inside the root.",
    solution=lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, _EPSILON),
    probes=_to_normalize,
    mistakes={
        "over-time": wrong(
            "平均和方差里有别的词，未来漏进了过去：只沿最后一个轴（特征）归一化。",
            "Mean and variance contain other words, and the future leaks into the past: normalize"
            " over the last axis, the features, alone.",
            lambda x, g, b: _over(x, (-2, -1)) * g + b,
            lambda x, g, b: _over(x, (-2,)) * g + b,
        ),
        "over-batch": wrong(
            "这是批量归一化：一个词的结果取决于同一批的别的句子。",
            "This is batch normalization: the result of a word depends on the other sentences of"
            " its batch.",
            lambda x, g, b: _over(x, tuple(range(x.ndim - 1))) * g + b,
        ),
        "unbiased-variance": wrong(
            "方差除以的是特征数 d，不是 d − 1（`correction=0`）。",
            "The variance is divided by the number of features d, not by d − 1 (`correction=0`).",
            lambda x, g, b: _over(x, (-1,), correction=1) * g + b,
        ),
        "divided-by-variance": wrong(
            "除以的是标准差，不是方差。",
            "Divide by the standard deviation, not the variance.",
            lambda x, g, b: (
                (x - x.mean(dim=-1, keepdim=True))
                / (x.var(dim=-1, keepdim=True, correction=0) + _EPSILON)
                * g
                + b
            ),
        ),
        "not-centered": wrong(
            "还没有减去平均。",
            "The mean has not been subtracted.",
            lambda x, g, b: (
                x / (x.var(dim=-1, keepdim=True, correction=0) + _EPSILON).sqrt() * g + b
            ),
        ),
        "no-epsilon": wrong(
            "没有 ε：一个词的各个特征相等时方差为 0，结果是 0/0。",
            "There is no ε: where all features of a word are equal the variance is 0, and this is"
            " 0/0.",
            _with_epsilon(0.0),
            lambda x, g, b: (
                (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, keepdim=True, correction=0) * g
                + b
            ),
        ),
        "epsilon-outside": wrong(
            "ε 加在了根号外面：它与方差相加，再开根号。",
            "ε was added outside of the root: add it to the variance, then take the root.",
            lambda x, g, b: (
                (x - x.mean(dim=-1, keepdim=True))
                / (x.std(dim=-1, keepdim=True, correction=0) + _EPSILON)
                * g
                + b
            ),
        ),
        "other-epsilon": wrong(
            "ε 应当是 1e-5。",
            "ε should be 1e-5.",
            _with_epsilon(1e-6),
            _with_epsilon(1e-8),
            _with_epsilon(1e-3),
        ),
        "no-gain-no-bias": wrong(
            "增益和偏置都没有用上。", "Neither gain nor bias is used.", lambda x, g, b: _plain(x)
        ),
        "no-gain": wrong("增益没有用上。", "The gain is not used.", lambda x, g, b: _plain(x) + b),
        "no-bias": wrong("偏置没有用上。", "The bias is not used.", lambda x, g, b: _plain(x) * g),
        "bias-before-gain": wrong(
            "先乘增益，再加偏置。",
            "Multiply by the gain first, then add the bias.",
            lambda x, g, b: (_plain(x) + b) * g,
        ),
        "gain-plus-one": wrong(
            "乘以增益本身，不是 1 加增益。",
            "Multiply by the gain itself, not by 1 plus it.",
            lambda x, g, b: _plain(x) * (1 + g) + b,
        ),
        "gain-and-bias-swapped": wrong(
            "增益与偏置对调了。", "Gain and bias are swapped.", lambda x, g, b: _plain(x) * b + g
        ),
        "root-mean-square": wrong(
            "这是 RMSNorm：层归一化先减去平均。",
            "This is RMSNorm: layer normalization subtracts the mean first.",
            lambda x, g, b: x / (x.square().mean(dim=-1, keepdim=True) + _EPSILON).sqrt() * g + b,
        ),
        "not-divided": wrong(
            "还没有除以标准差。",
            "Nothing is divided by the standard deviation.",
            lambda x, g, b: (x - x.mean(dim=-1, keepdim=True)) * g + b,
        ),
        "unit-length": wrong(
            "除以的是长度，应当除以标准差：差一个因子 √d。",
            "Divided by the length, not by the standard deviation: they differ by a factor of √d.",
            lambda x, g, b: F.normalize(x - x.mean(dim=-1, keepdim=True), dim=-1) * g + b,
        ),
    },
    laws=(
        Law(
            "nobody-peeks",
            Bilingual(
                "每个词的归一化只看它自己。", "The norm of a word looks at nothing but that word."
            ),
            _nobody_peeks,
        ),
    ),
)


# --- post-norm ---------------------------------------------------------------------------------

Layer = Callable[[Tensor], Tensor]


def _sublayers() -> Iterator[Probe]:
    W, norm = torch.randn(4, 4), Named("layer_norm", lambda x: F.layer_norm(x, x.shape[-1:]))
    yield probe((torch.randn(3, 4), Named("linear", lambda x: x @ W), norm))
    yield probe((torch.randn(2, 5, 4), Named("tanh", torch.tanh), norm))


POST_NORM = exercise(
    "post-norm",
    "写 `add_norm(x, sublayer, norm)`：后置归一化的一个子层，次序同 2017 年的论文。",
    "Write `add_norm(x, sublayer, norm)`: one sublayer with post-norm, in the order of the paper"
    " of 2017.",
    solution=lambda x, sublayer, norm: norm(x + sublayer(x)),
    probes=_sublayers,
    mistakes={
        "pre-norm": wrong(
            "这是前置归一化：后置的先相加，再归一化。",
            "This is pre-norm: with post-norm, add first and normalize the sum.",
            lambda x, f, norm: x + f(norm(x)),
        ),
        "no-residual": wrong(
            "残差不见了：x 没有加回来。",
            "The residual is missing: x is not added back.",
            lambda x, f, norm: norm(f(x)),
        ),
        "sum-not-normalized": wrong(
            "归一化的只是子层的输出；该归一化的是相加之后的和。",
            "Only the sublayer's output is normalized; it should be the sum.",
            lambda x, f, norm: x + norm(f(x)),
        ),
        "normalized-path": wrong(
            "残差那条路也被归一化了，而和没有。",
            "The residual path is normalized as well, and the sum is not.",
            lambda x, f, norm: norm(x) + f(norm(x)),
        ),
        "no-norm": wrong("还没有归一化。", "Nothing is normalized.", lambda x, f, norm: x + f(x)),
        "residual-normalized": wrong(
            "归一化的只是残差；该归一化的是相加之后的和。",
            "Only the residual is normalized; it should be the sum.",
            lambda x, f, norm: norm(x) + f(x),
        ),
        "norm-twice": wrong(
            "归一化了两次：子层的输入不归一化。",
            "Normalized twice: the sublayer's input is not.",
            lambda x, f, norm: norm(x + f(norm(x))),
        ),
        "multiplied": wrong(
            "残差是相加，不是相乘。",
            "A residual is added, not multiplied.",
            lambda x, f, norm: norm(x * f(x)),
        ),
    },
)


# --- causal-in-both-modes ----------------------------------------------------------------------


def _both_modes() -> Iterator[Probe]:
    x = torch.randn(3, 4)
    yield probe((x, True), "是训练模式", "the mode is training")
    yield probe((x, False), "是评估模式", "the mode is evaluation")
    yield probe((torch.randn(2, 5, 4), True))
    yield probe((torch.randn(2, 5, 4), False))
    yield probe((torch.randn(1, 3), True), "只有一个词", "there is a single word")
    yield probe((30 * torch.randn(3, 2), False), "评分很大", "the scores are large")


def _causal(x: Tensor, training: bool, *, ahead: int = 0) -> Tensor:
    return dot_product_attention(x, x, x, causal_mask(x.shape[-2], offset=ahead))


def _in_training_only(x: Tensor, training: bool) -> Tensor:
    return _causal(x, training) if training else dot_product_attention(x, x, x)


def _of_scores(weigh: Callable[[Tensor], Tensor], power: float = -0.5) -> Callable[..., Tensor]:
    def decode(x: Tensor, training: bool) -> Tensor:
        return weigh(x @ x.mT * x.shape[-1] ** power) @ x

    return decode


def _masked(scores: Tensor) -> Tensor:
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def _upside_down(scores: Tensor) -> Tensor:
    earlier = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
    return scores.masked_fill(earlier, -torch.inf).softmax(dim=-1)


def _future_is_hidden(answer: Answer) -> Finding | None:
    x = torch.randn(4, 4)
    later = x.clone()
    later[-1] += 1 + torch.rand(4)
    for training in (True, False):
        moved = (answer(x, training) - answer(later, training))[:-1].abs().max()
        if not moved < 1e-5:
            return Finding(
                {"x": x, "training": training},
                Bilingual(
                    "只改最后一个词，前面的输出不动",
                    "with another last word, the same earlier outputs",
                ),
                Bilingual(
                    f"前面的输出动了 {moved:.3f}", f"earlier outputs that move by {moved:.3f}"
                ),
            )
    return None


CAUSAL_IN_BOTH_MODES = exercise(
    "causal-in-both-modes",
    "写 `decode(x, training)`：以 x（位置，特征）为查询、键和值的因果点积注意力。",
    "Write `decode(x, training)`: causal dot-product attention with x (position, feature) for"
    " queries, keys and values.",
    solution=lambda x, training: _causal(x, training),
    probes=_both_modes,
    mistakes={
        "in-training-only": wrong(
            "评估模式下没有掩码：可是算留出数据的损失、给译文打分，也在评估模式下送进整句。"
            "因果性不归 `train()` 管。",
            "No mask in evaluation mode, though held-out losses and scores run whole sentences in"
            " that mode. Causality is not for `train()` to decide.",
            _in_training_only,
        ),
        "in-evaluation-only": wrong(
            "训练时没有掩码：模型会学着抄答案。",
            "No mask in training: the model will learn to copy the answers.",
            lambda x, t: _in_training_only(x, not t),
        ),
        "off-by-one": wrong(
            "因果掩码差了一格：每个词看得见自己和前面的词，不多也不少。",
            "The causal mask is off by one: a word sees itself and the words before it, no more, no"
            " less.",
            lambda x, t: _causal(x, t, ahead=1),
            lambda x, t: _causal(x, t, ahead=-1),
        ),
        "no-mask": wrong(
            "没有掩码：每个词都看见了未来。",
            "No mask: every word sees the future.",
            lambda x, t: dot_product_attention(x, x, x),
        ),
        "masked-afterwards": wrong(
            "softmax 之后才遮，分母里还有未来：掩码要放在 softmax 之前。",
            "Masked after the softmax, the future is still in the denominator: mask before.",
            _of_scores(lambda scores: scores.softmax(dim=-1).tril()),
        ),
        "upside-down": wrong(
            "掩码上下颠倒，每个词只看得见自己和未来：要 `tril`，不要 `triu`。",
            "The mask is upside down, and a word sees itself and the future: take `tril`, not"
            " `triu`.",
            _of_scores(_upside_down),
        ),
        "not-scaled": wrong(
            "评分还没有除以 √d。",
            "The scores have not been divided by √d.",
            _of_scores(_masked, 0.0),
        ),
        "divided-by-d": wrong(
            "除以的是 √d，不是 d。", "Divide by √d, not by d.", _of_scores(_masked, -1.0)
        ),
    },
    laws=(
        Law(
            "future-is-hidden",
            Bilingual(
                "改动后面的词，前面的输出不动，两种模式都一样。",
                "A change of a later word moves no earlier output, in either mode.",
            ),
            _future_is_hidden,
        ),
    ),
)


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
    far = torch.tensor([[0.0, 200.0], [-150.0, 1.0]])
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
            "softmax 做了两次。",
            "The softmax was taken twice.",
            lambda x, y, eps: _smoothed(x.softmax(dim=-1), y, eps),
        ),
        "sign": wrong(
            "少了负号：损失不小于 0。",
            "The minus sign is missing: a loss is at least 0.",
            lambda x, y, eps: -_smoothed(x, y, eps),
        ),
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
        "rounded": wrong("不要四舍五入。", "Do not round.", lambda b: round(_padding(b), 2)),
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


# --- cached-step -------------------------------------------------------------------------------

#: The output, and the keys and values to keep.
Step = tuple[Tensor, Tensor, Tensor]


def _cached(x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return dot_product_attention(x @ W_q, keys, values), keys, values


def _keeps_inputs(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    keys, values = torch.cat((keys, x)), torch.cat((values, x))
    return dot_product_attention(x @ W_q, keys @ W_k, values @ W_v), keys, values


def _newest_first(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    keys, values = torch.cat((x @ W_k, keys)), torch.cat((x @ W_v, values))
    return dot_product_attention(x @ W_q, keys, values), keys, values


def _looks(look: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Step]:
    """Return a step that appends what it should, and looks in its own way."""

    def step(
        x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
    ) -> Step:
        keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
        return look(x @ W_q, keys, values), keys, values

    return step


def _weights_of(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def _query_as_it_is(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return dot_product_attention(x, keys, values), keys, values


def _appended_twice(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    once = _cached(x, keys, values, W_q, W_k, W_v)
    return _cached(x, once[1], once[2], W_q, W_k, W_v)


CACHED_STEP = exercise(
    "cached-step",
    "写 `step(x, keys, values, W_q, W_k, W_v)`：带键值缓存走一步。x 是新词（1，特征），keys 与 "
    "values 是存下的过去；返回 (output, keys, values)，新词也在其中。",
    "Write `step(x, keys, values, W_q, W_k, W_v)`: one step with a key–value cache. x is the new"
    " word (1, feature), keys and values are the past that was kept; return (output, keys,"
    " values), the new word included.",
    solution=_cached,
    probes=lambda: [
        probe((*torch.randn(3, 1, 2), *torch.randn(3, 2, 2))),
        probe((torch.randn(1, 4), *torch.randn(2, 3, 4), *torch.randn(3, 4, 4))),
        probe(
            (torch.randn(1, 4), *torch.empty(2, 0, 4), *torch.randn(3, 4, 4)),
            "还没有过去",
            "there is no past yet",
        ),
        probe(
            (30 * torch.randn(1, 4), *(30 * torch.randn(2, 3, 4)), *torch.randn(3, 4, 4)),
            "评分很大",
            "the scores are large",
        ),
    ],
    mistakes={
        "keeps-inputs": wrong(
            "存下的是输入，不是键和值：过去的每个词每一步都重新投影，代价随长度增长。先投影新词，"
            "再接到缓存后面。",
            "What is kept are inputs, not keys and values: every word of the past is projected"
            " again at every step, at a cost that grows with the length. Project the new word"
            " first, then append it.",
            _keeps_inputs,
        ),
        "newest-not-seen": wrong(
            "新词看不见自己：先把它的键和值接上，再看。",
            "The new word does not see itself: append its key and value before looking.",
            lambda x, k, v, W_q, W_k, W_v: (
                (dot_product_attention(x @ W_q, k, v) if len(k) else torch.zeros_like(x)),
                torch.cat((k, x @ W_k)),
                torch.cat((v, x @ W_v)),
            ),
        ),
        "newest-not-kept": wrong(
            "新词没有存下来：返回接上新词之后的 keys 与 values。",
            "The new word is not kept: return keys and values with it appended.",
            lambda x, k, v, W_q, W_k, W_v: (_cached(x, k, v, W_q, W_k, W_v)[0], k, v),
        ),
        "past-dropped": wrong(
            "只存下了新词，过去全丢了。",
            "Only the new word is kept, and the past is lost.",
            lambda x, k, v, W_q, W_k, W_v: (_cached(x, k, v, W_q, W_k, W_v)[0], x @ W_k, x @ W_v),
        ),
        "newest-first": wrong(
            "新词要接在最后：输出虽然一样，缓存的次序却与位置对不上了。",
            "The new word goes to the end: the output is the same, but the order of the cache no"
            " longer matches the positions.",
            _newest_first,
        ),
        "not-scaled": wrong(
            "评分还没有除以 √d_k。",
            "The scores have not been divided by √d_k.",
            _looks(lambda q, k, v: (q @ k.mT).softmax(dim=-1) @ v),
        ),
        "over-the-query": wrong(
            "softmax 用错了轴：要沿键，也就是最后一个轴。",
            "The softmax runs over the wrong axis: it goes over the keys, the last axis.",
            _looks(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=0) @ v),
        ),
        "bare-exponentials": wrong(
            "评分大时指数溢出成无穷：交给 `softmax`。",
            "For large scores the exponential overflows to infinity: leave it to `softmax`.",
            _looks(lambda q, k, v: _weights_of(q @ k.mT / q.shape[-1] ** 0.5) @ v),
        ),
        "weights-transposed": wrong(
            "投影是 `x @ W`，W 不转置。",
            "The projections are `x @ W`; W is not transposed.",
            lambda x, k, v, W_q, W_k, W_v: _cached(x, k, v, W_q.mT, W_k.mT, W_v.mT),
        ),
        "query-not-projected": wrong(
            "查询也要投影：`x @ W_q`。",
            "The query is projected as well: `x @ W_q`.",
            _query_as_it_is,
        ),
        "appended-twice": wrong(
            "新词接了两次。", "The new word was appended twice.", _appended_twice
        ),
    },
)


# --- previous-weight ---------------------------------------------------------------------------


def _on_previous(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)


def _before(weights: Tensor) -> Tensor:
    """Return each query's weight on all earlier words."""
    return weights.tril(-1).sum(dim=-1)


PREVIOUS_WEIGHT = exercise(
    "previous-weight",
    "写 `on_previous(weights)`：每个头平均把多少权重放在前一个词上；weights 的形状是（头，查询，"
    "键），返回（头）。",
    "Write `on_previous(weights)`: how much weight each head puts on the previous word on"
    " average; weights has the shape (head, query, key), the result (head).",
    solution=_on_previous,
    probes=lambda: [
        probe((torch.randn(2, 4, 4).softmax(dim=-1),)),
        probe((torch.randn(3, 5, 5).softmax(dim=-1),)),
        probe(
            (masked_softmax(torch.randn(2, 4, 4), causal_mask(4)),),
            "权重是因果的",
            "the weights are causal",
        ),
        probe(
            (torch.randn(1, 2, 2).softmax(dim=-1),),
            "只有一个头、两个词",
            "there are one head and two words",
        ),
    ],
    mistakes={
        "next-word": wrong(
            "这是后一个词：行是查询，列是键，前一个在对角线的下方。",
            "That is the next word: rows are queries, columns keys, and the previous one is below"
            " the diagonal.",
            lambda w: w.diagonal(1, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "own-word": wrong(
            "这是词自己：要对角线下方的一条。",
            "That is the word itself: take the diagonal below.",
            lambda w: w.diagonal(0, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "first-counted": wrong(
            "第一个词没有前一个词：平均只取其余的 n − 1 个查询。",
            "The first word has no previous one: take the mean over the other n − 1 queries.",
            lambda w: w.diagonal(-1, dim1=-2, dim2=-1).sum(dim=-1) / w.shape[-1],
            lambda w: w.roll(1, dims=-1).diagonal(0, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "heads-mixed": wrong(
            "各个头不要平均到一起。",
            "Do not average over the heads.",
            lambda w: _on_previous(w).mean().expand(len(w)),
            lambda w: _on_previous(w).mean(),
        ),
        "sum": wrong(
            "加起来了，还没有除以个数。",
            "This is the sum: divide by how many there are.",
            lambda w: w.diagonal(-1, dim1=-2, dim2=-1).sum(dim=-1),
        ),
        "largest": wrong(
            "要的是平均，不是最大的一个。",
            "The mean is asked for, not the largest.",
            lambda w: w.diagonal(-1, dim1=-2, dim2=-1).amax(dim=-1),
        ),
        "two-before": wrong(
            "差了一格：这是前面第二个词。",
            "Off by one: this is the word two places before.",
            lambda w: w.diagonal(-2, dim1=-2, dim2=-1).mean(dim=-1),
        ),
        "all-before": wrong(
            "前面所有的词都算进来了：只要紧挨着的一个。",
            "All earlier words are counted: only the one right before is asked for.",
            lambda w: _before(w).mean(dim=-1),
            lambda w: _before(w)[:, 1:].mean(dim=-1),
        ),
        "share-of-words": wrong(
            "数的是有多少个词最看重前一个词；要的是权重的平均。",
            "This counts for how many words the previous one weighs most; asked for is the mean"
            " weight.",
            lambda w: (
                (w.argmax(dim=-1)[:, 1:] == torch.arange(w.shape[-1] - 1)).float().mean(dim=-1)
            ),
        ),
    },
)


# --- looks-ahead -------------------------------------------------------------------------------


def _layers() -> Iterator[Probe]:
    masks = {
        "causal": causal_mask(4),
        "sees-all": None,
        "one-ahead": causal_mask(4, offset=1),
        "future-only": causal_mask(4).mT,
        "past-only": causal_mask(4, offset=-1),
        "word-1-sees-word-2": _causal_but(0, 1),
        "word-1-sees-word-4": _causal_but(0, 3),
        "word-2-sees-word-3": _causal_but(1, 2),
        "word-2-sees-word-4": _causal_but(1, 3),
        "word-3-sees-word-4": _causal_but(2, 3),
    }
    for name, mask in masks.items():
        layer = Named(name, lambda x, mask=mask: _layer(x, mask))
        yield probe((layer, torch.randn(4, 8)))
    faint = Named("faint", lambda x: _layer(x, causal_mask(4)) + 1e-3 * x.mean(dim=0))
    yield probe((faint, torch.randn(4, 8)), "泄漏很弱", "the leak is faint")
    rounding = Named("rounding", _rounding)
    about = Bilingual("只有舍入误差不同", "nothing but rounding differs")
    yield Probe((rounding, torch.randn(4, 8)), about)
    previous = Named("previous-word", lambda x: torch.cat((torch.zeros_like(x[:1]), x[:-1])))
    yield probe((previous, torch.randn(4, 8)), "只看前一个词", "it sees the word before alone")
    one = Bilingual("只有一个词", "there is one word")
    yield Probe((Named("sees-all", lambda x: _layer(x, None)), torch.randn(1, 8)), one)


def _layer(x: Tensor, mask: Tensor | None) -> Tensor:
    """Attend with the mask of as many words as there are."""
    return dot_product_attention(x, x, x, None if mask is None else mask[: len(x), : len(x)])


def _rounding(x: Tensor) -> Tensor:
    """See the past alone, with numbers whose last bits depend on the future."""
    scale = 1 + x.square().sum()
    return _layer(x, causal_mask(len(x))) * scale / scale


def _causal_but(query: int, key: int) -> Tensor:
    mask = causal_mask(4)
    mask[query, key] = True
    return mask


def _moves(layer: Callable[[Tensor], Tensor], x: Tensor, changed: int, seen: slice) -> bool:
    """Whether outputs move when one input is changed."""
    other = x.clone()
    other[changed] += 1 + torch.rand(x.shape[-1])
    return not torch.allclose(layer(x)[seen], layer(other)[seen], atol=1e-5)


def _looks_ahead(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return any(_moves(layer, x, t, slice(None, t)) for t in range(1, len(x)))


def _only_one(place: int) -> Callable[[Callable[[Tensor], Tensor], Tensor], bool]:
    return lambda layer, x: len(x) > place and _moves(layer, x, place, slice(None, place))


def _exactly_equal(layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    changed = (torch.cat((x[:t], x[t:] + 1)) for t in range(1, len(x)))
    return any(
        not torch.equal(layer(x)[:t], layer(other)[:t]) for t, other in enumerate(changed, start=1)
    )


LOOKS_AHEAD = exercise(
    "looks-ahead",
    "写 `looks_ahead(layer, x)`：只靠调用 `layer(x)`（x 的形状是（位置，特征）），判断某个位置的"
    "输出是否取决于后面的输入；舍入误差不算，比它大的都算。",
    "Write `looks_ahead(layer, x)`: by nothing but calls of `layer(x)`, with x (position,"
    " feature), find out whether the output of some position depends on later inputs; rounding"
    " does not count, and whatever is larger does.",
    solution=_looks_ahead,
    probes=_layers,
    mistakes={
        "own-place-counted": wrong(
            "改动的那个位置自己也算进去了：它的输出当然会动，只比较它前面的。",
            "The changed position itself is counted: its own output moves, of course. Compare those"
            " before it.",
            lambda f, x: _moves(f, x, -1, slice(None)),
            lambda f, x: any(_moves(f, x, t, slice(None, t + 1)) for t in range(1, len(x))),
        ),
        "wrong-direction": wrong(
            "方向反了：改的是前面的词，看的是后面的输出，那本来就该动。",
            "The wrong direction: an earlier word was changed and later outputs looked at, which"
            " should move.",
            lambda f, x: _moves(f, x, 0, slice(1, None)),
        ),
        "always-no": wrong("它从不报警。", "It never raises an alarm.", lambda f, x: False),
        "last-word-only": wrong(
            "只改了最后一个词：泄漏可能只在中间，每个词都要改一遍。",
            "Only the last word was changed: a leak may lie in the middle alone. Change every word"
            " in turn.",
            lambda f, x: _moves(f, x, -1, slice(None, -1)),
        ),
        "one-word-only": wrong(
            "只改了一个词：泄漏可能在别处，每个词都要改一遍。",
            "Only one word was changed: the leak may lie elsewhere. Change every word in turn.",
            _only_one(1),
            _only_one(2),
        ),
        "always-yes": wrong("它总是报警。", "It always raises the alarm.", lambda f, x: True),
        "first-output-only": wrong(
            "只看了第一个输出：改动的词前面的每个输出都要比较。",
            "Only the first output was looked at: compare all outputs before the changed word.",
            lambda f, x: any(_moves(f, x, t, slice(1)) for t in range(1, len(x))),
        ),
        "all-for-any": wrong(
            "有一处泄漏就够了：是 `any`，不是 `all`。",
            "One leak is enough: `any`, not `all`.",
            lambda f, x: all(_moves(f, x, t, slice(None, t)) for t in range(1, len(x))),
        ),
        "neighbors-only": wrong(
            "只比较了紧挨着的前一个输出：泄漏可以隔得更远。",
            "Only the output right before was compared: a leak may reach further.",
            lambda f, x: any(_moves(f, x, t, slice(t - 1, t)) for t in range(1, len(x))),
        ),
        "reversed": wrong(
            "正好说反了：有泄漏返回 True。",
            "Just the wrong way round: a leak is True.",
            lambda f, x: not _looks_ahead(f, x),
        ),
        "exactly-equal": wrong(
            "舍入误差也当成了泄漏：用 `torch.allclose`，不用 `torch.equal`。",
            "Rounding is taken for a leak: use `torch.allclose`, not `torch.equal`.",
            _exactly_equal,
        ),
    },
)

EXERCISES = (
    LAYER_NORM,
    POST_NORM,
    CAUSAL_IN_BOTH_MODES,
    WARM_UP,
    SMOOTHED_LOSS,
    PADDING_SHARE,
    MEAN_OF_CHECKPOINTS,
    CACHED_STEP,
    PREVIOUS_WEIGHT,
    LOOKS_AHEAD,
)
