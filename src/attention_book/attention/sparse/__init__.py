"""Sparse attention: sparse masks, and attention that computes only the visible blocks."""
