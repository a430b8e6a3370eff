"""What every viewer can do: show itself in a notebook, in the book, and as one file of HTML."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from attention_book.foundations.environment import in_book_build
from attention_book.live import bundle
from attention_book.text.tokens import without_halves

# --- the page ----------------------------------------------------------------------------------


#: Nothing but the file itself may run, and nothing may be loaded.
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {style_hash}; \
script-src {script_hash}{more}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{place}
<noscript>这一页需要 JavaScript，不需要网络。 This page needs JavaScript, but no network.</noscript>
</main>
<script>{script}</script>
</body>
</html>
"""
STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 75rem; padding: 0.5rem 1rem 2rem; background: Canvas; }
body { font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0.5rem 0; }
"""
LANGUAGE = """
document.querySelector("h1").after(attentionBookLive.modules["page/file"].choosing({language}));
"""


def place(widget: str, state: Mapping[str, Any]) -> str:
    """Return the element that the scripts bring to life, with its data; they are no script."""
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<div data-live="{widget}"><script type="application/json">{data}</script></div>'


def page(widget: str, state: Mapping[str, Any], title: str, *, with_engine: bool = False) -> str:
    """Return a file that needs no other and no network.

    Args:
        widget: Its name.
        state: What it begins with.
        title: What heads the file.
        with_engine: Whether the widget runs a model, in a Worker made of the file's own script.
    """
    style = without_comments(bundle.styles() + STYLE)
    script = without_comments(
        bundle.script(["page/page", "page/file"])
        + LANGUAGE.format(language=json.dumps(state["language"]))
        + (bundle.script(["engine/serve"]) if with_engine else "")
        + bundle.registered(f"widgets/{widget}")
    )
    return PAGE.format(
        title=escape(without_halves(title)),
        place=place(widget, state).replace("<div ", f'<div id="{widget}" ', 1),
        style=style,
        style_hash=source_hash(style),
        script=script,
        script_hash=source_hash(script),
        more="; worker-src blob:" if with_engine else "",
    )


def frame(widget: str, state: Mapping[str, Any], title: str) -> str:
    """Return the file in a frame, for a notebook without anywidget."""
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(page(widget, state, title))}"'
        ' style="width: 100%; height: 46rem; border: 0"></iframe>'
    )


def without_comments(text: str) -> str:
    """Return a script or a style sheet without the comments that stand on lines of their own.

    >>> without_comments("/* What it does,\\n   and why. */\\na = 1; /* stays */\\n")
    'a = 1; /* stays */\\n'
    """
    return re.sub(r"^ *(?:/\*.*?\*/|// [^\n]*)\n", "", text, flags=re.DOTALL | re.MULTILINE)


def source_hash(text: str) -> str:
    """Return the name by which a policy allows a text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# --- what every viewer can do ------------------------------------------------------------------


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
