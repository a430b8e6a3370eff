"""Corpora of any size: read line by line, kept as numbers on the disk, batched from there."""

from attention_book.runs.corpora.files import Skipped
from attention_book.runs.corpora.held_out import SPLITS, Split, part_of
from attention_book.runs.corpora.lines import read_lines
from attention_book.runs.corpora.plan import BatchPlan
from attention_book.runs.corpora.prefetch import prefetched
from attention_book.runs.corpora.prepared import PreparedCorpus
from attention_book.runs.corpora.preparing import learn_codec, prepare_split

__all__ = [
    "SPLITS",
    "BatchPlan",
    "PreparedCorpus",
    "Skipped",
    "Split",
    "learn_codec",
    "part_of",
    "prefetched",
    "prepare_split",
    "read_lines",
]
