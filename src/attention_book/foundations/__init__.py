"""The ground floor: tensor types, seeds, argument checks, two languages, labels of tokens."""

from attention_book.foundations.bilingual import Bilingual, L, set_language
from attention_book.foundations.checks import is_strict, strict
from attention_book.foundations.labels import token_labels, visible_label

__all__ = [
    "Bilingual",
    "L",
    "is_strict",
    "set_language",
    "strict",
    "token_labels",
    "visible_label",
]
