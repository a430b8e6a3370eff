"""The ground floor: tensor types, seeds, argument checks, text in two languages."""

from attention_book.foundations.bilingual import Bilingual, L, set_language
from attention_book.foundations.checks import is_strict, strict

__all__ = ["Bilingual", "L", "is_strict", "set_language", "strict"]
