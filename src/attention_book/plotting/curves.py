"""Curves, regressions and bars: numbers as lines, points, heights, as figures and files."""

import io
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from torch import Tensor

from attention_book.foundations.bilingual import L
from attention_book.plotting.style import (
    CURVE_SIZE,
    INK,
    LINE_COLORS,
    PAPER,
    SAVE_METADATA,
    TICK_SIZE,
    Array,
    Numbers,
    as_array,
    book_style,
    line_looks,
)

# --- curves ------------------------------------------------------------------------------------


#: Up to this many points a curve shows each of them.
FEW_POINTS = 12
#: On a logarithmic axis between these the numbers are written out.
PLAIN = (0.5e-3, 2e5)


@runtime_checkable
class Regression(Protocol):
    """What `regression` reads: training points, and the truth on a grid of test points."""

    @property
    def x_train(self) -> Tensor: ...  # noqa: D102
    @property
    def y_train(self) -> Tensor: ...  # noqa: D102
    @property
    def x_test(self) -> Tensor: ...  # noqa: D102
    @property
    def y_true(self) -> Tensor: ...  # noqa: D102


def curves(
    x: Numbers,
    lines: Mapping[str, Numbers],
    *,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    logx: bool = False,
    logy: bool = False,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    legend: str = "best",
) -> Axes:
    """Draw one or more curves over the same x, told apart by color and by dashes.

    Args:
        x: the numbers on the horizontal axis.
        lines: label to numbers; an empty label keeps a curve out of the legend.
        xlabel: what x is.
        ylabel: what the curves show.
        title: the heading above.
        ax: axes to draw into; by default a new figure.
        logx: make the horizontal axis logarithmic.
        logy: make the vertical axis logarithmic.
        xlim: the ends of the horizontal axis.
        ylim: the ends of the vertical axis.
        legend: where the legend stands, in Matplotlib's words ("upper right"), or "above" the
            axes, where the curves leave no corner free.

    Returns:
        The axes.

    >>> axes = curves([1, 2, 3], {"loss": [0.9, 0.5, 0.4]}, xlabel="step")
    >>> len(axes.lines)
    1
    """
    across = as_array(x, "x", axes="point")
    if not lines:
        raise ValueError("lines must hold at least one curve, got none")
    heights = _heights("lines", lines, over="x", count=len(across))
    with book_style(*heights, xlabel, ylabel, title):
        axes = _axes(ax)
        marker = "o" if len(across) <= FEW_POINTS else ""
        for (label, y), look in zip(heights.items(), line_looks(), strict=False):
            axes.plot(across, y, label=label, marker=marker, markersize=4, **look)
        if logx:
            axes.set_xscale("log")
        elif (across == across.round()).all():  # there is no epoch 1.5
            axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        if logy:
            axes.set_yscale("log")
        axes.set(xlim=xlim, ylim=ylim)
        for axis, is_log in ((axes.xaxis, logx), (axes.yaxis, logy)):
            if is_log:
                _write_plainly(axis)
        _name(axes, xlabel, ylabel, title)
        if any(heights):
            _place_legend(axes, legend)
    return axes


