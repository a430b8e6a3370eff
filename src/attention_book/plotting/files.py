"""Curves as the content of a file, drawn without any window."""

import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from attention_book.plotting.curves import FEW_POINTS
from attention_book.plotting.style import (
    CURVE_SIZE,
    PAPER,
    SAVE_METADATA,
    book_style,
    line_looks,
)


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


__all__ = ()  # for the package itself
