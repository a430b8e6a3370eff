"""The entries of the reference: what stands below each public name, and that none is missing.

* ``{api} module`` lists names and documents each with autodoc: signature as written in the
  source, a Chinese summary line (``book/api/summaries.yml``), the docstring, and a link to the
  chapter that explains it;
* ``{api-table} module`` gives an overview, ``{api-shapes}`` the table of tensor types;
* a public name without an entry or a summary, or the reverse, is a warning.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from reference.command_line import ApiCommand
from reference.directives import (
    ENTRIES,
    REFERENCES,
    SUMMARIES,
    Api,
    ApiShapes,
    ApiTable,
    Reference,
    myst_text,
)
from reference.links import ExplainedIn, resolve_foreign_names, setup_links
from reference.package_names import Definition, written_signature

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"


def sign_as_written(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str | None] | None:
    """Show the shapes' names instead of what they stand for."""
    reference = REFERENCES[app.env]
    for owner in (name, name.rpartition(".")[0]):
        definition = reference.names.get(owner)
        if definition is None:
            continue
        of_member = owner != name
        node = member(definition, name.rpartition(".")[2]) if of_member else definition.node
        written = written_signature(node) if node is not None else None
        return (written[0], written[1] or None) if written else None
    return None


def member(definition: Definition, name: str) -> ast.stmt | None:
    body: list[ast.stmt] = getattr(definition.node, "body", [])
    return next((n for n in body if getattr(n, "name", None) == name), None)


def lay_out_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Mark docstrings as English; add the Chinese line and the place of the link back."""
    reference = REFERENCES[app.env]
    for entry in list(doctree.findall(addnodes.desc)):
        signature, content = entry.children[0], entry.children[-1]
        assert isinstance(signature, addnodes.desc_signature)
        assert isinstance(content, addnodes.desc_content)
        name = f"{signature.get('module')}.{signature.get('fullname')}"
        content[:] = list(english_parts(content))
        if name in reference.names:
            zh = nodes.container(classes=["bl", "bl-zh", "language-zh-Hans", "api-summary"])
            zh += myst_text(reference.summaries.get(name, ""))
            content.insert(0, zh)
            content.append(ExplainedIn(name=name))


def english_parts(content: nodes.Element) -> Iterator[nodes.Node]:
    """Wrap what stands between the nested entries."""
    english = nodes.container(classes=["api-docstring", "language-en"])
    for child in list(content.children):
        if isinstance(child, addnodes.desc | addnodes.index):
            if english.children:
                yield english
            english = nodes.container(classes=["api-docstring", "language-en"])
            yield child
        else:
            english += child
    if english.children:
        yield english


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name has one entry and one summary, and nothing else has."""
    reference = REFERENCES[app.env]
    entries = [name for names in ENTRIES.of(env).values() for name in names]
    if not entries:
        return  # a book without a reference
    for name in sorted(set(reference.names) - set(entries)):
        logger.warning("api: %s is public but stands in no page of book/api", name)
    for name in sorted({name for name in entries if entries.count(name) > 1}):
        logger.warning("api: %s has more than one entry", name)
    shapes = reference.of_module(reference.shapes)
    described = {f"{reference.shapes}.{short}" for short in reference.shape_texts}
    for name in sorted((set(reference.names) - set(shapes)) ^ set(reference.summaries)):
        logger.warning("api: %s: public names and %s differ", name, SUMMARIES)
    for name in sorted(set(shapes) ^ described):
        logger.warning("api: %s: tensor types and %s differ", name, SUMMARIES)


def start(app: Sphinx) -> None:
    REFERENCES[app.env] = Reference(app)
    # autodoc must document the package beside the book, not another installed copy
    sys.path.insert(0, str(Path(app.srcdir).parent / "src"))


def add_stylesheet(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    if pagename in ENTRIES.of(app.env):
        app.add_css_file("api.css")


def set_docstring_style(app: Sphinx, config: Any) -> None:
    config.html_static_path.append(str(STATIC))
    config.autodoc_typehints = "none"  # signatures come from the source
    if "autodoc_use_legacy_class_based" in config:
        # Sphinx 9 reads anew; there it takes no signature of ours where it found none (properties).
        config.autodoc_use_legacy_class_based = True
    config.python_maximum_signature_line_length = 60  # a longer one: a line for each parameter
    config.autodoc_member_order = "bysource"
    config.napoleon_use_ivar = True  # a dataclass's fields are listed, not indexed one by one
    config.napoleon_attr_annotations = False  # their types stand in the signature


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_config_value("api_package", "attention_book", "env")
    for name, directive in (("api", Api), ("api-table", ApiTable), ("api-shapes", ApiShapes)):
        app.add_directive(name, directive)
    app.add_directive("api-command", ApiCommand)
    app.connect("config-inited", set_docstring_style, priority=400)  # before autodoc reads it
    app.connect("builder-inited", start)
    app.connect("autodoc-process-signature", sign_as_written)
    app.connect("doctree-read", lay_out_entries)
    ENTRIES.connect(app)
    app.connect("env-check-consistency", check_complete)
    app.connect("missing-reference", resolve_foreign_names)
    app.connect("html-page-context", add_stylesheet)
    setup_links(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
