"""Decoding: from a model's predictions to sentences."""

from attention_book.decoding.beam import BeamStep, beam_search, beam_trace
from attention_book.decoding.continuation import Continuation
from attention_book.decoding.greedy import greedy_search
from attention_book.decoding.hypothesis import Hypothesis, length_factor
from attention_book.decoding.recorded import RecordedStep
from attention_book.decoding.sampling import (
    keep_min_p,
    keep_top_k,
    keep_top_p,
    next_distribution,
    sample,
    with_temperature,
)
from attention_book.decoding.serving import (
    CacheMemory,
    Drafts,
    Request,
    Schedule,
    Served,
    Step,
    StepTimes,
    random_requests,
    serve,
)
from attention_book.decoding.speculative import (
    Speculation,
    acceptance_probabilities,
    acceptance_rate,
    expected_words,
    residual_distribution,
    round_law,
    speculative_sample,
    verify_drafts,
)
from attention_book.decoding.translate import Translation, attention_of, translate
from attention_book.decoding.unmasking import unmask

__all__ = [
    "BeamStep",
    "CacheMemory",
    "Continuation",
    "Drafts",
    "Hypothesis",
    "RecordedStep",
    "Request",
    "Schedule",
    "Served",
    "Speculation",
    "Step",
    "StepTimes",
    "Translation",
    "acceptance_probabilities",
    "acceptance_rate",
    "attention_of",
    "beam_search",
    "beam_trace",
    "expected_words",
    "greedy_search",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "length_factor",
    "next_distribution",
    "random_requests",
    "residual_distribution",
    "round_law",
    "sample",
    "serve",
    "speculative_sample",
    "translate",
    "unmask",
    "verify_drafts",
    "with_temperature",
]
