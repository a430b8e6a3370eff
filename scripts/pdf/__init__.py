"""The printed book: a PDF in each language."""
