"""Heat maps: matrices of weights, scores or masks as colored cells."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from attention_book.foundations.labels import right_to_left, token_labels, visible_label
from attention_book.plotting.ramp import WEIGHT_RAMP, weight_ramp
from attention_book.plotting.style import (
    DARK_TEXT,
    INK,
    LIGHT_TEXT,
    MAX_WIDTH,
    ON_HIGH_WEIGHT,
    ON_LOW_WEIGHT,
    TICK_SIZE,
    Array,
    Numbers,
    as_array,
    book_style,
    in_cell,
)

#: Inches: a panel, a cell that must hold a token or a number, and beside all panels the room for
#: the color bar and for the labels below.
PANEL = 2.2
CELL = 0.45
BAR = 0.8
LABELS = 0.6
#: Begins the SVG ids of panels of weights: by it the site finds what has other colors in the dark.
WEIGHTS = "weights"
#: Where black and white stand out equally, against a ground of this luminance (WCAG).
EQUAL = 0.179
#: In a panel up to this width, in inches, numbers below five ticks would touch.
NARROW = 1.0


def heatmaps(
    matrices: Numbers,
    *,
    xlabel: str | None = None,
    ylabel: str | None = None,
    titles: Sequence[str] | None = None,
    size: tuple[float, float] | None = None,
    cmap: str | Colormap = WEIGHT_RAMP,
    vmin: float | None = None,
    vmax: float | None = None,
) -> NDArray[Any]:
    """Draw a grid of matrices in one color scale, with one color bar.

    Args:
        matrices: numbers with axes (row, column, height, width): a grid of
            rows x columns panels, each a matrix of height x width.
        xlabel: what the columns of a matrix are, for example keys.
        ylabel: what the rows of a matrix are, for example queries.
        titles: one for each column of panels, or one for each panel.
        size: width and height of one panel in inches; all panels shrink
            together until they fit the width of a page.
        cmap: name of a Matplotlib color map; by default the book's own for weights.
        vmin: the value at the light end of the scale; by default 0, or the
            smallest value where that is negative.
        vmax: the value at the dark end; by default the largest.

    Returns:
        The axes, an array of shape (rows, columns).

    Raises:
        ValueError: if ``matrices`` has not four axes, the number of titles
            fits neither the columns nor the panels, or ``vmax`` is below ``vmin``.

    >>> import torch
    >>> axes = heatmaps(torch.rand(1, 2, 5, 7), titles=["A", "B"])
    >>> axes.shape
    (1, 2)
    """
    grid = as_array(matrices, "matrices", axes="row column height width")
    rows, columns = grid.shape[:2]
    names = _panel_titles(titles, rows, columns)
    width, height = _fitted(size or (PANEL, PANEL), columns)
    norm = _scale(grid, vmin, vmax)
    with book_style(*names.flat, xlabel, ylabel):
        figure, axes = plt.subplots(
            rows,
            columns,
            figsize=(columns * width + BAR, rows * height + LABELS),
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        for place, panel in np.ndenumerate(axes):
            image = _draw(panel, grid[place], norm, cmap, ticks=5 if width > NARROW else 3)
            panel.set(title=names[place], xlabel=xlabel, ylabel=ylabel)
            panel.label_outer()
        bar = figure.colorbar(image, ax=axes, shrink=0.6)
    if image.get_cmap().name == WEIGHT_RAMP:
        for number, panel in enumerate([*axes.flat, bar.ax]):
            panel.set_gid(f"{WEIGHTS}-{number}")
    return axes


def heatmap(
    matrix: Numbers,
    *,
    queries: Sequence[str] | NDArray[Any] | None = None,
    keys: Sequence[str] | NDArray[Any] | None = None,
    title: str | None = None,
    annotate: bool = False,
    xlabel: str | None = None,
    ylabel: str | None = None,
    size: tuple[float, float] | None = None,
    cmap: str | Colormap = WEIGHT_RAMP,
    vmin: float | None = None,
    vmax: float | None = None,
) -> Axes:
    """Draw one matrix of weights: a row for each query, a column for each key.

    Args:
        matrix: numbers with axes (query, key).
        queries: one token for each row, in any script, as a tokenizer or as people write it
            (:func:`~attention_book.foundations.token_labels`).
        keys: one token for each column; if they are read from right to left, so is the map.
        title: the heading above the matrix.
        annotate: write each value into its cell.
        xlabel: what the columns are.
        ylabel: what the rows are.
        size: width and height of the panel in inches; by default wide enough
            for the tokens, but no wider than a page.
        cmap: name of a Matplotlib color map; by default the book's own for weights.
        vmin: the value at the light end of the scale; by default 0, or the
            smallest value where that is negative.
        vmax: the value at the dark end; by default the largest.

    Returns:
        The axes.

    Raises:
        ValueError: if ``matrix`` has not two axes, the number of tokens is not its
            number of rows or columns, or ``vmax`` is below ``vmin``.

    >>> axes = heatmap([[0.9, 0.1], [0.2, 0.8]], queries=["I", "sleep"], keys=["我", "睡"])
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['我', '睡']
    """
    cells = as_array(matrix, "matrix", axes="query key")
    rows = _labels("queries", queries, len(cells))
    columns = _labels("keys", keys, cells.shape[1])
    if size is None and (annotate or rows is not None or columns is not None):
        size = _room_for_cells(*cells.shape)
    axes: Axes = heatmaps(
        cells[None, None],
        xlabel=xlabel,
        ylabel=ylabel,
        titles=[title or ""],
        size=size,
        cmap=cmap,
        vmin=vmin,
        vmax=vmax,
    )[0, 0]
    with book_style(*(rows or ()), *(columns or ())):
        fonts = mpl.rcParams["font.family"]
        # A token may well be a dollar sign: it is text, never a formula.
        if rows is not None:
            axes.tick_params("y", labelfontfamily=fonts)
            axes.set_yticks(range(len(rows)), rows, parse_math=False)
        if columns is not None:
            axes.tick_params("x", labelfontfamily=fonts)
            axes.set_xticks(range(len(columns)), columns, parse_math=False)
            _slant_long_tokens(axes)
            if right_to_left(columns):
                axes.invert_xaxis()
                axes.yaxis.tick_right()
                axes.yaxis.set_label_position("right")
        if annotate:
            _write_values(axes, cells)
    return axes


def _labels(name: str, tokens: Sequence[str] | NDArray[Any] | None, count: int) -> list[str] | None:
    """What is seen of tokens: one for each row or column."""
    if tokens is None:
        return None
    if len(tokens) != count:
        raise ValueError(f"{name} must be {count} tokens to label matrix, got {len(tokens)}")
    texts = [each if isinstance(each, str | bytes) else str(each) for each in tokens]
    return [visible_label(label) for label in token_labels(texts)]


def _panel_titles(titles: Sequence[str] | None, rows: int, columns: int) -> NDArray[Any]:
    """The title of each panel; titles for the columns go to the first row."""
    names = np.full((rows, columns), "", dtype=object)
    if titles is None:
        return names
    if len(titles) not in (columns, rows * columns):
        raise ValueError(
            f"titles must be {columns} (one for each column) or {rows * columns} (one for each "
            f"panel), got {len(titles)}"
        )
    names.flat[: len(titles)] = titles
    return names


def _fitted(size: tuple[float, float], columns: int) -> tuple[float, float]:
    """A panel of this shape, so small that all columns fit a page: text stays readable there."""
    width, height = size
    shrink = min(1.0, (MAX_WIDTH - BAR) / (columns * width))
    return shrink * width, shrink * height


def _scale(values: Array, vmin: float | None, vmax: float | None) -> Normalize:
    """One color scale for all values; infinite scores and NaN do not count."""
    finite = values[np.isfinite(values)]
    low = min(0.0, finite.min(initial=0.0)) if vmin is None else vmin
    high = finite.max(initial=low) if vmax is None else vmax
    if high < low:
        raise ValueError(f"vmax must be at least {low:g}, the light end of the scale, got {high:g}")
    # A matrix of zeros still needs a scale with two ends.
    return Normalize(low, high if high > low else low + 1.0)


def _draw(
    axes: Axes, matrix: Array, norm: Normalize, cmap: str | Colormap, *, ticks: int
) -> AxesImage:
    # Without interpolation the cells are stored as they are and stay sharp at any size.
    image = axes.imshow(matrix, norm=norm, cmap=cmap, interpolation="none")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=ticks, integer=True, min_n_ticks=1))
    for spine in axes.spines.values():
        spine.set_visible(True)
    axes.tick_params(labelfontfamily=mpl.rcParams["font.family"])
    return image


def _room_for_cells(height: int, width: int) -> tuple[float, float]:
    """The panel's size in inches: a cell wide enough for a token, an inch for the labels."""
    wide = min(max(PANEL, CELL * width + 1.0), MAX_WIDTH - BAR)
    return wide, max(PANEL, (wide - 1.0) / width * height + 1.0)


