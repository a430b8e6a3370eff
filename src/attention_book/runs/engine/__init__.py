"""Training a run: begun in a folder, or resumed where it was cut off, step by step."""

from attention_book.runs.engine.reports import Interrupted, StepReport
from attention_book.runs.engine.start import resume, start, status

__all__ = ["Interrupted", "StepReport", "resume", "start", "status"]
