"""All exercises by name. A topic's module lists its own; a new module is added here."""

from collections.abc import Mapping
from types import MappingProxyType

from attention_book.course.exercises.exercise import Exercise
from attention_book.course.exercises.topics.applications import (
    bugs,
    efficient,
    forecasting,
    images,
    language,
    layers_needed,
    mask_tests,
    patterns,
)
from attention_book.course.exercises.topics.basics import learning, tensors
from attention_book.course.exercises.topics.today import (
    cost,
    fixed_state,
    induction,
    low_rank,
    modern_block,
    rope_frequencies,
    windows_and_sinks,
)
from attention_book.course.exercises.topics.transformer import (
    alibi,
    cached_decoding,
    causal_head,
    dead_parameters,
    head_maps,
    layer_norm,
    positions,
    real_text,
    rotary,
    split_heads,
    warmup_and_smoothing,
)
from attention_book.course.exercises.topics.translation import (
    alignment_errors,
    bahdanau,
    batches,
    beam_and_bleu,
    clipping,
    final_states,
    losses,
)
from attention_book.course.exercises.topics.weights import (
    additive_score,
    causal,
    hard_and_local,
    leave_one_out,
    masks,
    pooling,
    scores,
    softmax_gradient,
)

TOPICS = (
    tensors,
    learning,
    pooling,
    leave_one_out,
    masks,
    causal,
    scores,
    additive_score,
    hard_and_local,
    softmax_gradient,
    batches,
    losses,
    clipping,
    beam_and_bleu,
    bahdanau,
    alignment_errors,
    split_heads,
    causal_head,
    positions,
    rotary,
    alibi,
    layer_norm,
    warmup_and_smoothing,
    real_text,
    cached_decoding,
    head_maps,
    mask_tests,
    final_states,
    dead_parameters,
    efficient,
    patterns,
    layers_needed,
    bugs,
    language,
    forecasting,
    images,
    modern_block,
    low_rank,
    induction,
    cost,
    rope_frequencies,
    windows_and_sinks,
    fixed_state,
)

#: Every exercise that `check` knows, by name.
EXERCISES: Mapping[str, Exercise] = MappingProxyType(
    {exercise.name: exercise for topic in TOPICS for exercise in topic.EXERCISES}
)
