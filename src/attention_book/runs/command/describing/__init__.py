"""Descriptions in words and numbers: of a corpus, and of what a model's heads do."""

__all__ = ()
