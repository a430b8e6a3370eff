"""How the book's figures look: font, colors, line styles, sizes.

Black ink is exactly ``INK``: on the site it takes the color of the page's text, so a figure is
readable in light and in dark mode. The other colors keep a contrast of at least 3:1 on both.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.resources import files
from itertools import cycle
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib import font_manager

from attention_book.plotting.letters import families

#: The figures' text is set in the book's own subset; DejaVu Sans adds rare mathematical signs.
FONT_FAMILY = ("Noto Sans SC", "DejaVu Sans")
FONT_FILE = "NotoSansSC-Subset.ttf"

#: Exactly this black follows the page's text color, and exactly this white its background.
INK = "#000000"
PAPER = "#ffffff"
#: Text on a colored cell must stay as it is in dark mode, so it is not quite black or white.
DARK_TEXT = "#010101"
LIGHT_TEXT = "#fefefe"

#: Lines differ in color and in their dashes, so that they can be told apart without color.
LINE_COLORS = ("#3478d4", "#c9521a", "#1b8a66", "#a35bc2", "#9a7209", "#70777f")
LINE_DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2.5)))

TICK_SIZE = 9
#: The widest figure, in inches: wider ones become unreadable when a telephone shrinks them.
MAX_WIDTH = 4.5
CURVE_SIZE = (4.5, 2.8)

#: Given to every saved figure: without it an SVG would carry the date.
SAVE_METADATA: Any = {"Date": None}

# Any, because Matplotlib types every single key.
STYLE: Any = {
    "font.family": list(FONT_FAMILY),
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "axes.labelpad": 7,  # the reader's font may be wider than the one that measured the ticks
    "xtick.labelsize": TICK_SIZE,
    "ytick.labelsize": TICK_SIZE,
    "legend.fontsize": TICK_SIZE,
    # A legend lies over the lines where there is no free place, on paper of its own.
    "legend.facecolor": PAPER,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.handlelength": 2.6,
    # Close to its corner, with close lines: it covers less of the curves.
    "legend.labelspacing": 0.3,
    "legend.borderpad": 0.2,
    "legend.borderaxespad": 0.2,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(color=LINE_COLORS) + cycler(linestyle=LINE_DASHES),
    "figure.figsize": CURVE_SIZE,
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "savefig.facecolor": "auto",
    "mathtext.fontset": "dejavusans",
    # Text stays text, and element ids come from a fixed salt: two runs write the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "attention_book",
}


def register_font() -> None:
    """Make the book's font known to Matplotlib, ahead of a system font of the same name.

    The search then ends here: it neither depends on the machine's fonts nor on
    Matplotlib's cache of them.
    """
    manager = font_manager.fontManager
    # str() because Matplotlib asks for the ending of the name.
    manager.addfont(str(files("attention_book.plotting") / "fonts" / FONT_FILE))
    manager.ttflist.insert(0, manager.ttflist.pop())


def book_style(*texts: str | None) -> AbstractContextManager[None]:
    """The book's style for the figures made within, leaving the session's own untouched.

    Args:
        texts: what is written in them: letters that the book's fonts lack are taken from those
            of the system.
    """
    fonts = families(FONT_FAMILY, filter(None, texts))
    return mpl.rc_context({**STYLE, "font.family": fonts})


def use_style(*, transparent: bool = False) -> None:
    """Set the book's style for the whole session.

    Args:
        transparent: let the page's background show through, as the site does.
    """
    mpl.rcParams.update(STYLE)
    mpl.rcParams["figure.facecolor"] = "none" if transparent else PAPER


def line_looks() -> Iterator[dict[str, Any]]:
    """Color and dashes of the first line, the second line, and so on.

    >>> next(line_looks())
    {'color': '#3478d4', 'linestyle': '-'}
    """
    for color, dashes in cycle(zip(LINE_COLORS, LINE_DASHES, strict=True)):
        yield {"color": color, "linestyle": dashes}


register_font()
