"""Who comes to the root finds the front page there; who mistypes an address finds a way in.

The root is a copy of the front page, so a language and a place in the address hold; both name the
root as the page's one address. A host serves ``404.html`` at whatever address was asked for, so
its links start from the root of the host.
"""

from __future__ import annotations

from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from bilingual.marks import pick
from sphinx.application import Sphinx

from website.policy import guarded

NOT_FOUND = Template(Path(__file__).with_name("not_found.html").read_text(encoding="utf8"))


def write_front(app: Sphinx, exception: Exception | None) -> None:
    """Put the front page at the root: the table of contents writes a line without policy there."""
    if exception is not None or app.builder.name != "html" or app.config.root_doc == "index":
        return
    front = Path(app.outdir, f"{app.config.root_doc}.html").read_bytes()
    Path(app.outdir, "index.html").write_bytes(front)


def write_not_found(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    title = str(app.config.html_title)
    root = urlsplit(app.config.html_baseurl or "/").path.rstrip("/") + "/"
    page = NOT_FOUND.substitute(root=root, zh=pick(title, "zh"), en=pick(title, "en"))
    Path(app.outdir, "404.html").write_text(guarded(page), encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_front, priority=895)  # when the page is finished
    app.connect("build-finished", write_not_found)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
