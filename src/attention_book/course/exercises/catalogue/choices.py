"""Exercises on where to look: a Gaussian window, a drawn key, the way back."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import (
    masked_softmax,
    reinforce_surrogate,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, shares, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- local-gaussian ----------------------------------------------------------------------------


def _windows() -> Iterator[Probe]:
    yield probe((torch.randn(7), 3.0, 2))
    yield probe((torch.randn(7), 2.4, 3), "中心不是整数", "the center is no integer")
    yield probe(
        (torch.randn(5), 0.3, 1), "窗口伸到了句子外面", "the window reaches beyond the sentence"
    )
    yield probe((torch.randn(5), 2.4, 5), "窗口比句子还宽", "the window is wider than the sentence")
    yield probe((torch.randn(9), 4.6, 2), "中心不是整数", "the center is no integer")
    scores = torch.tensor([3.0, -2000.0, 900.0, 902.0, 2000.0])
    yield probe((scores, 2.3, 1), "评分相差很大", "the scores are far apart")
    low = torch.tensor([2000.0, -300.0, -301.0, -300.5, 0.0])
    yield probe((low, 2.0, 1), "窗口外的评分高", "the scores outside are high")


def _window(scores: Tensor, center: float, radius: int) -> tuple[Tensor, Tensor]:
    """Return the softmax over the window, and the squared distances to the center."""
    distances = torch.arange(len(scores)) - center
    near = (distances.abs() <= radius)[None]
    return masked_softmax(scores[None], near)[0], distances**2


def _local(variance: Callable[[int], float], *, again: bool = False) -> Callable[..., Tensor]:
    def weights(scores: Tensor, center: float, radius: int) -> Tensor:
        soft, squares = _window(scores, center, radius)
        found = soft * torch.exp(-squares / (2 * variance(radius)))
        return found / found.sum() if again else found

    return weights


def _half(radius: int) -> float:
    return (radius / 2) ** 2


def _fall(scores: Tensor, center: float, radius: int) -> Tensor:
    """Return the Gaussian at each place."""
    return torch.exp(-_window(scores, center, radius)[1] / (2 * _half(radius)))


LOCAL_GAUSSIAN = exercise(
    "local-gaussian",
    "写 `weights(scores, center, radius)`：local-p 的权重，窗口内（距离不超过 radius，"
    "两端在内）的 softmax 乘以标准差为 radius/2 的高斯函数；scores 是一维的，评分可大可小。",
    "Write `weights(scores, center, radius)`: the weights of local-p, a softmax over the window"
    " (up to a distance of radius, both ends included) times a Gaussian of standard deviation"
    " radius/2; scores has one axis and may be of any size.",
    solution=_local(_half),
    probes=_windows,
    mistakes={
        "sigma-is-radius": wrong(
            "标准差是半径的一半，不是半径。",
            "The standard deviation is half the radius, not the radius.",
            _local(lambda radius: radius**2),
        ),
        "sigma-not-squared": wrong(
            "分母里是方差：标准差要平方。",
            "The denominator holds the variance: square the standard deviation.",
            _local(lambda radius: radius / 2),
        ),
        "normalized-again": wrong(
            "乘上高斯函数之后不再归一化，也不要把它放进 softmax 里面：一行之和小于 1，原文如此。",
            "After the Gaussian nothing is normalized again, and it does not go into the softmax:"
            " the weights sum to less than 1, as in the paper.",
            _local(_half, again=True),
        ),
        "no-window": wrong(
            "窗口外的键也进了 softmax：分母里只该有窗口内的键。",
            "Keys outside the window entered the softmax: only those inside belong to the"
            " denominator.",
            lambda s, c, r: s.softmax(dim=-1) * torch.exp(-_window(s, c, r)[1] / (2 * _half(r))),
        ),
        "edge-left-out": wrong(
            "距离恰好等于半径的键也在窗口里：是 `<=`，不是 `<`。",
            "A key whose distance equals the radius is inside: `<=`, not `<`.",
            lambda s, c, r: (
                masked_softmax(s[None], ((torch.arange(len(s)) - c).abs() < r)[None])[0]
                * _fall(s, c, r)
            ),
        ),
        "density": wrong(
            "高斯函数在这里不带归一化系数：中心处的值是 1。",
            "The Gaussian has no normalizing factor here: it is 1 at the center.",
            lambda s, c, r: _local(_half)(s, c, r) / math.sqrt(2 * math.pi * _half(r)),
        ),
        "no-gaussian": wrong(
            "还没有乘高斯函数。", "The Gaussian is missing.", lambda s, c, r: _window(s, c, r)[0]
        ),
        "center-rounded": wrong(
            "中心可以落在两个位置之间：不要取整。",
            "The center may lie between two places: do not round it.",
            lambda s, c, r: _local(_half)(s, float(round(c)), r),
            lambda s, c, r: _local(_half)(s, float(int(c)), r),
        ),
        "overflow": wrong(
            "评分大时指数溢出成无穷：先减去窗口内的最大值，或者把窗口外填成 `-inf` 再做 softmax。",
            "For large scores the exponential overflows to infinity: subtract the maximum of the"
            " window first, or fill what is outside with `-inf` and take the softmax.",
            lambda s, c, r: (
                shares(s.exp() * ((torch.arange(len(s)) - c).abs() <= r)) * _fall(s, c, r)
            ),
        ),
    },
)


# --- reinforce ---------------------------------------------------------------------------------


def _draws() -> Iterator[Probe]:
    for draws, baseline in ((3, 0.0), (5, 0.5), (2, -1.0)):
        yield probe((torch.rand(draws).log(), torch.rand(draws), baseline))
    yield probe((torch.tensor([-2.0]), torch.tensor([3.0]), 1.0), "只抽一次", "one draw")


def _losses_are_constants(answer: Answer) -> Finding | None:
    log_probs = torch.rand(3).log().requires_grad_()
    losses = torch.rand(3).requires_grad_()
    answer(log_probs, losses, 0.5).backward()
    if losses.grad is None or not losses.grad.any():
        return None
    return Finding(
        {"log_probs": log_probs, "losses": losses, "baseline": 0.5},
        Bilingual("对损失没有梯度", "no gradient for the losses"),
        losses.grad,
    )


REINFORCE = exercise(
    "reinforce",
    "写 `surrogate(log_probs, losses, baseline)`：对它求梯度，就得到期望损失的梯度的估计；"
    "返回各次抽样的平均。",
    "Write `surrogate(log_probs, losses, baseline)`, whose gradient estimates that of the"
    " expected loss; return the mean over the draws.",
    solution=lambda log_probs, losses, baseline: reinforce_surrogate(
        log_probs, losses, baseline=baseline
    ),
    probes=_draws,
    mistakes={
        "uphill": wrong(
            "符号反了：沿着它的梯度下降，损失反而变大。手里是损失时没有负号，是奖励时才有。",
            "The sign is reversed: descending along this gradient makes the loss grow. A minus"
            " belongs to a reward, not to a loss.",
            lambda logs, loss, b: -((loss - b) * logs).mean(),
        ),
        "probabilities": wrong(
            "用了概率而不是对数概率：抽样已经按概率加过权了，这样就加了两次。",
            "Probabilities in place of log-probabilities: drawing has weighted by probability"
            " already, and this does so twice.",
            lambda logs, loss, b: ((loss - b) * logs.exp()).mean(),
        ),
        "baseline-added": wrong(
            "基线是减去的：要紧的是比平常好多少。",
            "The baseline is subtracted: what counts is how much better than usual a draw is.",
            lambda logs, loss, b: ((loss + b) * logs).mean(),
        ),
        "baseline-outside": wrong(
            "基线在乘积之外，梯度里就没有它了：先从损失里减去，再乘对数概率。",
            "Outside of the product the baseline has no part in the gradient: take it from the loss"
            " before multiplying.",
            lambda logs, loss, b: (loss * logs).mean() - b,
        ),
        "sum": wrong(
            "求的是和：抽得越多，梯度越大。要取平均。",
            "This is the sum: the more draws, the larger the gradient. Take the mean.",
            lambda logs, loss, b: ((loss - b) * logs).sum(),
        ),
        "baseline-ignored": wrong(
            "基线没有用上：从每个损失里减去它。",
            "The baseline is not used: subtract it from every loss.",
            lambda logs, loss, b: (loss * logs).mean(),
        ),
        "means-multiplied": wrong(
            "每次抽样的损失乘它自己的对数概率，乘完再平均：平均之积不是积的平均。",
            "The loss of a draw goes with the log-probability of that draw: multiply first, then"
            " average.",
            lambda logs, loss, b: (loss - b).mean() * logs.mean(),
        ),
    },
    laws=(
        Law(
            "losses-are-constants",
            Bilingual("损失当作常数，不传梯度。", "The losses are constants and get no gradient."),
            _losses_are_constants,
            Bilingual("损失先 `detach`。", "Call `detach` on the losses first."),
        ),
    ),
)


# --- softmax-backward --------------------------------------------------------------------------


def _weights_and_gradients() -> Iterator[Probe]:
    yield probe((torch.randn(1, 3).softmax(dim=-1), torch.randn(1, 3)))
    yield probe((torch.randn(3, 5).softmax(dim=-1), torch.randn(3, 5)))
    hidden = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    yield probe((hidden, torch.randn(2, 3)), "有的权重是 0", "some weights are 0")
    yield probe((torch.randn(3, 3).softmax(dim=-1), torch.randn(3, 3)), *hints.AS_MANY)


def _backward(weights: Tensor, gradient: Tensor) -> Tensor:
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))


SOFTMAX_BACKWARD = exercise(
    "softmax-backward",
    "写 `backward(weights, gradient)`：已知 softmax 的结果和损失对权重的梯度，返回对评分的梯度。",
    "Write `backward(weights, gradient)`: given the result of a softmax and the loss's gradient"
    " with respect to the weights, return the one with respect to the scores.",
    solution=_backward,
    probes=_weights_and_gradients,
    mistakes={
        "diagonal-only": wrong(
            "只用了雅可比矩阵的对角线：抬高一个评分，别的权重也会变小。",
            "Only the diagonal of the Jacobian: raising one score lowers the other weights, too.",
            lambda w, g: w * (1 - w) * g,
        ),
        "nothing-subtracted": wrong(
            "一行的梯度之和应当是 0：给所有评分加同一个数，什么都不变。要减去什么？",
            "The gradients of a row must sum to 0, for adding one number to all scores changes"
            " nothing. What has to be subtracted?",
            lambda w, g: w * g,
        ),
        "plain-mean": wrong(
            "减去的是加权平均，不是普通平均。",
            "What is subtracted is the weighted mean, not the plain one.",
            lambda w, g: w * (g - g.mean(dim=-1, keepdim=True)),
        ),
        "sign": wrong(*hints.SIGN_ALONE, lambda w, g: -_backward(w, g)),
        "wrong-axis": wrong(
            "把各个查询混在一起了：每一行各自求和。",
            "This mixes the queries: sum within each row.",
            lambda w, g: w * (g - (w * g).sum(dim=0)),
            lambda w, g: w * (g - (w * g).sum()),
        ),
        "no-kept-axis": wrong(
            "和少了一个轴，减的时候对错了行：求和时加上 `keepdim=True`。",
            "The sum has lost its axis and is subtracted from the wrong rows: sum with"
            " `keepdim=True`.",
            lambda w, g: w * (g - (w * g).sum(dim=-1)),
        ),
        "plain-sum": wrong(
            "减去的是按权重求的平均，不是普通的和。",
            "What is subtracted is the mean under the weights, not the plain sum.",
            lambda w, g: w * (g - g.sum(dim=-1, keepdim=True)),
        ),
        "weights-missing": wrong(
            "外面还要乘以权重：权重为 0 的键，评分的梯度也是 0。",
            "The weights are missing outside: where a weight is 0, so is the gradient of its"
            " score.",
            lambda w, g: g - (w * g).sum(dim=-1, keepdim=True),
        ),
        "softmax-twice": wrong(
            "`weights` 已经是 softmax 的结果：不要再做一次。",
            "`weights` is the result of the softmax already: do not take it again.",
            lambda w, g: _backward(w.softmax(dim=-1), g),
            lambda w, g: w * (g - (w.softmax(dim=-1) * g).sum(dim=-1, keepdim=True)),
        ),
        "divided-by-weights": wrong(
            "除以了权重：权重为 0 时是 0/0。",
            "Divided by the weights: where one is 0, this is 0/0.",
            lambda w, g: _backward(w, g) * w / w,
        ),
    },
)

EXERCISES = (LOCAL_GAUSSIAN, REINFORCE, SOFTMAX_BACKWARD)
