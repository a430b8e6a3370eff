"""The ground floor: tensor types, seeds, argument checks, text in two languages."""

from attention_book.foundations.bilingual import L, set_language

__all__ = ["L", "set_language"]
