"""Viewers of attention heads and of beam search: for notebooks, for pages, and as files."""

from attention_book.live.viewer.beams import BeamViewer
from attention_book.live.viewer.heads import HeadViewer
from attention_book.live.viewer.page import Viewer

__all__ = ["BeamViewer", "HeadViewer", "Viewer"]
