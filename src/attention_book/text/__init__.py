"""Parallel text: from two columns of sentences to batches of numbers."""

from attention_book.text.batches import (
    MASK,
    Batch,
    MaskedTokens,
    ParallelData,
    encode_source,
    encode_text,
    mask_tokens,
)
from attention_book.text.bpe import SubwordTokenizer
from attention_book.text.corpora import load_corpus, phrasebook
from attention_book.text.grammar.corpus import GrammarCorpus, Sentence, generate, grammar_corpus
from attention_book.text.grammar.text import grammar_text, grammar_tokens, is_grammatical
from attention_book.text.packing import PackedBatch, first_fit
from attention_book.text.pairs import (
    CorpusError,
    Problem,
    Reading,
    SentencePair,
    leaks,
    read_pairs,
    split_pairs,
)
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
    "PackedBatch",
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
    "first_fit",
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
