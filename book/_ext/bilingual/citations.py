"""Citations in the reader's language: "Vaswani et al., 2017" and "Vaswani 等, 2017".

The sources themselves are those of sphinxcontrib-bibtex; a project without it has none.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from bilingual.nodes import LanguageInline, language_of

#: What sphinxcontrib-bibtex writes between and after the authors' names, and its Chinese form.
JOINTS = {"et al.": "等", " and ": " 与 "}
_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5}|[a-z-]+/\d{7})")


def translate_citations(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write the joints of a page's resolved citations in the reader's language."""
    addresses = addresses_of_sources(app, page)
    for reference in doctree.findall(nodes.reference):
        if reference.get("refuri", "").partition("#")[0] in addresses:
            translate(reference)


def link_arxiv(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make a link of each number that a listed source has at arXiv."""
    for source in doctree.findall(nodes.citation):
        for text in list(source.findall(nodes.Text)):
            if _ARXIV.search(text) and not isinstance(text.parent, nodes.reference):
                text.parent.replace(text, linked(text.astext()))


def linked(text: str) -> list[nodes.Node]:
    """Return a text, its arXiv numbers as links.

    >>> print(*linked("2024. arXiv:2312.04927."), sep="|")
    2024. |<reference refuri="https://arxiv.org/abs/2312.04927">arXiv:2312.04927</reference>|.
    """
    parts: list[nodes.Node] = []
    for number, words in enumerate(_ARXIV.split(text)):
        if number % 2:
            address = f"https://arxiv.org/abs/{words}"
            parts.append(nodes.reference("", f"arXiv:{words}", refuri=address))
        elif words:
            parts.append(nodes.Text(words))
    return parts


def addresses_of_sources(app: Sphinx, page: str) -> set[str]:
    """Return the addresses, as seen from a page, of the pages that list sources."""
    domain = app.env.domains.get("cite")
    keys = domain.data["bibliographies"] if domain else ()
    return {app.builder.get_relative_uri(page, key.docname) for key in keys}


def translate(citation: nodes.reference) -> None:
    """Write the joint of a citation in both languages, or in that of the block it stands in."""
    shown = enclosing_language(citation)
    for text in list(citation.findall(nodes.Text)):
        joint = next((joint for joint in JOINTS if joint in text), None)
        if joint:
            before, after = text.split(joint, 1)
            words = {"zh": JOINTS[joint], "en": joint}
            in_languages = [
                LanguageInline("", word, language=language)
                for language, word in words.items()
                if shown in (None, language)
            ]
            replaced = text.parent if isinstance(text.parent, nodes.emphasis) else text
            parts = [nodes.Text(before), *in_languages, nodes.Text(after)]
            replaced.parent.replace(replaced, parts)


def enclosing_language(node: nodes.Node | None) -> str | None:
    """Return the language of the block that holds the node; None where both are shown."""
    while node is not None:
        language = language_of(node)
        if language:
            return language
        node = node.parent
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook, after the citations have been resolved."""
    app.connect("doctree-resolved", translate_citations, priority=900)
    app.connect("doctree-resolved", link_arxiv, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
