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
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.documents import read_documents
from attention_book.runs.language.settings import (
    DecoderSettings,
    DocumentSettings,
    LanguageSettings,
    PieceSettings,
)
from attention_book.runs.language.yardsticks import Copying, KneserNey, copying, xz_bits_a_byte
from attention_book.runs.loading import (
    LoadedLanguageModel,
    LoadedRun,
    load_language_model,
    load_run,
)
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
    "Copying",
    "DataSettings",
    "DecoderSettings",
    "DocumentSettings",
    "Interrupted",
    "KneserNey",
    "LanguageSettings",
    "LengthScore",
    "LoadedLanguageModel",
    "LoadedRun",
    "MachineError",
    "ModelSettings",
    "Moses",
    "PieceCodec",
    "PieceSettings",
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
    "copying",
    "learn_codec",
    "load_language_model",
    "load_run",
    "part_of",
    "prefetched",
    "prepare_split",
    "read_documents",
    "read_lines",
    "read_log",
    "resume",
    "score",
    "start",
    "status",
    "xz_bits_a_byte",
]
