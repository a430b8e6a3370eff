"""Data sets: synthetic tasks, images, and time series."""

from attention_book.course.datasets.backcopy import BackcopyChain
from attention_book.course.datasets.curve import RegressionData, sine_data
from attention_book.course.datasets.digits import (
    Digits,
    DigitSplits,
    digit_images,
    shifted,
)
from attention_book.course.datasets.gap_copy import copy_once, copy_with_gaps
from attention_book.course.datasets.look_back import LookBackBatch, look_back_task
from attention_book.course.datasets.lookup import LookupBatch, lookup_task
from attention_book.course.datasets.recall import RecallBatch, recall_task
from attention_book.course.datasets.repeated import (
    RepeatedBatch,
    embedded_repeat,
    periodic_words,
)
from attention_book.course.datasets.series import TimeSeries, load_series

__all__ = [
    "BackcopyChain",
    "DigitSplits",
    "Digits",
    "LookBackBatch",
    "LookupBatch",
    "RecallBatch",
    "RegressionData",
    "RepeatedBatch",
    "TimeSeries",
    "copy_once",
    "copy_with_gaps",
    "digit_images",
    "embedded_repeat",
    "load_series",
    "look_back_task",
    "lookup_task",
    "periodic_words",
    "recall_task",
    "shifted",
    "sine_data",
]
