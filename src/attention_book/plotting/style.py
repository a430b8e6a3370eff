"""How the book's figures look: font, colors, line styles, sizes; and the numbers they accept.

Black ink is exactly ``INK``: on the site it takes the color of the page's text, so a figure is
readable in light and in dark mode. The other colors keep a contrast of at least 3:1 on both.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib import font_manager, ft2font
from numpy.typing import NDArray
from torch import Tensor

from attention_book.foundations.environment import in_book_build

# --- style -------------------------------------------------------------------------------------


#: The figures' text is set in the book's own subset; DejaVu Sans adds rare mathematical signs.
FONT_FAMILY = ("Noto Sans SC", "DejaVu Sans")
FONT_FILE = "NotoSansSC-Subset.ttf"

#: Exactly this black follows the page's text color, and exactly this white its background.
INK = "#000000"
PAPER = "#ffffff"
#: Text on a colored cell must stay as it is in dark mode, so it is not quite black or white.
DARK_TEXT = "#010101"
LIGHT_TEXT = "#fefefe"
#: On a weight that is pale in light mode and dark in dark mode, and on one that is the reverse.
ON_LOW_WEIGHT = "#020202"
ON_HIGH_WEIGHT = "#fdfdfd"

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


# --- fonts for the letters of a figure ---------------------------------------------------------


#: Has a sign for each script: a box that says what is missing. Matplotlib brings it from 3.11 on.
LAST_RESORT = "Last Resort High-Efficiency"
_STYLES = ("bold", "italic", "oblique", "light", "thin", "black", "medium", "condensed", "mono")
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")
_told: set[str] = set()


def families(own: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return the fonts in which a text is written: our own, and those that have the rest of it.

    What no font has is named in a warning, once. In the book's build the fonts of the machine do
    not count: a figure is the same wherever it is drawn.

    Args:
        own: The names of the fonts that come first.
        texts: What is written.
    """
    found, whole = list(own), "".join(texts)
    _tell_of_direction(whole)
    missing = {letter for letter in whole if _has_ink(letter)}
    missing = {letter for letter in missing if not any(_has(_path(name), letter) for name in found)}
    if not missing or in_book_build():
        return found
    private = {letter for letter in missing if unicodedata.category(letter) == "Co"}
    missing -= private
    for path in _of_the_system():
        if any(_has(path, letter) for letter in missing):
            missing = {letter for letter in missing if not _has(path, letter)}
            found.append(_known(path))
        if not missing:
            break
    _tell(missing)
    _tell_of_private(private)
    if (missing or private) and _is_known(LAST_RESORT):
        found.append(LAST_RESORT)
    return found


def _has_ink(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Cn")


def _path(name: str) -> str:
    return str(font_manager.findfont(name))


@cache
def _font(path: str) -> ft2font.FT2Font | None:
    try:
        font = ft2font.FT2Font(path)
    except (OSError, RuntimeError):  # damaged, or made of pictures
        return None
    return font if font.scalable else None


def _has(path: str, letter: str) -> bool:
    font = _font(path)
    return font is not None and font.get_char_index(ord(letter)) != 0


def _of_the_system() -> Iterator[str]:
    """Yield the files of fonts: upright ones without serifs first, each kind by its name."""
    known = [entry.fname for entry in font_manager.fontManager.ttflist]
    paths = {*known, *font_manager.findSystemFonts()}
    for path in sorted(paths, key=_rank):
        font = _font(path)
        if font is not None and font.family_name != LAST_RESORT:
            yield path


def _rank(path: str) -> tuple[int, bool, str]:
    name = Path(path).stem.lower()
    return sum(style in name for style in _STYLES), "serif" in name, name


def _is_known(name: str) -> bool:
    return any(entry.name == name for entry in font_manager.fontManager.ttflist)


def _known(path: str) -> str:
    """Return the name by which Matplotlib finds a font, which it may not have in its list."""
    font = _font(path)
    if font is None:
        raise ValueError(f"{path}: expected a font, got none")
    if not _is_known(font.family_name):
        font_manager.fontManager.addfont(path)
    return font.family_name


def _tell(missing: set[str]) -> None:
    new = sorted(missing - _told)
    if not new:
        return
    _told.update(new)
    named = [f"{letter} (U+{ord(letter):04X} {unicodedata.name(letter, '')})" for letter in new[:5]]
    more = f" and {len(new) - 5} more" if len(new) > 5 else ""
    wanted = sorted({_script(letter) for letter in new})
    warnings.warn(
        f"no font of this system has {', '.join(named)}{more}: a figure shows boxes for them;"
        f" install the font of the Noto family for {', '.join(wanted)}, and draw it again",
        stacklevel=4,
    )


def _tell_of_private(letters: set[str]) -> None:
    """Say once that a code for private use is another sign in every font."""
    new = sorted(letters - _told)
    if new:
        _told.update(new)
        warnings.warn(
            f"{', '.join(f'U+{ord(letter):04X}' for letter in new[:5])}: letters for private use, "
            "which each font gives signs of its own: a figure shows boxes for them",
            stacklevel=4,
        )


def _script(letter: str) -> str:
    script = unicodedata.name(letter, "").split(" ")[0]
    if unicodedata.category(letter) in ("So", "Sk"):
        return "emoji (Noto Emoji: Matplotlib draws no font of pictures)"
    return "CJK" if script in _CJK else script.capitalize()


def _tell_of_direction(text: str) -> None:
    """Say once that Hebrew and Arabic need a Matplotlib that can shape them."""
    turns = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
    if turns and not hasattr(ft2font, "__libraqm_version__") and "rtl" not in _told:
        _told.add("rtl")
        warnings.warn(
            "this Matplotlib writes Hebrew and Arabic from left to right, letter by letter;"
            ' newer ones do not: pip install "matplotlib>=3.11"',
            stacklevel=4,
        )


# --- the numbers that a plot accepts -----------------------------------------------------------


Numbers = Tensor | NDArray[Any] | Sequence[Any]
Array = NDArray[np.float64]


def as_array(values: Numbers, name: str, *, axes: str) -> Array:
    """Copy numbers into a NumPy array, from any device, precision or graph.

    Args:
        values: a tensor (also with gradients, in half precision or boolean),
            an array or a nested list.
        name: the argument's name, for the error message.
        axes: the names of the axes expected, such as ``"query key"``.

    Returns:
        The numbers in double precision.

    >>> as_array([[True, False]], "mask", axes="query key")
    array([[1., 0.]])
    """
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers with axes ({axes}): {error}") from None
    if array.ndim != len(axes.split()):
        raise ValueError(f"{name} must have axes ({axes}), got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}")
    return array


def in_cell(value: float) -> str:
    """Return a number as it is written into a cell, with two decimals; zero has no sign.

    >>> in_cell(-0.004), in_cell(-0.006)
    ('0.00', '-0.01')
    """
    return f"{value:z.2f}"
