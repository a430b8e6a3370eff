"""Parallel text: from two columns of sentences to batches of numbers."""

from attention_book.text.batches import Batch, ParallelData, encode_source
from attention_book.text.bpe import SubwordTokenizer
from attention_book.text.corpora import load_corpus
from attention_book.text.pairs import (
    CorpusError,
    Problem,
    Reading,
    SentencePair,
    read_pairs,
)
from attention_book.text.splits import leaks, split_pairs
from attention_book.text.tokens import Language, detokenize, tokenize
from attention_book.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SPECIALS",
    "UNK",
    "Batch",
    "CorpusError",
    "Language",
    "ParallelData",
    "Problem",
    "Reading",
    "SentencePair",
    "SubwordTokenizer",
    "Vocabulary",
    "detokenize",
    "encode_source",
    "leaks",
    "load_corpus",
    "read_pairs",
    "split_pairs",
    "tokenize",
]
