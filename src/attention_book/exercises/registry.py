"""All exercises by name. A topic's module lists its own; a new module is added here."""

from collections.abc import Mapping
from types import MappingProxyType

from attention_book.exercises import (
    alibi,
    alignment_errors,
    annotations,
    batches,
    bugs,
    causal,
    choices,
    dead_parameters,
    detectors,
    efficient,
    final_states,
    forecasting,
    head_maps,
    heads,
    images,
    judging,
    language,
    layers_needed,
    learning,
    leaving_out,
    looking_back,
    losses,
    masks,
    patterns,
    pooling,
    positions,
    rotary,
    scoring,
    softmax_gradient,
    steps,
    transformer,
)
from attention_book.exercises.exercise import Exercise

TOPICS = (
    pooling,
    leaving_out,
    masks,
    causal,
    scoring,
    choices,
    softmax_gradient,
    batches,
    losses,
    judging,
    annotations,
    alignment_errors,
    heads,
    looking_back,
    positions,
    rotary,
    alibi,
    transformer,
    learning,
    steps,
    head_maps,
    detectors,
    final_states,
    dead_parameters,
    efficient,
    patterns,
    layers_needed,
    bugs,
    language,
    forecasting,
    images,
)

#: Every exercise that `check` knows, by name.
EXERCISES: Mapping[str, Exercise] = MappingProxyType(
    {exercise.name: exercise for topic in TOPICS for exercise in topic.EXERCISES}
)
