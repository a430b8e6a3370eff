"""Markup that assistive technology can use, where docutils, myst-nb and others write none."""

from __future__ import annotations

import re
from typing import Any

from bilingual.nodes import LanguageInline
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_folded_cell(translator: Any, node: nodes.Element) -> None:
    """Folded code without myst-nb's fixed English label: the visible words name it."""
    translator.body.append(f'<details class="hide {" ".join(node["classes"])}">\n<summary>')
    for state, prompt in (("collapsed", "prompt_show"), ("expanded", "prompt_hide")):
        translator.body.append(f'<span class="{state}">{node[prompt]}</span>')
    translator.body.append("</summary>\n")


def depart_folded_cell(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</details>\n")


def visit_citation(translator: Any, node: nodes.citation) -> None:
    """A list of items: the role "doc-biblioentry" that docutils writes is deprecated."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        translator.body.append('<div role="list" class="citation-list">\n')
    translator.body.append(translator.starttag(node, "div", classes=["citation"], role="listitem"))


def depart_citation(translator: Any, node: nodes.citation) -> None:
    translator.body.append("</div>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        translator.body.append("</div>\n")


_CHINESE = re.compile("[\u3400-\u9fff]")
#: What is read as one word though it has a hyphen: "--step", "?view=print", "{.no-slide}".
_OPTION = re.compile(r'<span class="pre">((?:--?[a-z]|\?|{\.)[\w=-]{0,24}}?)</span>')
#: A cell with more Chinese than this is read as a sentence, and on a phone keeps room for one.
FEW_CHARACTERS = 8


def visit_entry(translator: Any, node: nodes.entry) -> None:
    """An empty corner is no header of its column, nor is a formula alone, which has no words.

    Chinese may break after every character: beside wide code a sentence of it would become a
    column of single characters, so its cell has a class of its own.
    """
    chinese = (part for part in node.findall(LanguageInline) if part["language"] == "zh")
    if any(len(words_of(part)) > FEW_CHARACTERS for part in chinese):
        node["classes"].append("sentence")
    if isinstance(node.parent.parent, nodes.thead) and not words_of(node):
        translator.body.append(translator.starttag(node, "td", ""))
        translator.context.append("</td>\n")
    else:
        HTML5Translator.visit_entry(translator, node)


def words_of(node: nodes.Element) -> str:
    """Return an element's text without its formulas."""
    texts = (text for text in node.findall(nodes.Text) if not isinstance(text.parent, nodes.math))
    return "".join(text.astext() for text in texts).strip()


def depart_entry(translator: Any, node: nodes.entry) -> None:
    HTML5Translator.depart_entry(translator, node)


def visit_desc_parameterlist(translator: Any, node: addnodes.desc_parameterlist) -> None:
    """A long signature, one parameter a line, is one term: no list can stand within it."""
    HTML5Translator.visit_desc_parameterlist(translator, node)
    if node.get("multi_line_parameter_list"):
        translator.body[-1] = '<span class="sig-params">'


def depart_desc_parameterlist(translator: Any, node: addnodes.desc_parameterlist) -> None:
    if node.get("multi_line_parameter_list"):
        translator.body.append("</span>")
        translator.body.append(f'<span class="sig-paren">{translator.context.pop()}</span>')
    else:
        HTML5Translator.depart_desc_parameterlist(translator, node)


def visit_desc_parameter(translator: Any, node: addnodes.desc_parameter) -> None:
    start = len(translator.body)
    HTML5Translator.visit_desc_parameter(translator, node)
    in_spans(translator.body, start, "<dd", '<span class="sig-param-line"')


def depart_desc_parameter(translator: Any, node: addnodes.desc_parameter) -> None:
    start = len(translator.body)
    HTML5Translator.depart_desc_parameter(translator, node)
    in_spans(translator.body, start, "</dd>", "</span>")


def visit_literal(translator: Any, node: nodes.literal) -> None:
    HTML5Translator.visit_literal(translator, node)


def depart_literal(translator: Any, node: nodes.literal) -> None:
    """A command's option is one word, though browsers break after a hyphen."""
    at = len(translator.body) - 1
    while at >= 0 and not translator.body[at].startswith(("<code", "<kbd")):
        translator.body[at] = _OPTION.sub(
            r'<span class="pre option">\1</span>', translator.body[at]
        )
        at -= 1
    HTML5Translator.depart_literal(translator, node)


def in_spans(body: list[str], start: int, tag: str, other: str) -> None:
    """Write another tag in what was written last."""
    body[start:] = [part.replace(tag, other) for part in body[start:]]


def unique_ids(app: Sphinx, doctree: nodes.document) -> None:
    """Give the boxes of sphinx-exercise and sphinx-proof, and their contents, ids of their own.

    Both packages repeat fixed ids: "exercise-content" for each exercise, "proof" for each proof.
    """
    for number, proof in enumerate(doctree.findall(nodes.admonition), start=1):
        if proof["ids"] == ["proof"]:
            proof["ids"] = [f"proof-{number}"]
    fixed = ("exercise-content", "solution-content", "proof-content")
    for number, section in enumerate(doctree.findall(nodes.section), start=1):
        if section["ids"] and section["ids"][0] in fixed:
            label = (section.parent.get("ids") or [f"box-{number}"])[0]
            section["ids"] = [f"{label}-content"]


def latin_in_italics(app: Sphinx, doctree: nodes.document) -> None:
    """Tell stressed words that no Chinese letter is in: dots below are for Chinese alone."""
    for stressed in doctree.findall(nodes.emphasis):
        if not _CHINESE.search(stressed.astext()):
            stressed["classes"].append("latin")


def no_links_to_files(app: Sphinx, doctree: nodes.document) -> None:
    """Leave "file:line" in a text as it is: docutils takes it for an address."""
    for link in list(doctree.findall(nodes.reference)):
        if str(link.get("refuri", "")).startswith("file:"):
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", unique_ids)
    app.connect("doctree-read", latin_in_italics)
    app.connect("doctree-read", no_links_to_files)
    app.add_node(HideCodeCellNode, override=True, html=(visit_folded_cell, depart_folded_cell))
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    app.add_node(nodes.literal, override=True, html=(visit_literal, depart_literal))
    app.add_node(nodes.entry, override=True, html=(visit_entry, depart_entry))
    app.add_node(
        addnodes.desc_parameterlist,
        override=True,
        html=(visit_desc_parameterlist, depart_desc_parameterlist),
    )
    app.add_node(
        addnodes.desc_parameter, override=True, html=(visit_desc_parameter, depart_desc_parameter)
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
