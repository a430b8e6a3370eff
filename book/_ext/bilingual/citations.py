"""Citations in the reader's language: "Vaswani et al., 2017" and "Vaswani 等, 2017"."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from bilingual.nodes import LanguageInline, language_of

#: What sphinxcontrib-bibtex writes between and after the authors' names, and its Chinese form.
JOINTS = {"et al.": "等", " and ": " 与 "}


def translate(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write the joints of every resolved citation in both languages, or in its block's."""
    for citation in doctree.findall(is_citation):
        shown = enclosing_language(citation)
        for text in list(citation.findall(nodes.Text)):
            joint = next((joint for joint in JOINTS if joint in text), None)
            if joint:
                before, after = text.split(joint, 1)
                words = {"zh": JOINTS[joint], "en": joint}
                parts = [nodes.Text(before)]
                parts += [
                    LanguageInline("", word, language=language)
                    for language, word in words.items()
                    if shown in (None, language)
                ]
                replaced = text.parent if isinstance(text.parent, nodes.emphasis) else text
                replaced.parent.replace(replaced, [*parts, nodes.Text(after)])


def enclosing_language(node: nodes.Node | None) -> str | None:
    """Return the language of the block that holds the node; None where both are shown."""
    while node is not None:
        language = language_of(node)
        if language:
            return language
        node = node.parent
    return None


def is_citation(node: nodes.Node) -> bool:
    return isinstance(node, nodes.reference) and "bibliography" in node.get("refuri", "")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook, after the citations have been resolved."""
    app.connect("doctree-resolved", translate, priority=900)
    return {"version": "1.0", "parallel_read_safe": True, "parallel_write_safe": True}
