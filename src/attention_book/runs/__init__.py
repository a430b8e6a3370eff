"""Trainings on real text that are folders: their settings, corpora, checkpoints and scores."""

from attention_book.runs.batches import (
    BatchPlan,
    PreparedCorpus,
    learn_codec,
    prefetched,
    prepare_split,
)
from attention_book.runs.codec import Moses, TextCodec
from attention_book.runs.corpus import SPLITS, Skipped, Split, part_of, read_lines
from attention_book.runs.ddp import Ranks
from attention_book.runs.folder import MachineError, RunError, RunFolder
from attention_book.runs.loading import LoadedRun, load_run
from attention_book.runs.log import Interrupted, StepReport, read_log
from attention_book.runs.scoring import Comparison, LengthScore, Scores, SystemScore, compare, score
from attention_book.runs.settings import (
    CORPORA,
    TEXT_RECIPES,
    DataSettings,
    ModelSettings,
    RunSettings,
    TextSettings,
    TrainingSettings,
)
from attention_book.runs.training import resume, start, status

__all__ = [
    "CORPORA",
    "SPLITS",
    "TEXT_RECIPES",
    "BatchPlan",
    "Comparison",
    "DataSettings",
    "Interrupted",
    "LengthScore",
    "LoadedRun",
    "MachineError",
    "ModelSettings",
    "Moses",
    "PreparedCorpus",
    "Ranks",
    "RunError",
    "RunFolder",
    "RunSettings",
    "Scores",
    "Skipped",
    "Split",
    "StepReport",
    "SystemScore",
    "TextCodec",
    "TextSettings",
    "TrainingSettings",
    "compare",
    "learn_codec",
    "load_run",
    "part_of",
    "prefetched",
    "prepare_split",
    "read_lines",
    "read_log",
    "resume",
    "score",
    "start",
    "status",
]