def regression(
    data: Regression,
    predictions: Tensor | Mapping[str, Tensor],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw training points, the true curve, and what one or more models predict.

    Args:
        data: has ``x_train``, ``y_train``, ``x_test`` and ``y_true``.
        predictions: the values at ``x_test``, or label to such values.
        title: the heading above.
        ax: axes to draw into; by default a new figure.

    Returns:
        The axes; x runs from 0 to 5, y from -1 to 5.

    >>> from attention_book.attention import average_pooling
    >>> from attention_book.course.datasets import sine_data
    >>> data = sine_data()
    >>> axes = regression(data, average_pooling(data.x_test, data.x_train, data.y_train))
    >>> len(axes.lines)
    3
    """
    named = (
        predictions if isinstance(predictions, Mapping) else {L("预测", "prediction"): predictions}
    )
    grid = as_array(data.x_test, "x_test", axes="point")
    heights = _heights("predictions", named, over="x_test", count=len(grid))
    with book_style(*heights, title):
        axes = _axes(ax)
        looks = line_looks()
        points = next(looks)["color"]
        x_train = as_array(data.x_train, "x_train", axes="point")
        y_train = as_array(data.y_train, "y_train", axes="point")
        # Opaque, or they would fade into a dark page; a rim of paper keeps neighbors apart.
        axes.plot(
            x_train,
            y_train,
            "o",
            color=points,
            markeredgecolor=PAPER,
            markeredgewidth=0.7,
            label=L("训练样本", "training points"),
        )
        truth = as_array(data.y_true, "y_true", axes="point")
        axes.plot(grid, truth, color=INK, linestyle="-", label=L("真实函数", "truth"))
        for (label, y), look in zip(heights.items(), looks, strict=False):
            axes.plot(grid, y, label=label, **look)
        axes.set(xlim=(0, 5), ylim=(-1, 5))
        _name(axes, "x", "y", title)
        axes.legend(loc="best")
    return axes


def bars(
    labels: Sequence[str],
    values: Numbers,
    *,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    horizontal: bool = False,
    annotate: bool = False,
) -> Axes:
    """Draw one bar for each label.

    Args:
        labels: the names of the bars, in any script.
        values: the length of each bar.
        xlabel: what the horizontal axis shows.
        ylabel: what the vertical axis shows.
        title: the heading above.
        ax: axes to draw into; by default a new figure.
        horizontal: lay the bars down, first label on top; better for long labels.
        annotate: write each value at the end of its bar.

    Returns:
        The axes.

    >>> axes = bars(["dot", "additive"], [0.5, 0.25], ylabel="error")
    >>> [float(bar.get_height()) for bar in axes.patches]
    [0.5, 0.25]
    """
    lengths = as_array(values, "values", axes="bar")
    if len(labels) != len(lengths):
        raise ValueError(f"labels must name {len(lengths)} values, got {len(labels)}")
    places = range(len(lengths))
    with book_style(*labels, xlabel, ylabel, title):
        axes = _axes(ax)
        if horizontal:
            drawn = axes.barh(places, lengths, color=LINE_COLORS[0])
            axes.set_yticks(places, labels, parse_math=False)
            axes.invert_yaxis()
        else:
            drawn = axes.bar(places, lengths, color=LINE_COLORS[0], width=0.6)
            axes.set_xticks(places, labels, parse_math=False)
        if annotate:
            axes.bar_label(drawn, fmt=f"%.{_decimals(lengths)}f", padding=3, size=TICK_SIZE)
            axes.margins(x=0.12) if horizontal else axes.margins(y=0.12)
        _name(axes, xlabel, ylabel, title)
    return axes


def _decimals(values: Array) -> int:
    """How many decimals all values are written with: three digits for the largest."""
    largest = np.abs(values).max()
    if (values == values.round()).all():
        return 0
    return int(np.clip(2 - np.floor(np.log10(largest)), 0, 6))


def _heights(name: str, lines: Mapping[str, Numbers], *, over: str, count: int) -> dict[str, Array]:
    """The numbers of each line, as many as there are points to draw them over."""
    heights = {label: as_array(y, f"{name}[{label!r}]", axes="point") for label, y in lines.items()}
    for label, y in heights.items():
        if len(y) != count:
            raise ValueError(
                f"{name}[{label!r}] must have {count} points like {over}, got {len(y)}"
            )
    return heights


def _axes(given: Axes | None) -> Axes:
    if given is None:
        _, given = plt.subplots()
    given.tick_params(labelfontfamily=mpl.rcParams["font.family"])
    return given


def _write_plainly(axis: Axis) -> None:
    """Write 0.1 and 100 where no number is long: a phone cannot show a power's small exponent."""
    low, high = axis.get_view_interval()
    if not PLAIN[0] < low < high < PLAIN[1]:
        return
    plain = FuncFormatter(lambda value, place: f"{value:g}")
    axis.set_major_formatter(plain)
    few = high < 100 * low  # powers of ten alone: one or two
    axis.set_minor_locator(LogLocator(subs=(2, 5) if few else "all"))
    axis.set_minor_formatter(plain if few else NullFormatter())


def _place_legend(axes: Axes, place: str) -> None:
    if place == "above":  # one line below another: side by side, two languages would not fit
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1))
    else:
        axes.legend(loc=place)  # type: ignore[call-overload]


def _name(axes: Axes, xlabel: str | None, ylabel: str | None, title: str | None) -> None:
    """Write the names that were given; axes passed in by the caller keep their own."""
    if xlabel is not None:
        axes.set_xlabel(xlabel)
    if ylabel is not None:
        axes.set_ylabel(ylabel)
    if title is not None:
        axes.set_title(title)


# --- curves as the content of a file -----------------------------------------------------------


def svg_of_curves(
    lines: Mapping[str, Sequence[tuple[int | float, int | float]]], *, xlabel: str, ylabel: str
) -> bytes:
    """Return an SVG file of curves, each over x of its own.

    The same curves always give the same bytes.

    Args:
        lines: Label to points (x, y).
        xlabel: What x is.
        ylabel: What the curves show.

    >>> drawn = svg_of_curves({"loss": [(1, 2.5), (2, 2.0)]}, xlabel="step", ylabel="nats")
    >>> drawn[:5]
    b'<?xml'
    """
    with book_style(*lines, xlabel, ylabel):
        figure = Figure(figsize=CURVE_SIZE, facecolor=PAPER)
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        axes.tick_params(labelfontfamily=mpl.rcParams["font.family"])
        for (label, points), look in zip(lines.items(), line_looks(), strict=False):
            marker = "o" if len(points) <= FEW_POINTS else ""
            x, y = [list(column) for column in zip(*points, strict=True)] or ([], [])
            axes.plot(x, y, label=label, marker=marker, markersize=4, **look)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.legend(loc="best")
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata=SAVE_METADATA)
    return file.getvalue()
