"""Training as a generator: the loop belongs to the caller."""

from attention_book.training.descent import Report, descend

__all__ = ["Report", "descend"]
