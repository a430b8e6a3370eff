"""Exercises on what came after: efficient and sparse attention, language, images, series, bugs."""
