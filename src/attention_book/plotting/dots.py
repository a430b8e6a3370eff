"""Dots: every draw of several quantities and the mean of each, beside a line at zero."""

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_book.plotting.numbers import Numbers, as_array
from attention_book.plotting.style import INK, LINE_COLORS, book_style


def dots(
    labels: Sequence[str],
    values: Numbers,
    *,
    xlabel: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one row for each label: a dot for each draw, a stroke at their mean.

    A dashed line stands at zero, where a difference is none.

    Args:
        labels: the names of the rows, first on top, in any script.
        values: the numbers, (label, draw).
        xlabel: what the numbers are.
        ax: axes to draw into; by default a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: if there are not as many labels as rows.

    >>> axes = dots(["RoPE", "GQA"], [[-0.2, -0.1, -0.3], [0.01, -0.01, 0.0]], xlabel="difference")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['RoPE', 'GQA']
    """
    rows = as_array(values, "values", axes="label draw")
    if len(labels) != len(rows):
        raise ValueError(f"labels must name {len(rows)} rows, got {len(labels)}")
    with book_style(*labels, xlabel):
        axes = plt.subplots()[1] if ax is None else ax
        axes.tick_params(labelfontfamily=mpl.rcParams["font.family"])
        axes.axvline(0, color="0.5", linestyle="--", linewidth=1)
        for place, row in enumerate(rows):
            stroke = [row.mean()] * 2, [place - 0.3, place + 0.3]
            axes.plot(*stroke, color=INK, linestyle="-", linewidth=2)
            (points,) = axes.plot(row, [place] * len(row), "o", markersize=7, alpha=0.75)
            points.set(color=LINE_COLORS[0], markeredgecolor=INK, markeredgewidth=0.6)
        axes.set_yticks(range(len(rows)), labels, parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))  # a phone has room for few
        if xlabel is not None:
            axes.set_xlabel(xlabel)
    return axes


__all__ = ["dots"]
