"""Each page tells the browser what it may load and run: the site's own files, and nothing else.

The policy stands in the page itself, since nobody knows who will serve it or whether it will be
served at all. Of the scripts written into a page those run whose SHA-256 it lists: they are
hashed when the page is finished, after every template and extension. A browser refuses `on…=`
attributes under such a policy: the theme's two become `data-press`, which book.js listens to.
An extension that needs more on a page adds it to the page's context, as ``script_sources``.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any

from bilingual.pages import BilingualTemplates
from sphinx.application import Sphinx
from sphinx.config import Config

#: What a page may do, and where each thing may come from. Drawings and formulas have styles of
#: their own; a model runs in a worker made of a text that the page holds (a blob), since a
#: browser starts none from a file.
SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",  # and the hashes
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "blob:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}
#: What the theme's buttons do when pressed, by the handlers that it writes into them.
PRESSES = {"window.print()": "print", "toggleFullScreen()": "fullscreen"}
#: Script elements of other types hold data: a browser does not run them.
CODE = ("module", "importmap", "speculationrules", "text/javascript", "application/javascript")
CHARSET = re.compile(r"""<meta charset=["'][\w-]+["'] ?/?>""")
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\s*>", re.S | re.I)
_TYPE = re.compile(r"""\stype=["']?([^"'\s>]+)""")


class GuardedTemplates(BilingualTemplates):
    """The book's templates; each page that they give has its policy."""

    def render(self, template: str, context: dict[str, Any]) -> str:  # type: ignore[override]
        return guarded(super().render(template, context), context.get("script_sources", ()))


def guarded(page: str, more: Sequence[str] = ()) -> str:
    """Return a finished page with its policy; what is no page stays as it is.

    ``more``: what scripts of this page may do besides, as sources of ``script-src``.

    >>> page = guarded('<!DOCTYPE html><meta charset="utf-8"><button onclick="window.print()">')
    >>> "http-equiv" in page, page[-29:]
    (True, '<button data-press="print">')
    """
    if not page.lstrip()[:9].lower().startswith("<!doctype"):
        return page
    for handler, press in PRESSES.items():
        page = page.replace(f'onclick="{handler}"', f'data-press="{press}"')
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(page, more)}">'
    return CHARSET.sub(lambda found: f"{found[0]}\n    {meta}", page, count=1)


def policy(page: str, more: Sequence[str] = ()) -> str:
    """Return the policy of a page: what all may do, its own scripts, and what it asks for."""
    hashes = dict.fromkeys(digest(script) for script in inline_scripts(page))
    sources = {**SOURCES, "script-src": " ".join([SOURCES["script-src"], *more, *hashes])}
    return "; ".join(f"{name} {allowed}" for name, allowed in sources.items())


def inline_scripts(page: str) -> list[str]:
    """Return the texts of the scripts that a browser would run and that are no files."""
    found = []
    for attributes, text in _SCRIPT.findall(page):
        kind = _TYPE.search(attributes)
        if not re.search(r"\ssrc=", attributes) and (kind is None or kind[1] in CODE):
            found.append(text)
    return found


def digest(script: str) -> str:
    r"""Return a script's source expression. A browser reads "\r\n" as "\n".

    >>> digest("\r\n") == digest("\n")
    True
    """
    sha256 = hashlib.sha256(script.replace("\r\n", "\n").encode()).digest()
    return f"'sha256-{base64.b64encode(sha256).decode()}'"


def configure(app: Sphinx, config: Config) -> None:
    config.template_bridge = f"{__name__}.GuardedTemplates"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure, priority=910)  # after `bilingual` named its templates
    return {"parallel_read_safe": True, "parallel_write_safe": True}
