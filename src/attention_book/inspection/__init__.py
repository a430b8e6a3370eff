"""Looking inside: heat maps, curves, bilingual labels, and the weights of a running model.

The tools for notebooks are in `attention_book.inspection.notebook`, the only module that needs
IPython.
"""

from attention_book.inspection.capture import capture_attention
from attention_book.inspection.curves import bars, curves, regression
from attention_book.inspection.heatmaps import heatmap, heatmaps
from attention_book.inspection.labels import L, set_language

__all__ = [
    "L",
    "bars",
    "capture_attention",
    "curves",
    "heatmap",
    "heatmaps",
    "regression",
    "set_language",
]
