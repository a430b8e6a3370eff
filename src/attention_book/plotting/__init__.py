"""Plotting: heat maps, curves, bars. They take data and return Axes."""

from attention_book.foundations.environment import from_extra

# Asked once, at the door: behind it every module imports Matplotlib and NumPy as it likes.
with from_extra("plot", "matplotlib"):
    import matplotlib  # noqa: F401

from attention_book.plotting.curves import bars, curves, regression
from attention_book.plotting.heatmaps import heatmap, heatmaps

__all__ = ["bars", "curves", "heatmap", "heatmaps", "regression"]
