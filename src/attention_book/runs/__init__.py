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
from attention_book.runs.scoring import (
    Comparison,
    LengthScore,
    Scores,
    SystemScore,
    compare,
    score,
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
    "Comparison",
    "DataSettings",
    "Interrupted",
    "LengthScore",
    "LoadedRun",
    "MachineError",
    "ModelSettings",
    "PreparedCorpus",
    "RunError",
    "RunFolder",
    "RunSettings",
    "Scores",
    "StepReport",
    "SystemScore",
    "TextCodec",
    "TextSettings",
    "TrainingSettings",
    "compare",
    "learn_codec",
    "load_run",
    "prefetched",
    "prepare_split",
    "read_lines",
    "read_log",
    "resume",
    "score",
    "start",
    "status",
]
