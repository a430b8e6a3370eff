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
from attention_book.runs.engine import Interrupted, StepReport, resume, start, status
from attention_book.runs.folder import MachineError, RunError, RunFolder
from attention_book.runs.loading import LoadedRun, load_run
from attention_book.runs.log import read_log
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
    "Interrupted",
    "LoadedRun",
    "MachineError",
    "ModelSettings",
    "PreparedCorpus",
    "RunError",
    "RunFolder",
    "RunSettings",
    "StepReport",
    "TextCodec",
    "TextSettings",
    "TrainingSettings",
    "learn_codec",
    "load_run",
    "prefetched",
    "prepare_split",
    "read_lines",
    "read_log",
    "resume",
    "start",
    "status",
]
