"""Exercises that check themselves: hand over your function, hear what is wrong with it."""

from attention_book.course.exercises.checking import check
from attention_book.course.exercises.exercise import Exercise, Law, Mistake, Probe
from attention_book.course.exercises.registry import EXERCISES
from attention_book.course.exercises.verdict import Finding, Verdict

__all__ = [
    "EXERCISES",
    "Exercise",
    "Finding",
    "Law",
    "Mistake",
    "Probe",
    "Verdict",
    "check",
]
