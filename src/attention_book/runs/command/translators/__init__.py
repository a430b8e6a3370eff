"""Trained models that the commands use, and what their attention looks at."""

from attention_book.runs.command.translators.learned import Learned, learned
from attention_book.runs.command.translators.options import (
    how_to_search,
    which_checkpoint,
    which_model,
)
from attention_book.runs.loading import Which

__all__ = ("Learned", "Which", "how_to_search", "learned", "which_checkpoint", "which_model")
