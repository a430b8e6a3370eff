"""Viewers of heads, of beam search and of induction: for notebooks, for pages, and as files."""

from attention_book.live.viewer.beams import BeamViewer
from attention_book.live.viewer.heads import HeadViewer
from attention_book.live.viewer.induction import InductionViewer
from attention_book.live.viewer.page import Viewer

__all__ = ["BeamViewer", "HeadViewer", "InductionViewer", "Viewer"]
