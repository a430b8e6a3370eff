"""Sparse attention: patterns of who sees whom, and computing only the blocks that are seen."""
