"""What runs in a reader's browser: live figures, the translator's engine, and how they are packed.

The modules of JavaScript stand in ``modules/``; :mod:`attention_book.live.bundle` makes of them
the classic scripts that a page loads.

:class:`~attention_book.live.HeadViewer` shows all heads of a model in a notebook, or as one file;
:class:`~attention_book.live.BeamViewer` shows a beam search, and
:class:`~attention_book.live.InductionViewer` a circuit that copies.
"""

from attention_book.live.viewer import BeamViewer, HeadViewer, InductionViewer, Viewer

__all__ = ["BeamViewer", "HeadViewer", "InductionViewer", "Viewer"]