def _slant_long_tokens(axes: Axes) -> None:
    """Turn the tokens below the matrix where one of them is wider than its column.

    A slanted token in two languages takes twice the height that its reader sees, so what the
    columns are is then said above the matrix: below, a gap would come before it.
    """
    tokens = axes.get_xticklabels()
    # In dots, and after leaving room for the labels and the color bar.
    column = (axes.figure.bbox.width - (BAR + LABELS) * axes.figure.dpi) / len(tokens)
    if max(token.get_window_extent().width for token in tokens) > 1.1 * column:
        plt.setp(tokens, rotation=45, ha="right", rotation_mode="anchor")
        axes.xaxis.set_label_position("top")


def _write_values(axes: Axes, cells: Array) -> None:
    for (row, column), value in np.ndenumerate(cells):
        text = axes.text(column, row, in_cell(value), color=_ink(axes.images[0], value))
        text.set(ha="center", va="center", size=TICK_SIZE)
    _part_touching_numbers(axes)


def _ink(image: AxesImage, value: float) -> str:
    """The color that stands out on a cell; on a weight's it does so in dark mode as well."""
    *color, opacity = image.to_rgba(np.asarray(value))
    if opacity == 0:  # NaN has no color: the page shines through
        return INK
    is_bright = _luminance(color) > EQUAL
    if image.get_cmap().name != WEIGHT_RAMP:
        return DARK_TEXT if is_bright else LIGHT_TEXT
    *in_the_dark, _ = weight_ramp(dark=True)(image.norm(np.asarray(value)))
    if is_bright:
        return ON_LOW_WEIGHT
    return ON_HIGH_WEIGHT if _luminance(in_the_dark) > EQUAL else LIGHT_TEXT


def _luminance(color: Sequence[float]) -> float:
    """The relative luminance of an sRGB color, as WCAG defines it."""
    channels = np.asarray(color)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _part_touching_numbers(axes: Axes) -> None:
    """Give up square cells where they are too narrow for their numbers; then write smaller.

    The digits of a reader's font may be a sixth wider than those measured here.
    """
    room = _room_for_numbers(axes)
    if room < 1.4:
        axes.set_aspect("auto")
        room = _room_for_numbers(axes)
    if room < 1.3:
        plt.setp(axes.texts, size=TICK_SIZE * room / 1.3)


def _room_for_numbers(axes: Axes) -> float:
    """How often the widest number fits into the width of its cell."""
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    widest = max(text.get_window_extent().width for text in axes.texts)
    left, right = axes.transData.transform([(0, 0), (1, 0)])[:, 0]
    return float(abs(right - left) / widest)


__all__ = ["heatmap", "heatmaps"]
