"""The one color of an attention weight: from the page's ground over magenta to the darkest.

Live figures take the same three colors from ``live/modules/live.css``, the book's drawings from
``diagrams.css``; Matplotlib knows the ramp by the name ``attention_weight``.
"""

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap, to_hex

#: What Matplotlib calls the ramp.
WEIGHT_RAMP = "attention_weight"

#: Weight 0, one half, and 1, on white paper.
LIGHT = ("#fdf2f8", "#a3246f", "#4a0d33")
#: The same in dark mode: from the page's ground up.
DARK = ("#14181e", "#a3246f", "#ffb3dc")


def weight_ramp(*, dark: bool = False) -> LinearSegmentedColormap:
    """Return the colors of weights from 0 to 1 as a Matplotlib color map.

    >>> [int(part) for part in weight_ramp()(0.0, bytes=True)]
    [253, 242, 248, 255]
    """
    return LinearSegmentedColormap.from_list(WEIGHT_RAMP, DARK if dark else LIGHT)


def weight_color(weight: float, *, dark: bool = False) -> str:
    """Return one weight's color, as a style sheet writes it.

    >>> weight_color(0.0), weight_color(1.0, dark=True)
    ('#fdf2f8', '#ffb3dc')
    """
    return str(to_hex(weight_ramp(dark=dark)(weight)))


mpl.colormaps.register(weight_ramp(), force=True)  # again, where a notebook reloads the module

__all__ = ["DARK", "LIGHT", "WEIGHT_RAMP", "weight_color", "weight_ramp"]
