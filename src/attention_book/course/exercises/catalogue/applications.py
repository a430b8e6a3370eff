"""Exercises on other tasks: forecasts and images."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.core import Probe, exercise, probe, wrong
from attention_book.metrics import naive_error
from attention_book.models import patches, visible_tokens

# --- mase --------------------------------------------------------------------------------------


def _forecasts() -> Iterator[Probe]:
    past = torch.tensor([3.0, 8.0, 4.0, 9.0, 5.0, 11.0])
    yield probe(
        (torch.tensor([5.0, 11.0, 5.0]), torch.tensor([6.0, 10.0, 9.0]), past, 2),
        "周期是 2",
        "the period is 2",
    )
    yield probe(
        (torch.tensor([11.0, 11.0]), torch.tensor([6.0, 14.0]), past, 1),
        "周期是 1",
        "the period is 1",
    )
    yield probe((torch.randn(11), torch.randn(11), 10 * torch.randn(29), 7))
    actual = torch.tensor([4.0, 7.0])
    yield probe((actual.clone(), actual, past, 2), "预测全对", "a perfect forecast")
    yield probe((actual, past[:2], past, 5), "只有一对值相隔一个周期", "a single pair")
    yield probe((actual, past[:2], past.flip(0), 1), "过去在下降", "the past falls")
    one = (torch.tensor([5.0]), torch.tensor([-3.0]), past - 20, 2)
    yield probe(one, "值是负的，只预测一个", "negative values, and one forecast")


def _mase(
    *,
    error: Callable[[Tensor], Tensor] = lambda difference: difference.abs().mean(),
    unit: Callable[[Tensor, Tensor, int], Tensor] = lambda past, _, period: naive_error(
        past, period
    ),
) -> Callable[[Tensor, Tensor, Tensor, int], Tensor]:
    def mase(forecast: Tensor, actual: Tensor, past: Tensor, period: int) -> Tensor:
        return error(forecast - actual) / unit(past, actual, period)

    return mase


def _signed_unit(past: Tensor, period: int) -> Tensor:
    return (past[period:] - past[:-period]).mean()


def _naive_in_the_future(past: Tensor, actual: Tensor, period: int) -> Tensor:
    naive = past[-period:][torch.arange(len(actual)) % period]
    return (actual - naive).abs().mean()


MASE = exercise(
    "mase",
    "写 `mase(forecast, actual, past, period)`：平均绝对误差，除以过去里相隔一个周期的两个值的平"
    "均绝对差。",
    "Write `mase(forecast, actual, past, period)`: the mean absolute error, divided by the mean"
    " absolute difference of values of the past that are one period apart.",
    solution=_mase(),
    probes=_forecasts,
    mistakes={
        "unit-from-the-future": wrong(
            "单位是从要预测的值里量的，做预测时还不知道它们：应当用过去。",
            "The unit was measured on the values to forecast, which nobody knew: use the past.",
            _mase(unit=lambda _, actual, period: naive_error(actual, min(period, len(actual) - 1))),
            _mase(unit=_naive_in_the_future),
        ),
        "period-ignored": wrong(
            "单位里比的是相邻的值：应当相隔一个周期。",
            "The unit compares neighbors: compare values one period apart.",
            _mase(unit=lambda past, _, __: naive_error(past, 1)),
        ),
        "spread-as-unit": wrong(
            "除以的是标准差：MASE 的单位是朴素预测的误差。",
            "This divides by the standard deviation: MASE's unit is the error of naive forecasts.",
            _mase(unit=lambda past, _, __: past.std()),
        ),
        "squared": wrong(
            "误差先平方了：这里要的是绝对值的平均。",
            "The errors were squared: take the mean of absolute values.",
            _mase(error=lambda e: e.square().mean().sqrt()),
        ),
        "signed": wrong(
            "正负误差互相抵消了：先取绝对值，再求平均。",
            "Errors of opposite sign cancel: take absolute values before the mean.",
            _mase(error=Tensor.mean),
        ),
        "unit-signed": wrong(
            "单位里的差也要先取绝对值，再求平均：涨与跌互相抵消了。",
            "The unit's differences need absolute values before the mean, too: rises and falls"
            " cancel.",
            _mase(unit=lambda past, _, period: _signed_unit(past, period)),
            _mase(unit=lambda past, _, period: _signed_unit(past, period).abs()),
        ),
        "no-unit": wrong(
            "这是平均绝对误差，还带着单位：要除以朴素预测的误差。",
            "That is the mean absolute error, which still has a unit: divide by the error of naive"
            " forecasts.",
            _mase(unit=lambda past, _, __: torch.ones(())),
        ),
        "mean-as-unit": wrong(
            "除以的是过去的平均：MASE 的单位是朴素预测的误差，加一个常数不变。",
            "This divides by the mean of the past: MASE's unit is the error of naive forecasts,"
            " which stays if a constant is added.",
            _mase(unit=lambda past, _, __: past.mean()),
            _mase(unit=lambda past, _, __: past.abs().mean()),
        ),
        "not-averaged": wrong(
            "误差和单位各自求平均：两边的个数不同。",
            "Errors and differences each need their mean: there are not equally many.",
            _mase(error=lambda difference: difference.abs().sum()),
            _mase(
                error=lambda difference: difference.abs().sum(),
                unit=lambda past, _, period: naive_error(past, period) * (len(past) - period),
            ),
            _mase(error=Tensor.abs),
        ),
        "divided-by-all": wrong(
            "单位是差的平均：n 个值只有 n − 周期 个差。",
            "The unit is the mean of the differences: n values have n minus period of them.",
            _mase(
                unit=lambda past, _, period: naive_error(past, period) * (1 - period / len(past))
            ),
        ),
        "past-and-future": wrong(
            "单位里混进了要预测的值：只用过去。",
            "Values to forecast are mixed into the unit: use the past alone.",
            _mase(unit=lambda past, actual, period: naive_error(torch.cat((past, actual)), period)),
        ),
    },
)


# --- scaled-by-the-past ------------------------------------------------------------------------


def _scaled(
    reference: Callable[[Tensor, int], Tensor], *, divide: bool = True
) -> Callable[[Tensor, int], Tensor]:
    def scaled(values: Tensor, origin: int) -> Tensor:
        known = reference(values, origin)
        return (values - known.mean()) / (known.std() if divide else 1)

    return scaled


def _each_by_its_own(values: Tensor, origin: int) -> Tensor:
    parts = [part for part in (values[:origin], values[origin:]) if len(part)]
    return torch.cat([(part - part.mean()) / part.std() for part in parts])


def _changed_scale(
    spread: Callable[[Tensor], Tensor | float], *, center: bool = True
) -> Callable[[Tensor, int], Tensor]:
    """Divide by another spread of the past."""

    def scaled(values: Tensor, origin: int) -> Tensor:
        known = values[:origin]
        return (values - (known.mean() if center else 0.0)) / spread(known)

    return scaled


_RIGHT = _scaled(lambda values, origin: values[:origin])


def _by_range(values: Tensor, origin: int) -> Tensor:
    low, high = values[:origin].aminmax()
    return (values - low) / (high - low)


SCALED_BY_THE_PAST = exercise(
    "scaled-by-the-past",
    "写 `scaled(values, origin)`：缩放整个序列，使起点之前的 origin 个值均值为 0、"
    "标准差（`std()`）为 1。",
    "Write `scaled(values, origin)`: scale the whole series so that its first `origin` values,"
    " those before the origin, have mean 0 and standard deviation (`std()`) 1.",
    solution=_RIGHT,
    probes=lambda: [
        probe((torch.tensor([2.0, 4.0, 6.0, 100.0, 200.0]), 3)),
        probe((torch.arange(12.0), 6), "有趋势", "there is a trend"),
        probe((torch.randn(23).cumsum(dim=0), 17)),
        probe((torch.randn(6), 6), "全是过去", "there is no future"),
        probe((1e-3 * torch.randn(8), 5), "值很小", "small values"),
    ],
    mistakes={
        "the-future-counts": wrong(
            "均值或标准差里混进了起点之后的值：这就是泄漏。",
            "The mean or the deviation contains values from after the origin: that is a leak.",
            _scaled(lambda values, origin: values),
            lambda v, n: (v - v.mean()) / v[:n].std(),
            lambda v, n: (v - v[:n].mean()) / v.std(),
        ),
        "one-too-many": wrong(
            "多算了一个：下标 origin 的值是第一个要预测的。",
            "One too many: the value at index `origin` is the first to forecast.",
            _scaled(lambda values, origin: values[: origin + 1]),
        ),
        "each-by-its-own": wrong(
            "未来用了它自己的均值：两段要用同一个尺度，而且来自过去。",
            "The future was scaled by its own mean: both parts need one scale, the past's.",
            _each_by_its_own,
        ),
        "not-divided": wrong(
            "还要除以标准差。",
            "Divide by the standard deviation, too.",
            _scaled(lambda values, origin: values[:origin], divide=False),
        ),
        "one-too-few": wrong(
            "少算了一个：过去是下标 0 到 origin − 1 的值，连后者在内。",
            "One too few: the past is the values at 0 to origin − 1, both included.",
            _scaled(lambda values, origin: values[: origin - 1]),
        ),
        "not-centered": wrong(
            "还要先减去均值。", "Subtract the mean first.", _changed_scale(Tensor.std, center=False)
        ),
        "not-corrected": wrong(
            "标准差除以了 n：`std()` 除以 n − 1，NumPy 的默认值则是 n。",
            "The deviation divides by n: `std()` divides by n − 1, while NumPy's default is n.",
            _changed_scale(lambda known: known.std(correction=0)),
        ),
        "variance": wrong(
            "除以的是方差：还要开根号。",
            "This divides by the variance: take its root.",
            _changed_scale(Tensor.var),
        ),
        "epsilon": wrong(
            "分母里加了一个小数：值本身就小的时候，标准差不再是 1。",
            "Something small is added to the denominator: where the values are small themselves,"
            " the deviation is no longer 1.",
            _changed_scale(lambda known: known.std() + 1e-5),
            _changed_scale(lambda known: known.std() + 1e-6),
        ),
        "future-dropped": wrong(
            "只返回了过去：整个序列都要缩放。",
            "Only the past is returned: scale the whole series.",
            lambda v, n: _RIGHT(v, n)[:n],
        ),
        "future-unscaled": wrong(
            "未来没有缩放：两段用同一个尺度，过去的。",
            "The future is not scaled: both parts take one scale, the past's.",
            lambda v, n: torch.cat((_RIGHT(v, n)[:n], v[n:])),
        ),
        "future-alone": wrong(
            "均值和标准差取自未来：应当取自过去，`values[:origin]`。",
            "Mean and deviation are those of the future: take the past's, `values[:origin]`.",
            _scaled(lambda values, origin: values[origin:] if origin < len(values) else values),
        ),
        "range": wrong(
            "缩放到了 0 与 1 之间：这里要的是均值 0、标准差 1。",
            "That is a scale from 0 to 1: asked for are mean 0 and standard deviation 1.",
            _by_range,
        ),
    },
)


# --- patches -----------------------------------------------------------------------------------


def _squares(image: Tensor, size: int) -> Tensor:
    """Return (row of patches, row in the patch, column of patches, column in the patch)."""
    height, width = image.shape
    return image.reshape(height // size, size, width // size, size)


def _scattered(image: Tensor, size: int) -> Tensor:
    height, width = image.shape
    squares = image.reshape(size, height // size, size, width // size)
    return squares.permute(1, 3, 0, 2).reshape(-1, size * size)


def _sizes_exchanged(image: Tensor, size: int) -> Tensor:
    height, width = image.shape
    apart = image.reshape(width // size, size, height // size, size)
    return apart.transpose(1, 2).reshape(-1, size * size)


PATCHES = exercise(
    "patches",
    "写 `patches(image, size)`：把图像（高，宽）切成边长 size 的小块，每块排成一行；块与块、"
    "块里的像素，都按阅读的顺序。",
    "Write `patches(image, size)`: cut an image (height, width) into squares of size by size"
    " pixels, one row for each; squares, and the pixels in them, in reading order.",
    solution=lambda image, size: patches(image, size),
    probes=lambda: [
        probe((torch.arange(16.0).view(4, 4), 2)),
        probe((torch.randn(4, 6), 2), "图像的宽大于高", "the image is wider than high"),
        probe((torch.randn(9, 3), 3), "只有一列小块", "there is one column of patches"),
        probe((torch.randn(6, 9), 3), "小块的边长是 3", "a patch is 3 pixels wide"),
        probe((torch.randn(2, 3), 1), "小块只有一个像素", "a patch is one pixel"),
        probe((torch.randn(3, 3), 3), "整张图是一块", "the whole image is one patch"),
    ],
    mistakes={
        "strips": wrong(
            "每一行是横着的一条，不是方块：`reshape` 不换次序，合并之前先交换两个轴。",
            "Each row is a stretch of one line, not a square: `reshape` keeps the order, so swap"
            " two axes before you merge them.",
            lambda x, size: x.reshape(-1, size * size),
        ),
        "column-by-column": wrong(
            "小块是一列一列数的：先从左到右，再从上到下。",
            "The squares are counted column by column: go from left to right first, then down.",
            lambda x, size: _squares(x, size).permute(2, 0, 1, 3).reshape(-1, size * size),
        ),
        "turned": wrong(
            "每块里的像素转置了：块内也先从左到右，再从上到下。",
            "The pixels of each square are transposed: inside, too, go from left to right first,"
            " then down.",
            lambda x, size: _squares(x, size).permute(0, 2, 3, 1).reshape(-1, size * size),
        ),
        "transposed": wrong(
            "行与列全交换了：切的是转置过的图像。",
            "Rows and columns are swapped throughout: this cuts the transposed image.",
            lambda x, size: _squares(x, size).permute(2, 0, 3, 1).reshape(-1, size * size),
        ),
        "scattered": wrong(
            "一块里的像素在图像中并不相邻：拆轴时块的编号在前，块内的编号在后。",
            "The pixels of a square are no neighbors in the image: in splitting an axis, the number"
            " of the square comes first, the place within it second.",
            _scattered,
        ),
        "pixels-first": wrong(
            "轴的次序反了：每一行是一块，每一列是块内的一个像素。",
            "The axes are the wrong way round: a row is a square, a column a pixel of it.",
            lambda x, size: patches(x, size).mT,
        ),
        "left-apart": wrong(
            "方块已经切好，还差最后一步：结果只有两个轴（块，像素）。",
            "The squares are right; one step is missing: the result has two axes, (patch, pixel).",
            lambda x, size: _squares(x, size).transpose(1, 2),
        ),
        "left-square": wrong(
            "每块还是方的：块内的两个轴要合成一个（块，像素）。",
            "Each patch is still a square: merge its two axes into one, (patch, pixel).",
            lambda x, size: patches(x, size).reshape(-1, size, size),
        ),
        "overlapping": wrong(
            "小块重叠了：每次移动的是 size 个像素，不是 1 个。",
            "The patches overlap: move on by size pixels, not by one.",
            lambda x, size: x.unfold(0, size, 1).unfold(1, size, 1).reshape(-1, size * size),
        ),
        "height-for-width": wrong(
            "高与宽弄反了：`image.shape` 先是高。",
            "Height and width are mixed up: the height comes first in `image.shape`.",
            _sizes_exchanged,
        ),
    },
)


# --- hide-patches ------------------------------------------------------------------------------


def _visible() -> Iterator[Probe]:
    yield probe((torch.tensor([[True, False, True, True]]),))
    yield probe((torch.tensor([[False, True, True], [True, True, False]]),))
    nothing = torch.tensor([[True, True, True], [False, False, False]])
    yield probe((nothing,), "有一张图的小块全被藏起", "every patch of an image is hidden")
    one = torch.tensor([[True], [False]])
    yield probe((one,), "每张图只有一块", "an image is one patch")
    square = torch.tensor([[True, False], [False, True], [True, True]])
    yield probe((square,), "图像数等于词元数", "as many images as tokens")


def _padded(visible: Tensor, *, before: bool, value: bool) -> Tensor:
    extra = torch.full((len(visible), 1), value)
    return torch.cat([extra, visible] if before else [visible, extra], dim=1)


def _first_lost(visible: Tensor) -> Tensor:
    mask = visible.clone()
    mask[:, 0] = True
    return mask[:, None, :]


HIDE_PATCHES = exercise(
    "hide-patches",
    "写 `hide(visible)`：`visible`（图像，块）中 True 表示这一块看得见；返回掩码（图像，1，"
    "词元），词元 0 是类别词元，总是看得见。",
    "Write `hide(visible)`: in `visible` (image, patch), True means that the patch may be seen;"
    " return the mask (image, 1, token), where token 0 is the class token and always visible.",
    solution=visible_tokens,
    probes=_visible,
    mistakes={
        "class-token-last": wrong(
            "类别词元排在最前面，你把它补在了最后：于是每一块都错开一位。",
            "The class token comes first, and you append it last: every patch is off by one.",
            lambda seen: _padded(seen, before=False, value=True)[:, None, :],
        ),
        "class-token-hidden": wrong(
            "类别词元被藏了起来；小块全被藏起的那张图，就什么都看不见了。",
            "The class token is hidden; in an image whose patches are all hidden, there is nothing"
            " left to see.",
            lambda seen: _padded(seen, before=True, value=False)[:, None, :],
            lambda seen: torch.cat([seen.any(dim=1, keepdim=True), seen], dim=1)[:, None, :],
        ),
        "class-token-forgotten": wrong(
            "序列比小块多一个词元：忘了类别词元。",
            "The sequence has one token more than there are patches: the class token.",
            lambda seen: seen[:, None, :],
        ),
        "inverted": wrong(
            "掩码反了：`visible` 和掩码都以 True 表示看得见。",
            "The mask is inverted: in `visible` and in the mask alike, True means that it may be"
            " seen.",
            lambda seen: ~visible_tokens(seen),
            lambda seen: _padded(~seen, before=True, value=True)[:, None, :],
        ),
        "queries-hidden": wrong(
            "藏的是查询：最后一个轴才是键。谁都看不见被藏的小块，被藏的小块自己看什么却不要紧。",
            "This hides queries: keys are the last axis. Nobody may see a hidden patch; what the"
            " hidden patch itself looks at does not matter.",
            lambda seen: visible_tokens(seen).mT,
            lambda seen: visible_tokens(seen) & visible_tokens(seen).mT,
        ),
        "numbers": wrong(
            "0 和 1 会被当成偏置加到评分上：掩码是布尔张量。",
            "Zeros and ones would be added to the scores as a bias: a mask is boolean.",
            lambda seen: visible_tokens(seen).float(),
            lambda seen: visible_tokens(seen).long(),
        ),
        "bias": wrong(
            "这是加到评分上的偏置：这里要的是布尔掩码，True 表示看得见。",
            "That is a bias to add to the scores; what is asked for is a boolean mask, True for"
            " visible.",
            lambda seen: torch.where(visible_tokens(seen), 0.0, -torch.inf),
        ),
        "first-patch-lost": wrong(
            "第一块被类别词元顶替了：词元比小块多一个，要补在前面。",
            "The class token has taken the first patch's place: there is one token more than there"
            " are patches, and it is put before them.",
            _first_lost,
        ),
        "for-every-query": wrong(
            "不必为每个查询复制一份：查询的轴长 1，会自动广播。",
            "No copy for each query is needed: their axis has size 1 and is broadcast.",
            lambda seen: visible_tokens(seen).expand(-1, seen.shape[1] + 1, -1),
        ),
        "one-for-all": wrong(
            "所有图像都用了第一张的：每张有自己的掩码。",
            "All images got the first one's mask: each has its own.",
            lambda seen: visible_tokens(seen)[:1].expand(len(seen), -1, -1),
        ),
    },
)

EXERCISES = (MASE, SCALED_BY_THE_PAST, PATCHES, HIDE_PATCHES)
