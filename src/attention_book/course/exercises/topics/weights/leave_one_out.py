"""An exercise on choosing the bandwidth: the leave-one-out error."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import kernel_weights, leave_one_out_mask
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _regression_data() -> Iterator[Probe]:
    for num_keys, bandwidth in ((3, 1.0), (5, 0.5), (7, 2.0)):
        yield Probe((torch.randn(num_keys), torch.randn(num_keys), bandwidth))
    lonely, twice = torch.tensor([0.0, 1.0, 60.0]), torch.tensor([0.0, 1.0, 1.0, 3.0])
    yield Probe(
        (lonely, torch.tensor([2.0, 3.0, 1.0]), 1.0),
        Bilingual("有一个点离其余的都很远", "one point is far from all others"),
    )
    yield Probe(
        (twice, torch.tensor([2.0, 0.0, 1.0, 4.0]), 0.5),
        Bilingual("有两个点的键相同", "two points have the same key"),
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


def _quotient(keys: Tensor, values: Tensor, bandwidth: float, add: float = 0.0) -> Tensor:
    kernel = _scores(keys, bandwidth).exp() * leave_one_out_mask(len(keys))
    return (kernel @ values / (kernel.sum(dim=-1) + add) - values).square().mean()


def _by_key(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    scores = _scores(keys, bandwidth).masked_fill(keys[:, None] == keys, -torch.inf)
    return (scores.softmax(dim=-1) @ values - values).square().mean()


def _plain_average(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    others = (values.sum() - values) / (len(values) - 1)
    return (others - values).square().mean()


_UNDERFLOW = Bilingual(
    "一个点离其余的都远时，核值全下溢成 0，于是 0/0：对核的对数做 softmax，先把自己填成 `-inf`。",
    "Where a point is far from all others every kernel value underflows to 0, hence 0/0: take a"
    " softmax of the kernel's logarithm, with the point itself at `-inf`.",
)
_FINITE_FILL = Bilingual(
    "有限的填充值不够低：真正的评分可能比它还低，点就又看见了自己。填 `-inf`。",
    "A finite fill is not low enough: real scores may be lower, and the point sees itself again."
    " Fill with `-inf`.",
)


LEAVE_ONE_OUT = Exercise(
    name="leave-one-out",
    task=Bilingual(
        "写 `error(keys, values, bandwidth)`：留一法的均方误差，每个点都由其余的点来预"
        "测（高斯核）；有的点可以离其余的很远，键也可以相同。",
        "Write `error(keys, values, bandwidth)`: the leave-one-out mean squared error, "
        "each point predicted from all others (Gaussian kernel); points may be far "
        "from all others, and keys may be equal.",
    ),
    solution=lambda keys, values, bandwidth: _errors(keys, values, bandwidth).square().mean(),
    probes=_regression_data,
    mistakes=(
        Mistake(
            "keeps-itself",
            lambda keys, values, h: _errors(keys, values, h, keep=True).square().mean(),
            Bilingual(
                "每个点也看见了自己：带宽越小，误差越接近 0，选出来的总是最小的带宽。",
                "Every point sees itself as well: the smaller the bandwidth the smaller the"
                " error, and the smallest one would always win.",
            ),
        ),
        Mistake(
            "removed-afterwards",
            lambda keys, values, h: _errors(keys, values, h, late=True).square().mean(),
            Bilingual(
                "归一化之后才拿掉自己，其余的权重之和就小于 1：先遮住，再归一化。",
                "Removed after normalizing, the point leaves weights that sum to less than 1:"
                " hide it first, then normalize.",
            ),
        ),
        Mistake(
            "sum",
            lambda keys, values, h: _errors(keys, values, h).square().sum(),
            Bilingual("求的是和，不是平均。", "This is the sum, not the mean."),
        ),
        Mistake(
            "absolute",
            lambda keys, values, h: _errors(keys, values, h).abs().mean(),
            Bilingual(
                "误差要平方，不是取绝对值。", "Square the errors; do not take absolute values."
            ),
        ),
        Mistake(
            "root",
            lambda keys, values, h: _errors(keys, values, h).square().mean().sqrt(),
            Bilingual("均方误差不开根号。", "The mean squared error has no root."),
        ),
        Mistake("underflow", lambda keys, values, h: _quotient(keys, values, h), _UNDERFLOW),
        Mistake("underflow", lambda keys, values, h: _quotient(keys, values, h, 1e-8), _UNDERFLOW),
        Mistake(
            "finite-fill", lambda keys, values, h: _filled(keys, values, h, -100.0), _FINITE_FILL
        ),
        Mistake(
            "finite-fill", lambda keys, values, h: _filled(keys, values, h, -10.0), _FINITE_FILL
        ),
        Mistake(
            "hidden-by-key",
            _by_key,
            Bilingual(
                "只该遮住点自己，也就是对角线；键相同的另一个点是别的点。",
                "Only the point itself is to be hidden, the diagonal; another point with the "
                "same key is another point.",
            ),
        ),
        Mistake(
            "one-less",
            lambda keys, values, h: _errors(keys, values, h).square().sum() / (len(keys) - 1),
            Bilingual(
                "平方误差有 n 个，除以 n，不是 n − 1。",
                "There are n squared errors: divide by n, not by n − 1.",
            ),
        ),
        Mistake(
            "bandwidth-not-squared",
            lambda keys, values, h: _errors(keys, values, h**0.5).square().mean(),
            Bilingual("先除以带宽，再平方。", "Divide by the bandwidth first, then square."),
        ),
        Mistake(
            "no-half",
            lambda keys, values, h: _errors(keys, values, h / 2**0.5).square().mean(),
            Bilingual(
                "高斯核的指数里有一个 1/2。", "There is a 1/2 in the exponent of the Gaussian."
            ),
        ),
        Mistake(
            "plain-average",
            _plain_average,
            Bilingual(
                "每个点的权重都一样：距离没有用上。",
                "Every point has the same weight: the distances are not used.",
            ),
        ),
    ),
)

EXERCISES = (LEAVE_ONE_OUT,)
