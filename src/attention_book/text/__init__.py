"""Parallel text: from two columns of sentences to batches of numbers."""

from attention_book.text.batches import Batch, ParallelData, encode_source
from attention_book.text.bpe import SubwordTokenizer
from attention_book.text.corpora import load_corpus
from attention_book.text.grammar.check import is_grammatical
from attention_book.text.grammar.corpus import GrammarCorpus, grammar_corpus
from attention_book.text.grammar.generate import generate
from attention_book.text.grammar.telling import Sentence
from attention_book.text.grammar.text import grammar_text, grammar_tokens
from attention_book.text.masking import MASK, MaskedTokens, encode_text, mask_tokens
from attention_book.text.pairs import (
    CorpusError,
    Problem,
    Reading,
    SentencePair,
    read_pairs,
)
from attention_book.text.phrases import phrasebook
from attention_book.text.splits import leaks, split_pairs
from attention_book.text.tokens import detokenize, tokenize
from attention_book.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, SpecialIds, Vocabulary

__all__ = [
    "BOS",
    "EOS",
    "MASK",
    "PAD",
    "SPECIALS",
    "UNK",
    "Batch",
    "CorpusError",
    "GrammarCorpus",
    "MaskedTokens",
    "ParallelData",
    "Problem",
    "Reading",
    "Sentence",
    "SentencePair",
    "SpecialIds",
    "SubwordTokenizer",
    "Vocabulary",
    "detokenize",
    "encode_source",
    "encode_text",
    "generate",
    "grammar_corpus",
    "grammar_text",
    "grammar_tokens",
    "is_grammatical",
    "leaks",
    "load_corpus",
    "mask_tokens",
    "phrasebook",
    "read_pairs",
    "split_pairs",
    "tokenize",
]
