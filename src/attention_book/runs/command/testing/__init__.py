"""Texts to test on, their translations by a model or from a file, and what is said of them."""

__all__ = ()
