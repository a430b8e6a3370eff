"""Descriptions in words and numbers: of corpora, of translations, and of a model's heads."""

__all__ = ()
