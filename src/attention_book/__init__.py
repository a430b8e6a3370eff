"""Attention, from a plain average to the Transformer: the package behind the book."""

from attention_book.foundations.seed import set_seed

__version__ = "0.1.0"

__all__ = ["set_seed"]
