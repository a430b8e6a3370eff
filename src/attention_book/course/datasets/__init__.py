"""Data sets: synthetic tasks, images, and time series."""

from attention_book.course.datasets.curve import RegressionData, sine_data
from attention_book.course.datasets.digits import (
    Digits,
    DigitSplits,
    digit_images,
    shifted,
)
from attention_book.course.datasets.look_back import LookBackBatch, look_back_task
from attention_book.course.datasets.lookup import LookupBatch, lookup_task
from attention_book.course.datasets.series import TimeSeries, load_series

__all__ = [
    "DigitSplits",
    "Digits",
    "LookBackBatch",
    "LookupBatch",
    "RegressionData",
    "TimeSeries",
    "digit_images",
    "load_series",
    "look_back_task",
    "lookup_task",
    "shifted",
    "sine_data",
]
