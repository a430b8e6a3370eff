"""Notebooks of others, graded: their functions run in a confined child, `check` stays outside."""
