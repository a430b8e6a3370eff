"""Metrics: how good a translation is, and whether attention found the word alignment."""

from attention_book.metrics.aligned_weights import (
    hard_alignment,
    offsets,
    uniform_weights,
    weight_on_gold,
)
from attention_book.metrics.alignment import (
    AlignmentScores,
    alignment_scores,
    corpus_alignment_scores,
    diagonal_alignment,
)
from attention_book.metrics.backtests import Backtest, backtest, naive_error, rolling_origins
from attention_book.metrics.bleu import (
    LengthBin,
    bleu_by_length,
    bleu_signature,
    corpus_bleu,
    corpus_chrf,
    sentence_bleu,
)
from attention_book.metrics.edits import edit_distance
from attention_book.metrics.ngrams import (
    NgramMatches,
    brevity_penalty,
    d2l_bleu,
    ngram_matches,
    textbook_bleu,
)

__all__ = [
    "AlignmentScores",
    "Backtest",
    "LengthBin",
    "NgramMatches",
    "alignment_scores",
    "backtest",
    "bleu_by_length",
    "bleu_signature",
    "brevity_penalty",
    "corpus_alignment_scores",
    "corpus_bleu",
    "corpus_chrf",
    "d2l_bleu",
    "diagonal_alignment",
    "edit_distance",
    "hard_alignment",
    "naive_error",
    "ngram_matches",
    "offsets",
    "rolling_origins",
    "sentence_bleu",
    "textbook_bleu",
    "uniform_weights",
    "weight_on_gold",
]
