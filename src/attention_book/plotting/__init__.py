"""Plotting: heat maps, curves, bars. They take data and return Axes."""

from attention_book.plotting.curves import bars, curves, regression
from attention_book.plotting.heatmaps import heatmap, heatmaps

__all__ = ["bars", "curves", "heatmap", "heatmaps", "regression"]
