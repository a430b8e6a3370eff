"""Metrics: how good a translation is, and whether attention found the word alignment."""

from attention_book.metrics.alignment import (
    AlignmentScores,
    alignment_scores,
    corpus_alignment_scores,
    diagonal_alignment,
    hard_alignment,
    offsets,
    uniform_weights,
    weight_on_gold,
)
from attention_book.metrics.backtests import Backtest, backtest, naive_error, rolling_origins
from attention_book.metrics.bleu import (
    LengthBin,
    NgramMatches,
    bleu_by_length,
    bleu_signature,
    brevity_penalty,
    corpus_bleu,
    corpus_chrf,
    d2l_bleu,
    edit_distance,
    ngram_matches,
    sentence_bleu,
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
