"""Exercises on averages: pooling, kernel regression, its bandwidth."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import kernel_weights, leave_one_out_mask, nadaraya_watson
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Probe, exercise, probe, shares, wrong

# --- attention-pooling -------------------------------------------------------------------------


def _scores_and_values() -> Iterator[Probe]:
    yield probe((torch.randn(2, 3), torch.randn(3, 2)))
    yield probe((torch.randn(3, 3), torch.randn(3, 5)), *hints.AS_MANY)
    yield probe(
        (torch.randn(2, 3, 5), torch.randn(2, 5, 1)), "前面还有批量的轴", "a batch axis comes first"
    )
    far_apart = torch.tensor([[1000.0, 999.0, 0.0], [-1000.0, -1001.0, -1000.0]])
    yield probe((far_apart, torch.randn(3, 2)), *hints.FAR_APART)
    yield probe((torch.randn(2, 1), torch.randn(1, 3)), *hints.ONE_KEY)


ATTENTION_POOLING = exercise(
    "attention-pooling",
    "写 `pool(scores, values)`：把评分（查询，键）变成权重，对值（键，特征）求加权平均；"
    "前面可以还有批量的轴，评分可大可小。",
    "Write `pool(scores, values)`: turn scores (query, key) into weights, and average the values"
    " (key, feature) with them; batch axes may come first, and scores may be of any size.",
    solution=lambda scores, values: scores.softmax(dim=-1) @ values,
    probes=_scores_and_values,
    mistakes={
        "wrong-axis": wrong(
            "现在是各个查询在争同一个键：一个查询的权重要沿键（最后一个轴）相加为 1。",
            "Here the queries compete for each key: the weights of one query sum to 1 over the"
            " keys, the last axis.",
            lambda s, v: s.softmax(dim=-2) @ v,
            lambda s, v: s.softmax(dim=0) @ v,
            lambda s, v: s.softmax(dim=1) @ v,
        ),
        "not-normalized": wrong(
            "指数还要除以这一行的和：不然输出的大小随键的个数增长。",
            "The exponentials still have to be divided by the sum of their row: otherwise the"
            " output grows with the number of keys.",
            lambda s, v: s.exp() @ v,
        ),
        "scores-as-weights": wrong(
            "评分还不是权重：它可以为负，一行之和也不是 1。",
            "Scores are no weights yet: they can be negative, and a row does not sum to 1.",
            lambda s, v: s @ v,
        ),
        "shares-of-scores": wrong(
            "评分有正有负，直接除以它们的和会得到负的权重：先取指数。",
            "Scores have either sign, so their shares in the sum can be negative: take exponentials"
            " first.",
            lambda s, v: s / s.sum(dim=-1, keepdim=True) @ v,
        ),
        "plain-average": wrong(
            "每个键的权重都一样：评分没有用上。",
            "Every key has the same weight: the scores are not used.",
            lambda s, v: (0 * s).softmax(dim=-1) @ v,
        ),
        "overflow": wrong(
            "`exp(1000)` 是无穷大，`exp(-1000)` 是 0：取指数之前，每一行减去它自己的最大值，"
            "或者交给 `softmax`。",
            "`exp(1000)` is infinite and `exp(-1000)` is 0: before the exponential, subtract from"
            " each row its own maximum, or leave it to `softmax`.",
            lambda s, v: shares(s.exp()) @ v,
            lambda s, v: shares((s - s.max()).exp()) @ v,
            lambda s, v: (
                (s - s.max()).exp() @ v / ((s - s.max()).exp().sum(dim=-1, keepdim=True) + 1e-8)
            ),
        ),
        "sign": wrong(*hints.WEIGHT_REVERSED, lambda s, v: (-s).softmax(dim=-1) @ v),
        "scaled": wrong(
            "评分在这里不再除以什么：直接做 softmax。",
            "The scores are not divided by anything here: take their softmax as they are.",
            lambda s, v: (s / s.shape[-1] ** 0.5).softmax(dim=-1) @ v,
            lambda s, v: (s / v.shape[-1] ** 0.5).softmax(dim=-1) @ v,
        ),
        "highest-only": wrong(
            "只取了评分最高的键：软注意力让每个键都有一份。",
            "Only the key of the highest score is taken: with soft attention every key has a"
            " share.",
            lambda s, v: (s == s.amax(dim=-1, keepdim=True)).to(v.dtype) @ v,
        ),
        "softmax-twice": wrong(
            *hints.SOFTMAX_TWICE, lambda s, v: s.softmax(dim=-1).softmax(dim=-1) @ v
        ),
    },
)


# --- nadaraya-watson ---------------------------------------------------------------------------


def _points() -> Iterator[Probe]:
    queries, keys, values = torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.5, 2.0]), torch.randn(3)
    yield probe((queries, keys, values, 1.0))
    yield probe((queries, keys, values, 0.5), "带宽不是 1", "the bandwidth is not 1")
    yield probe((queries, keys, values, 3.0), "带宽很大", "the bandwidth is large")
    yield probe((torch.randn(3), torch.randn(3), values, 0.7), *hints.AS_MANY)
    far = torch.tensor([0.0, 40.0])
    yield probe(
        (far, keys, values, 1.0), "一个查询离所有的键都很远", "one query is far from all keys"
    )
    yield probe((queries, keys[:1], values[:1], 0.1), *hints.ONE_KEY)


def _regression(score: Callable[[Tensor, float], Tensor], dim: int = -1) -> Callable[..., Tensor]:
    """Return a regression whose scores are made of distance and bandwidth."""

    def predict(queries: Tensor, keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
        distances = queries[:, None] - keys
        return score(distances, bandwidth).softmax(dim=dim) @ values

    return predict


def _densities(queries: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    return (-(((queries[:, None] - keys) / bandwidth) ** 2) / 2).exp()


def _quotient(q: Tensor, k: Tensor, v: Tensor, h: float, add: float = 0.0) -> Tensor:
    likeness = _densities(q, k, h)
    return likeness @ v / (likeness.sum(dim=-1) + add)


NADARAYA_WATSON = exercise(
    "nadaraya-watson",
    "写 `predict(queries, keys, values, bandwidth)`：高斯核的 Nadaraya–Watson 回归；"
    "查询离所有的键都很远时，结果也要对。",
    "Write `predict(queries, keys, values, bandwidth)`: Nadaraya–Watson regression with a"
    " Gaussian kernel; it must come out right for a query far from all keys, too.",
    solution=lambda queries, keys, values, bandwidth: nadaraya_watson(
        queries, keys, values, bandwidth=bandwidth
    ),
    probes=_points,
    mistakes={
        "bandwidth-not-squared": wrong(
            "带宽为 1 时对，其余都错：先除以带宽，再平方。",
            "Right for bandwidth 1 alone: divide by the bandwidth first, then square.",
            _regression(lambda d, h: -(d**2) / (2 * h)),
        ),
        "bandwidth-multiplied": wrong(
            "带宽乘上去了：带宽越大，核应当越宽，距离要除以它。",
            "Multiplied by the bandwidth: a larger one must make the kernel wider, so the distance"
            " is divided by it.",
            _regression(lambda d, h: -((d * h) ** 2) / 2),
        ),
        "no-half": wrong(
            "高斯核的指数里有一个 1/2；漏了它，带宽就成了原来的 1/√2。",
            "There is a 1/2 in the exponent of the Gaussian; without it the bandwidth is smaller by"
            " a factor of √2.",
            _regression(lambda d, h: -((d / h) ** 2)),
        ),
        "not-squared": wrong(
            "高斯核里是距离的平方，不是绝对值。",
            "The Gaussian takes the square of the distance, not its absolute value.",
            _regression(lambda d, h: -(d / h).abs() / 2),
        ),
        "wrong-axis": wrong(
            "权重要沿键相加为 1，不是沿查询。",
            "The weights sum to 1 over the keys, not over the queries.",
            _regression(lambda d, h: -((d / h) ** 2) / 2, dim=0),
        ),
        "not-normalized": wrong(
            "分母忘了：要除以这个查询所有核值的和。",
            "The denominator is missing: divide by the sum of the kernel over all keys.",
            lambda q, k, v, h: _densities(q, k, h) @ v,
        ),
        "underflow": wrong(
            "离所有键都远时，每个核值都下溢成 0，于是 0/0；分母加一个小数，结果就成了 0。"
            "对核取对数再做 softmax，公式不变，却不会下溢。",
            "Far from all keys every kernel value underflows to 0, hence 0/0; with a small number"
            " added below, the result is 0. A softmax of the kernel's logarithm is the same formula"
            " and does not underflow.",
            _quotient,
            lambda q, k, v, h: _quotient(q, k, v, h, 1e-8),
            lambda q, k, v, h: _quotient(q, k, v, h, 1e-30),
        ),
        "sign": wrong(
            "指数里少了负号：越远的键，权重越小。",
            "The minus sign of the exponent is missing: keys further away weigh less.",
            _regression(lambda d, h: (d / h) ** 2 / 2),
        ),
        "no-bandwidth": wrong(
            "带宽没有用上。", "The bandwidth is not used.", _regression(lambda d, h: -(d**2) / 2)
        ),
        "nearest-only": wrong(
            "只取了最近的键：核回归是所有键的加权平均。",
            "Only the nearest key is taken: kernel regression is a weighted average over all keys.",
            lambda q, k, v, h: v[(q[:, None] - k).abs().argmin(dim=-1)],
        ),
        "plain-average": wrong(
            "每个键的权重都一样：距离没有用上。",
            "Every key has the same weight: the distances are not used.",
            lambda q, k, v, h: v.mean().expand(len(q)),
        ),
        "softmax-of-kernel": wrong(
            "对核值又取了一次指数：softmax 的输入是核的对数。",
            "This takes the exponential of the kernel once more: what goes into the softmax is the"
            " kernel's logarithm.",
            lambda q, k, v, h: _densities(q, k, h).softmax(dim=-1) @ v,
        ),
    },
)


# --- leave-one-out -----------------------------------------------------------------------------


def _regression_data() -> Iterator[Probe]:
    for num_keys, bandwidth in ((3, 1.0), (5, 0.5), (7, 2.0)):
        yield probe((torch.randn(num_keys), torch.randn(num_keys), bandwidth))
    lonely, twice = torch.tensor([0.0, 1.0, 60.0]), torch.tensor([0.0, 1.0, 1.0, 3.0])
    yield probe(
        (lonely, torch.tensor([2.0, 3.0, 1.0]), 1.0),
        "有一个点离其余的都很远",
        "one point is far from all others",
    )
    yield probe(
        (twice, torch.tensor([2.0, 0.0, 1.0, 4.0]), 0.5),
        "有两个点的键相同",
        "two points have the same key",
    )


def _errors(
    keys: Tensor, values: Tensor, bandwidth: float, *, keep: bool = False, late: bool = False
) -> Tensor:
    others = leave_one_out_mask(len(keys))
    mask = None if keep or late else others
    weights = kernel_weights(keys, keys, bandwidth=bandwidth, mask=mask)
    return (weights * others if late else weights) @ values - values


def _scores(keys: Tensor, bandwidth: float) -> Tensor:
    return -(((keys[:, None] - keys) / bandwidth) ** 2) / 2


def _filled(keys: Tensor, values: Tensor, bandwidth: float, fill: float) -> Tensor:
    scores = torch.where(leave_one_out_mask(len(keys)), _scores(keys, bandwidth), fill)
    return (scores.softmax(dim=-1) @ values - values).square().mean()


def _quotient_of_others(keys: Tensor, values: Tensor, bandwidth: float, add: float = 0.0) -> Tensor:
    kernel = _scores(keys, bandwidth).exp() * leave_one_out_mask(len(keys))
    return (kernel @ values / (kernel.sum(dim=-1) + add) - values).square().mean()


LEAVE_ONE_OUT = exercise(
    "leave-one-out",
    "写 `error(keys, values, bandwidth)`：留一法的均方误差，每个点都由其余的点来预测（高斯核）；"
    "有的点可以离其余的很远，键也可以相同。",
    "Write `error(keys, values, bandwidth)`: the leave-one-out mean squared error, each point"
    " predicted from all others (Gaussian kernel); points may be far from all others, and keys"
    " may be equal.",
    solution=lambda keys, values, bandwidth: _errors(keys, values, bandwidth).square().mean(),
    probes=_regression_data,
    mistakes={
        "keeps-itself": wrong(
            "每个点也看见了自己：带宽越小，误差越接近 0，选出来的总是最小的带宽。",
            "Every point sees itself as well: the smaller the bandwidth the smaller the error, and"
            " the smallest one would always win.",
            lambda k, v, h: _errors(k, v, h, keep=True).square().mean(),
        ),
        "removed-afterwards": wrong(
            "归一化之后才拿掉自己，其余的权重之和就小于 1：先遮住，再归一化。",
            "Removed after normalizing, the point leaves weights that sum to less than 1: hide it"
            " first, then normalize.",
            lambda k, v, h: _errors(k, v, h, late=True).square().mean(),
        ),
        "sum": wrong(
            "求的是和，不是平均。",
            "This is the sum, not the mean.",
            lambda k, v, h: _errors(k, v, h).square().sum(),
        ),
        "absolute": wrong(
            "误差要平方，不是取绝对值。",
            "Square the errors; do not take absolute values.",
            lambda k, v, h: _errors(k, v, h).abs().mean(),
        ),
        "root": wrong(
            "均方误差不开根号。",
            "The mean squared error has no root.",
            lambda k, v, h: _errors(k, v, h).square().mean().sqrt(),
        ),
        "underflow": wrong(
            "一个点离其余的都远时，核值全下溢成 0，于是 0/0：对核的对数做 softmax，先把自己填成 "
            "`-inf`。",
            "Where a point is far from all others every kernel value underflows to 0, hence 0/0:"
            " take a softmax of the kernel's logarithm, with the point itself at `-inf`.",
            lambda k, v, h: _quotient_of_others(k, v, h),
            lambda k, v, h: _quotient_of_others(k, v, h, 1e-8),
        ),
        "finite-fill": wrong(
            "有限的填充值不够低：真正的评分可能比它还低，点就又看见了自己。填 `-inf`。",
            "A finite fill is not low enough: real scores may be lower, and the point sees itself"
            " again. Fill with `-inf`.",
            lambda k, v, h: _filled(k, v, h, -100.0),
            lambda k, v, h: _filled(k, v, h, -10.0),
        ),
        "hidden-by-key": wrong(
            "只该遮住点自己，也就是对角线；键相同的另一个点是别的点。",
            "Only the point itself is to be hidden, the diagonal; another point with the same key"
            " is another point.",
            lambda k, v, h: (
                (_scores(k, h).masked_fill(k[:, None] == k, -torch.inf).softmax(dim=-1) @ v - v)
                .square()
                .mean()
            ),
        ),
        "one-less": wrong(
            "平方误差有 n 个，除以 n，不是 n − 1。",
            "There are n squared errors: divide by n, not by n − 1.",
            lambda k, v, h: _errors(k, v, h).square().sum() / (len(k) - 1),
        ),
        "bandwidth-not-squared": wrong(
            "先除以带宽，再平方。",
            "Divide by the bandwidth first, then square.",
            lambda k, v, h: _errors(k, v, h**0.5).square().mean(),
        ),
        "no-half": wrong(
            "高斯核的指数里有一个 1/2。",
            "There is a 1/2 in the exponent of the Gaussian.",
            lambda k, v, h: _errors(k, v, h / 2**0.5).square().mean(),
        ),
        "plain-average": wrong(
            "每个点的权重都一样：距离没有用上。",
            "Every point has the same weight: the distances are not used.",
            lambda k, v, h: (((v.sum() - v) / (len(v) - 1)) - v).square().mean(),
        ),
    },
)

EXERCISES = (ATTENTION_POOLING, NADARAYA_WATSON, LEAVE_ONE_OUT)
