"""Small made-up data with a known truth: a curve, and tasks of looking things up."""

from attention_book.datasets.curve import RegressionData, sine_data
from attention_book.datasets.look_back import LookBackBatch, look_back_task
from attention_book.datasets.lookup import LookupBatch, lookup_map, lookup_task

__all__ = [
    "LookBackBatch",
    "LookupBatch",
    "RegressionData",
    "look_back_task",
    "lookup_map",
    "lookup_task",
    "sine_data",
]
