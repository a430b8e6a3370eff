"""All exercises by name. A topic's module lists its own; a new module is added here."""

from collections.abc import Mapping
from types import MappingProxyType

from attention_book.exercises import causal, masks
from attention_book.exercises.exercise import Exercise

TOPICS = (masks, causal)

#: Every exercise that `check` knows, by name.
EXERCISES: Mapping[str, Exercise] = MappingProxyType(
    {exercise.name: exercise for topic in TOPICS for exercise in topic.EXERCISES}
)
