"""Diagnosis: common faults to plant into a model, and the laws that find them."""

from attention_book.course.diagnosis.faults import FAULTS, planted
from attention_book.course.diagnosis.language_laws import LANGUAGE_LAWS, check_up_language
from attention_book.course.diagnosis.laws import LAWS, check_up

__all__ = ["FAULTS", "LANGUAGE_LAWS", "LAWS", "check_up", "check_up_language", "planted"]
