"""Which listings become editors: those of exercises that ``check`` knows.

Cells that can be changed and run in the page are marked first (`page_python.cells`): one whose
function is checked is its exercise's editor.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import yaml
from bilingual.environment import PerPage
from bilingual.marks import LANGUAGES, Bilingual, pick
from docutils import nodes
from sphinx.application import Sphinx

from page_python import cells
from page_python.files import TORCH, missing
from page_python.names import names_of, print_options

CHECK = re.compile(r'\bcheck\("([\w-]+)", (\w+)')
WITHOUT_SCRIPTS = Bilingual(
    "在网页里写要用 JavaScript；不用它，就在%s里做。",
    "Writing in the page needs JavaScript; without it, use %s.",
)
#: Exercises that a page's Python cannot run, and why, in both languages.
NOT_IN_PAGE = TORCH / "not_in_page.yml"
#: What a line ends with; a box has less room than the cell that the function is from.
COMMENT = re.compile(r" +# .*$", re.M)
#: What each page's Python is told of it: names, how tensors are printed, checks of its cells.
KNOWN = PerPage[dict[str, Any]]("page_python_known")
#: A page with something to run may compile WebAssembly, which is what the engine is.
POLICY = "'wasm-unsafe-eval'"
INSTEAD = Bilingual("%s到%s里做。", "%s Use %s.")
NOTEBOOK = Bilingual("本章的笔记本", "this chapter’s notebook")


class PagePython(nodes.container):
    """A listing that becomes an editor; elsewhere a container with a listing."""


def make_boxes(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the cells that run alone; put the listing of each exercise with a check into a box."""
    if missing():
        return
    path = Path(app.env.doc2path(app.env.docname))
    names = names_of(path)
    checks = cells.mark(doctree, names)
    exercises = list(filter(is_exercise, list(doctree.findall(nodes.Element))))
    told = [*checks, *(each.astext() for each in exercises)]
    written = {found[1] for text in told if (found := CHECK.search(text))}
    for exercise in exercises:
        listing = next(filter(is_checked, exercise.findall(nodes.literal_block)), None)
        if listing is None:
            listing = stub(doctree, exercise, written)
            if listing is None:
                continue
            body = exercise.children[-1]
            assert isinstance(body, nodes.Element)
            body += listing
        found = CHECK.search(listing.astext())
        assert found
        box = PagePython(
            "",
            listing.deepcopy(),
            ids=[f"write-{found[1]}"],
            classes=["page-python"],
            name=found[1],
            reason=reasons().get(found[1]),
        )
        listing.replace_self(box)
    if has_python(doctree):
        known = {"names": names, "first": print_options(path), "checks": checks}
        KNOWN.of(app.env)[app.env.docname] = known


def has_python(doctree: nodes.document) -> bool:
    """Whether a page has a box, or a cell that runs in it."""
    marked = (cells.MARK in each["classes"] for each in doctree.findall(nodes.container))
    return any(marked) or next(doctree.findall(is_box), None) is not None


def is_box(node: nodes.Node) -> bool:
    """Whether the script has something to open here: an exercise, a step of the reader's file."""
    if isinstance(node, PagePython):
        return True
    if not isinstance(node, nodes.container) or "own-file" not in node["classes"]:
        return False
    return bool(node["ids"]) and not missing()


def reasons() -> dict[str, Bilingual]:
    """Return the exercises that cannot run in a page, each with its reason."""
    found = yaml.safe_load(NOT_IN_PAGE.read_text(encoding="utf8")) or {}
    return {name: Bilingual(each["zh"], each["en"]) for name, each in found.items()}


def is_exercise(node: nodes.Element) -> bool:
    return type(node).__name__ in ("exercise_node", "exercise_enumerable_node")


def is_checked(listing: nodes.Node) -> bool:
    return CHECK.search(listing.astext()) is not None


def stub(
    doctree: nodes.document, exercise: nodes.Element, written: set[str]
) -> nodes.literal_block | None:
    """Return what to begin an exercise with that shows no listing.

    A check that only its solution speaks of may be ``written`` in a cell or another exercise.

    It is the function of its solution that is checked, without its body. Where only the solution
    speaks of the check, it is the function that the text shows and the solution finds at fault.
    """
    named = CHECK.search(exercise.astext())
    asked = named or checked_in_solution(doctree, exercise)
    if asked is None or (named is None and asked[1] in written):
        return None
    functions: dict[str, tuple[str, str]] = {}
    begun = ""
    for cell, code, tree in cells.cells_of(doctree):
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                head = f"def {node.name}({ast.unparse(node.args)}):\n    return ..."
                shown = ast.get_source_segment(code, node) if cells.is_read(cell) else None
                functions[node.name] = head, shown or ""
        for found in CHECK.finditer(code):
            if found[1] == asked[1] and found[2] in functions:
                head, shown = functions[found[2]]
                if shown and named is None:
                    shown = COMMENT.sub("", shown)
                    return listing_of(f"{shown}\n\n\n{found[0]})")
                begun = begun or f"{head}\n\n\n{found[0]})"
    return listing_of(begun) if begun else None


def checked_in_solution(doctree: nodes.document, exercise: nodes.Element) -> re.Match[str] | None:
    """Return the first call of ``check`` in the solution of an exercise."""
    for node in doctree.findall(nodes.Element):
        if type(node).__name__ == "solution_node" and node["target_label"] == exercise["label"]:
            return CHECK.search(node.astext())
    return None


def listing_of(code: str) -> nodes.literal_block:
    return nodes.literal_block(code, code, language="python")


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


def skip(writer: Any, node: PagePython) -> None:
    """Write the listing alone."""


def load(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script on a page with something to run, and let it run the engine."""
    if doctree is not None and has_python(doctree):
        told: dict[str, Any] = {"data-page": page}
        app.add_js_file("page_python.js", loading_method="defer", **told)
        context["script_sources"] = [*context.get("script_sources", ()), POLICY]


def write_known(app: Sphinx, exception: Exception | None) -> None:
    """Write what the pages' Python is told of each page; a page loads it with its first editor."""
    if exception is None and app.builder.name == "html" and not missing():
        data = json.dumps(KNOWN.of(app.env), sort_keys=True, separators=(",", ":"))
        path = Path(app.outdir, "_static", "page_python", "pages.js")
        path.write_text(f"pagePython.pages = {data};\n", encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    formats: dict[str, Any] = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, skip))
    app.add_node(PagePython, html=(visit, depart), **formats)
    app.connect("doctree-read", make_boxes)
    app.connect("html-page-context", load)
    app.connect("build-finished", write_known)
    KNOWN.connect(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
