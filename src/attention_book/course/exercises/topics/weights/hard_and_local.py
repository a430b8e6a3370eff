"""Exercises on where to look: a Gaussian window, and the gradient of a drawn key."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import masked_softmax, reinforce_surrogate
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- local-gaussian --------------------------------------------------------------------------


def _windows() -> Iterator[Probe]:
    yield Probe((torch.randn(7), 3.0, 2))
    yield Probe((torch.randn(7), 2.4, 3), Bilingual("中心不是整数", "the center is no integer"))
    yield Probe(
        (torch.randn(5), 0.3, 1),
        Bilingual("窗口伸到了句子外面", "the window reaches beyond the sentence"),
    )
    yield Probe(
        (torch.randn(5), 2.4, 5),
        Bilingual("窗口比句子还宽", "the window is wider than the sentence"),
    )
    yield Probe((torch.randn(9), 4.6, 2), Bilingual("中心不是整数", "the center is no integer"))
    scores = torch.tensor([3.0, -2000.0, 900.0, 902.0, 2000.0])
    yield Probe((scores, 2.3, 1), Bilingual("评分相差很大", "the scores are far apart"))
    low = torch.tensor([2000.0, -300.0, -301.0, -300.5, 0.0])
    yield Probe((low, 2.0, 1), Bilingual("窗口外的评分高", "the scores outside are high"))


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


def _everywhere(scores: Tensor, center: float, radius: int) -> Tensor:
    return scores.softmax(dim=-1) * torch.exp(
        -_window(scores, center, radius)[1] / (2 * _half(radius))
    )


def _fall(scores: Tensor, center: float, radius: int) -> Tensor:
    """Return the Gaussian at each place."""
    return torch.exp(-_window(scores, center, radius)[1] / (2 * _half(radius)))


def _open_window(scores: Tensor, center: float, radius: int) -> Tensor:
    near = (torch.arange(len(scores)) - center).abs() < radius
    return masked_softmax(scores[None], near[None])[0] * _fall(scores, center, radius)


def _density(scores: Tensor, center: float, radius: int) -> Tensor:
    return _local(_half)(scores, center, radius) / math.sqrt(2 * math.pi * _half(radius))


def _bare(scores: Tensor, center: float, radius: int) -> Tensor:
    likeness = scores.exp() * ((torch.arange(len(scores)) - center).abs() <= radius)
    return likeness / likeness.sum() * _fall(scores, center, radius)


_ROUNDED = Bilingual(
    "中心可以落在两个位置之间：不要取整。",
    "The center may lie between two places: do not round it.",
)

LOCAL_GAUSSIAN = Exercise(
    name="local-gaussian",
    task=Bilingual(
        "写 `weights(scores, center, radius)`：local-p 的权重，窗口内（距离不超过"
        " radius，两端在内）的 softmax 乘以标准差为 radius/2 的高斯函数；scores 是一维"
        "的，评分可大可小。",
        "Write `weights(scores, center, radius)`: the weights of local-p, a softmax "
        "over the window (up to a distance of radius, both ends included) times a "
        "Gaussian of standard deviation radius/2; scores has one axis and may be of "
        "any size.",
    ),
    solution=_local(_half),
    probes=_windows,
    mistakes=(
        Mistake(
            "sigma-is-radius",
            _local(lambda radius: radius**2),
            Bilingual(
                "标准差是半径的一半，不是半径。",
                "The standard deviation is half the radius, not the radius.",
            ),
        ),
        Mistake(
            "sigma-not-squared",
            _local(lambda radius: radius / 2),
            Bilingual(
                "分母里是方差：标准差要平方。",
                "The denominator holds the variance: square the standard deviation.",
            ),
        ),
        Mistake(
            "normalized-again",
            _local(_half, again=True),
            Bilingual(
                "乘上高斯函数之后不再归一化，"
                "也不要把它放进 softmax 里面：一行之和小于 1，原文如此。",
                "After the Gaussian nothing is normalized again, and it does not go into the"
                " softmax: the weights sum to less than 1, as in the paper.",
            ),
        ),
        Mistake(
            "no-window",
            _everywhere,
            Bilingual(
                "窗口外的键也进了 softmax：分母里只该有窗口内的键。",
                "Keys outside the window entered the softmax: only those inside belong to the"
                " denominator.",
            ),
        ),
        Mistake(
            "edge-left-out",
            _open_window,
            Bilingual(
                "距离恰好等于半径的键也在窗口里：是 `<=`，不是 `<`。",
                "A key whose distance equals the radius is inside: `<=`, not `<`.",
            ),
        ),
        Mistake(
            "density",
            _density,
            Bilingual(
                "高斯函数在这里不带归一化系数：中心处的值是 1。",
                "The Gaussian has no normalizing factor here: it is 1 at the center.",
            ),
        ),
        Mistake(
            "no-gaussian",
            lambda scores, center, radius: _window(scores, center, radius)[0],
            Bilingual("还没有乘高斯函数。", "The Gaussian is missing."),
        ),
        Mistake(
            "center-rounded",
            lambda scores, center, radius: _local(_half)(scores, float(round(center)), radius),
            _ROUNDED,
        ),
        Mistake(
            "center-rounded",
            lambda scores, center, radius: _local(_half)(scores, float(int(center)), radius),
            _ROUNDED,
        ),
        Mistake(
            "overflow",
            _bare,
            Bilingual(
                "评分大时指数溢出成无穷：先减去窗口内的最大值，或者把窗口外填成 `-inf` 再做"
                " softmax。",
                "For large scores the exponential overflows to infinity: subtract the maximum "
                "of the window first, or fill what is outside with `-inf` and take the softmax.",
            ),
        ),
    ),
)

# --- reinforce -------------------------------------------------------------------------------


def _draws() -> Iterator[Probe]:
    for draws, baseline in ((3, 0.0), (5, 0.5), (2, -1.0)):
        yield Probe((torch.rand(draws).log(), torch.rand(draws), baseline))
    yield Probe((torch.tensor([-2.0]), torch.tensor([3.0]), 1.0), Bilingual("只抽一次", "one draw"))


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


REINFORCE = Exercise(
    name="reinforce",
    task=Bilingual(
        "写 `surrogate(log_probs, losses, baseline)`：对它求梯度，"
        "就得到期望损失的梯度的估计；返回各次抽样的平均。",
        "Write `surrogate(log_probs, losses, baseline)`, whose gradient estimates that of the"
        " expected loss; return the mean over the draws.",
    ),
    solution=lambda log_probs, losses, baseline: reinforce_surrogate(
        log_probs, losses, baseline=baseline
    ),
    probes=_draws,
    mistakes=(
        Mistake(
            "uphill",
            lambda log_probs, losses, baseline: -((losses - baseline) * log_probs).mean(),
            Bilingual(
                "符号反了：沿着它的梯度下降，损失反而变大。手里是损失时没有负号，是奖励时才有。",
                "The sign is reversed: descending along this gradient makes the loss grow. A minus"
                " belongs to a reward, not to a loss.",
            ),
        ),
        Mistake(
            "probabilities",
            lambda log_probs, losses, baseline: ((losses - baseline) * log_probs.exp()).mean(),
            Bilingual(
                "用了概率而不是对数概率：抽样已经按概率加过权了，这样就加了两次。",
                "Probabilities in place of log-probabilities: drawing has weighted by"
                " probability already, and this does so twice.",
            ),
        ),
        Mistake(
            "baseline-added",
            lambda log_probs, losses, baseline: ((losses + baseline) * log_probs).mean(),
            Bilingual(
                "基线是减去的：要紧的是比平常好多少。",
                "The baseline is subtracted: what counts is how much better than usual a draw is.",
            ),
        ),
        Mistake(
            "baseline-outside",
            lambda log_probs, losses, baseline: (losses * log_probs).mean() - baseline,
            Bilingual(
                "基线在乘积之外，梯度里就没有它了：先从损失里减去，再乘对数概率。",
                "Outside of the product the baseline has no part in the gradient: take it from the"
                " loss before multiplying.",
            ),
        ),
        Mistake(
            "sum",
            lambda log_probs, losses, baseline: ((losses - baseline) * log_probs).sum(),
            Bilingual(
                "求的是和：抽得越多，梯度越大。要取平均。",
                "This is the sum: the more draws, the larger the gradient. Take the mean.",
            ),
        ),
        Mistake(
            "baseline-ignored",
            lambda log_probs, losses, baseline: (losses * log_probs).mean(),
            Bilingual(
                "基线没有用上：从每个损失里减去它。",
                "The baseline is not used: subtract it from every loss.",
            ),
        ),
        Mistake(
            "means-multiplied",
            lambda log_probs, losses, baseline: (losses - baseline).mean() * log_probs.mean(),
            Bilingual(
                "每次抽样的损失乘它自己的对数概率，乘完再平均：平均之积不是积的平均。",
                "The loss of a draw goes with the log-probability of that draw: multiply "
                "first, then average.",
            ),
        ),
    ),
    laws=(
        Law(
            "losses-are-constants",
            Bilingual("损失当作常数，不传梯度。", "The losses are constants and get no gradient."),
            _losses_are_constants,
            Bilingual("损失先 `detach`。", "Call `detach` on the losses first."),
        ),
    ),
)

EXERCISES = (LOCAL_GAUSSIAN, REINFORCE)
