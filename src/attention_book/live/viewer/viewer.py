"""What every viewer can do: show itself in a notebook, in the book, and as a file of its own."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from attention_book.foundations.environment import in_book_build
from attention_book.live.viewer.page import frame, page, place


class Viewer:
    """Something with a state that a widget of ``live/modules/widgets`` shows.

    Attributes:
        script: The widget's name.
        title: What heads a file of its own.
        state: What the widget begins with, as plain values.

    >>> import torch
    >>> from attention_book.live import HeadViewer
    >>> viewer = HeadViewer(torch.eye(2).expand(1, 1, 2, 2), tokens=["a", "b"])
    >>> viewer.script, viewer.title
    ('heads', 'Attention heads · 注意力头')
    """

    script: ClassVar[str]
    title: ClassVar[str]
    state: dict[str, Any]

    def widget(self) -> Any:
        """Return a widget of anywidget; what the reader chooses are its traits.

        Raises:
            ImportError: if anywidget is not installed.

        >>> import torch
        >>> from attention_book.live import HeadViewer
        >>> viewer = HeadViewer(torch.eye(3).expand(1, 2, 3, 3), tokens=["a", "red", "book"])
        >>> viewer.widget().head  # doctest: +SKIP
        1
        """
        from attention_book.live.viewer.widget import WIDGETS

        return WIDGETS[self.script](**self.state)

    def html(self, title: str = "") -> str:
        """Return the viewer as one page of HTML that needs no other file and no network.

        >>> import torch
        >>> from attention_book.live import HeadViewer
        >>> viewer = HeadViewer(torch.eye(2).expand(1, 1, 2, 2), tokens=["<b>", "&"])
        >>> "<b>" in viewer.html()
        False
        """
        return page(self.script, self.state, title or self.title)

    def save(self, path: str | Path, title: str = "") -> Path:
        """Write :meth:`html` to a file, and return its path.

        >>> import tempfile, torch
        >>> from attention_book.live import HeadViewer
        >>> viewer = HeadViewer(torch.eye(2).expand(1, 1, 2, 2), tokens=["a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     viewer.save(f"{folder}/heads.html").name
        'heads.html'
        """
        written = Path(path)
        written.write_text(self.html(title), encoding="utf8")
        return written

    def _repr_mimebundle_(self, **_: Any) -> Any:
        """Show the viewer: in the book's pages their own, in a notebook a widget or a frame."""
        text = {"text/plain": repr(self)}
        if in_book_build():
            return {**text, "text/html": place(self.script, self.state)}
        if find_spec("anywidget"):
            return self.widget()._repr_mimebundle_()
        return {**text, "text/html": frame(self.script, self.state, repr(self))}


__all__ = ["Viewer"]
