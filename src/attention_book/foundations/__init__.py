"""The ground floor: tensor types, seeds, argument checks, text in two languages."""

from attention_book.foundations.bilingual import L, set_language
from attention_book.foundations.checks import is_strict, strict

__all__ = ["L", "is_strict", "set_language", "strict"]
