"""Trainings on real text that are folders: their settings, corpora, checkpoints and scores."""

from attention_book.runs.settings import (
    DataSettings,
    ModelSettings,
    RunSettings,
    TextSettings,
    TrainingSettings,
)

__all__ = [
    "DataSettings",
    "ModelSettings",
    "RunSettings",
    "TextSettings",
    "TrainingSettings",
]
