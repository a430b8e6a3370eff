"""What runs in a reader's browser: live figures, the translator's engine, and how they are packed.

The modules of JavaScript stand in ``modules/``; :mod:`attention_book.live.bundle` makes of them
the classic scripts that a page loads.

:class:`~attention_book.live.HeadViewer` shows all heads of a model in a notebook, or as one file.
"""

from attention_book.live.viewer import HeadViewer

__all__ = ["HeadViewer"]
