"""A term of the glossary opens where it is used: the entries as one script, fetched when wanted.

A page from a folder loads nothing but scripts, so the entries are one, as they stand in the
glossary; ``static/terms_in_place.js`` asks for it when a reader points at the first term.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

from lesson.glossary_entries import ENTRIES

NAME = "glossary-terms.js"
#: An entry of a written glossary: its terms, and what is said of them.
ENTRY = re.compile(r"((?:<dt\b(?:(?!</dt>).)*</dt>\s*)+)<dd>(.*?)</dd>", re.S)
TERM = re.compile(r'<dt (?:data-pinyin="[^"]*" )?id="([^"]+)"')
LINK_TO_TERM = re.compile(r'<a class="headerlink".*?</a>', re.S)


def entries_of(page: str) -> dict[str, str]:
    """Return the entries of a written glossary by the ids of their terms.

    >>> entries_of('<dt id="term-A">A</dt><dt id="term-B">B</dt><dd><p>both</p></dd>')["term-B"]
    '<dt>A</dt><dt>B</dt><dd><p>both</p></dd>'
    """
    found: dict[str, str] = {}
    for terms, text in ENTRY.findall(page):
        heads = TERM.sub("<dt", LINK_TO_TERM.sub("", terms))
        found |= dict.fromkeys(TERM.findall(terms), f"{heads}<dd>{text}</dd>")
    return found


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the entries of all glossaries, each with the page that it stands on."""
    if exception is not None or app.builder.name != "html":
        return
    found = {
        name: [f"{page}.html", entry]
        for page, names in sorted(ENTRIES.of(app.env).items())
        if names
        for name, entry in entries_of(Path(app.outdir, f"{page}.html").read_text("utf8")).items()
    }
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "_static", NAME).write_text(f"window.bookTerms={text};\n", encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_js_file("terms_in_place.js", loading_method="defer")
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
