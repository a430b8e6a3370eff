"""A viewer of attention heads: the same in a notebook, on a page and as one file of HTML."""

from attention_book.live.viewer.viewer import HeadViewer

__all__ = ["HeadViewer"]
