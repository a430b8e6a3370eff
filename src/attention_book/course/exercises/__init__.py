"""Exercises that check themselves: hand over your function, hear what is wrong with it."""

from attention_book.course.exercises.checking import EXERCISES, check
from attention_book.course.exercises.core import Exercise, Law, Mistake, Probe
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
