"""Trainings on real text that are folders: their settings, corpora, checkpoints and scores."""

from attention_book.runs.codec import TextCodec
from attention_book.runs.corpora import (
    BatchPlan,
    PreparedCorpus,
    learn_codec,
    prefetched,
    prepare_split,
    read_lines,
)
from attention_book.runs.settings import (
    DataSettings,
    ModelSettings,
    RunSettings,
    TextSettings,
    TrainingSettings,
)

__all__ = [
    "BatchPlan",
    "DataSettings",
    "ModelSettings",
    "PreparedCorpus",
    "RunSettings",
    "TextCodec",
    "TextSettings",
    "TrainingSettings",
    "learn_codec",
    "prefetched",
    "prepare_split",
    "read_lines",
]
