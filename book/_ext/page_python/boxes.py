"""Which listings become editors: those of exercises that ``check`` knows."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from bilingual.marks import LANGUAGES, Bilingual, pick
from docutils import nodes
from evidence.code_cells import code_cells
from sphinx.application import Sphinx

from page_python.bundle import LEFT_OUT
from page_python.files import TORCH, missing

CHECK = re.compile(r'\bcheck\("([\w-]+)", (\w+)')
#: A page with an editor may compile WebAssembly, which is what the engine is.
POLICY = "'wasm-unsafe-eval'"
WITHOUT_SCRIPTS = Bilingual(
    "在网页里写要用 JavaScript；不用它，就在%s里做。",
    "To write in the page takes JavaScript; without it, use %s.",
)
#: Exercises that a page's Python cannot run, and why, in both languages.
NOT_IN_PAGE = TORCH / "not_in_page.yml"
INSTEAD = Bilingual("%s到%s里做。", "%s Use %s.")
NOTEBOOK = Bilingual("本章的笔记本", "this chapter's notebook")


class PagePython(nodes.container):
    """A listing that becomes an editor; elsewhere a container with a listing."""


def make_boxes(app: Sphinx, doctree: nodes.document) -> None:
    """Put the listing of each exercise that can be checked into a box."""
    if missing():
        return
    for exercise in filter(is_exercise, list(doctree.findall(nodes.Element))):
        listing = next(filter(is_checked, exercise.findall(nodes.literal_block)), None)
        if listing is None:
            listing = stub(doctree, exercise)
            if listing is None:
                continue
            body = exercise.children[-1]
            assert isinstance(body, nodes.Element)
            body += listing
        found = CHECK.search(listing.astext())
        assert found
        place = f"write-{found[1]}"
        reason = reasons().get(found[1])
        box = PagePython(
            "",
            listing.deepcopy(),
            ids=[place],
            classes=["page-python"],
            name=found[1],
            reason=reason,
        )
        listing.replace_self(box)


def reasons() -> dict[str, Bilingual]:
    """Return the exercises that cannot run in a page, each with its reason."""
    found = yaml.safe_load(NOT_IN_PAGE.read_text(encoding="utf8")) or {}
    return {name: Bilingual(each["zh"], each["en"]) for name, each in found.items()}


def is_exercise(node: nodes.Element) -> bool:
    return type(node).__name__ in ("exercise_node", "exercise_enumerable_node")


def is_checked(listing: nodes.Node) -> bool:
    return CHECK.search(listing.astext()) is not None


def stub(doctree: nodes.document, exercise: nodes.Element) -> nodes.literal_block | None:
    """Return the first lines of an answer to an exercise that shows none.

    They are those of the solution, whose cell defines the function that it checks.
    """
    asked = CHECK.search(exercise.astext())
    if asked is None:
        return None
    for cell in doctree.findall(nodes.literal_block):
        found = CHECK.search(cell.astext())
        if found and found[1] == asked[1] and (head := head_of(cell.astext(), found[2])):
            text = f"{head}\n    return ...\n\n\n{found[0]})"
            return nodes.literal_block(text, text, language="python")
    return None


def head_of(code: str, name: str) -> str:
    """Return the line that begins a function; "" if it is not there, or the text is no code."""
    for node in parsed(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return f"def {name}({ast.unparse(node.args)}):"
    return ""


# ---- the page -----------------------------------------------------------------------------------


def visit(writer: Any, node: PagePython) -> None:
    """Begin the box; without a name no script touches it."""
    name = "" if node["reason"] else f' data-name="{node["name"]}"'
    writer.body.append(f'<div class="page-python" id="{node["ids"][0]}"{name}>')


def depart(writer: Any, node: PagePython) -> None:
    """End the box with what holds where no Python runs: no scripts, or an exercise too large."""
    page = writer.builder.current_docname
    folder = f"{'../' * page.count('/')}_notebooks"
    links = (
        f'<a href="{folder}/{language}/{page}.ipynb">{pick(NOTEBOOK, language)}</a>'
        for language in LANGUAGES
    )
    notebook = Bilingual(*links)
    if node["reason"]:
        writer.body.append(f"<p>{INSTEAD % (node['reason'], notebook)}</p></div>\n")
    else:
        words = WITHOUT_SCRIPTS % notebook
        writer.body.append(f"<noscript><p>{words}</p></noscript></div>\n")


def load(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the scripts on a page with a box, let it run the engine, tell what its cells import."""
    if doctree is None or next(doctree.findall(PagePython), None) is None:
        return
    app.add_js_file("page_python.js", loading_method="defer")
    context["script_sources"] = [*context.get("script_sources", ()), POLICY]
    path = Path(app.env.doc2path(page))
    names = dict(imports(path.read_text(encoding="utf8"), str(path)))
    data = json.dumps(names, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
    data = f'<script type="application/json" id="page-python-names">{data}</script>'
    context["body"] += data


def imports(text: str, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each name that cells import from what a page has, and where it is from."""
    for cell in code_cells(text, path):
        for node in ast.walk(parsed(cell.code)):
            if isinstance(node, ast.ImportFrom) and in_page(node.module or ""):
                for alias in node.names:
                    yield alias.asname or alias.name, (str(node.module), alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if in_page(alias.name) and (alias.asname or "." not in alias.name):
                        yield alias.asname or alias.name, (alias.name, "")


def parsed(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError:  # a magic of IPython, or what a cell has printed
        return ast.parse("")


def in_page(module: str) -> bool:
    first, _, rest = module.partition(".")
    return first != "attention_book" or rest.partition(".")[0] not in LEFT_OUT


def skip(writer: Any, node: PagePython) -> None:
    """Write the listing alone."""


def setup(app: Sphinx) -> dict[str, bool]:
    formats: dict[str, Any] = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, skip))
    app.add_node(PagePython, html=(visit, depart), **formats)
    app.connect("doctree-read", make_boxes)
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
