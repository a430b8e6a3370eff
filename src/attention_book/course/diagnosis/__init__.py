"""Diagnosis: common faults to plant into a Transformer, and the laws that find them."""

from attention_book.course.diagnosis.faults import FAULTS, planted
from attention_book.course.diagnosis.laws import LAWS, check_up

__all__ = ["FAULTS", "LAWS", "check_up", "planted"]
