"""The site's own type: a sans for text, a serif for headings, a Song face for Chinese ones.

They are files of the site, cut out of Source Sans 3, Source Serif 4 and Noto Serif CJK SC (© Adobe)
by ``scripts/cut_site_fonts.py``, under the Open Font License (``OFL.txt``). The Latin ones are the
same for every page. Of the Song face each page gets the characters of its own headings, cut while
it is written: some 10 kB, where the whole has 880. Chinese text is set in the reader's own font: no
subset of one is small enough. So are the titles of other pages that a page lists as its sections:
the class ``titles-of-others`` tells them, and all of them together would be a font of 40 kB.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent
SONG = HERE / "song.woff2"
#: Set in the Song face in Chinese headings, though Latin fonts have them too.
MARKS = "“”‘’—…·"
OTHERS = "titles-of-others"


def characters(doctree: nodes.document) -> str:
    """Return, once each and sorted, what no Latin font has of a page's title and sections."""
    titles = "".join(
        title.astext()
        for title in doctree.findall(nodes.title)
        if isinstance(title.parent, nodes.section)
        and depth(title.parent) <= 2
        and OTHERS not in title.parent["classes"]
    )
    return "".join(sorted({letter for letter in titles if letter > "\u2e80" or letter in MARKS}))


def depth(section: nodes.section) -> int:
    """Return 1 for a page, 2 for its sections."""
    around = section.parent
    return 1 + depth(around) if isinstance(around, nodes.section) else 1


def cut(text: str, target: Path) -> None:
    """Write the Song face with the characters of a text alone."""
    from fontTools import subset  # slow to import

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # else a hundred lines for a font
    options = subset.Options(layout_features=[], hinting=False, flavor="woff2")
    font = subset.load_font(str(SONG), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=text)
    subsetter.subset(font)
    target.parent.mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(target), options)


def heading_font(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give a page the font of its headings, where they have Chinese."""
    text = characters(doctree) if doctree else ""
    if text:
        name = f"fonts/song-{page.replace('/', '-')}.woff2"
        cut(text, Path(app.outdir, "_static", name))
        version = hashlib.sha256(text.encode() + SONG.read_bytes()).hexdigest()[:8]
        context["heading_font"] = (name, version)


def configure(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(HERE / "static"))
    app.add_css_file("typefaces.css", priority=890)  # below the book's own


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure)
    app.connect("html-page-context", heading_font)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
