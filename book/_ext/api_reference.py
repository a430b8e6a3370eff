"""The reference of the package: every public name once, linked with the chapters both ways.

* ``{api} module`` lists names and documents each with autodoc: signature as written in the
  source, a Chinese summary line (``book/api/summaries.yml``), the docstring, and a link to the
  chapter that explains it;
* ``{api-table} module`` gives an overview, ``{api-shapes}`` the table of tensor types;
* a public name without an entry or a summary, or the reverse, is a warning.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from api_links import ExplainedIn, resolve_foreign_names, setup_links
from docutils import nodes
from docutils.statemachine import StringList
from package_names import Definition, module_file, public_names, written_signature
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

SUMMARIES = "api/summaries.yml"


class Reference:
    """What is known of the package before any page is read."""

    def __init__(self, app: Sphinx) -> None:
        self.package = app.config.api_package
        self.source = Path(app.srcdir).parent / "src"
        self.shapes = f"{self.package}.shapes"
        self.names = public_names(self.package, self.source)
        file = Path(app.srcdir, SUMMARIES)
        texts = yaml.safe_load(file.read_text(encoding="utf8")) if file.is_file() else {}
        self.summaries: dict[str, str] = texts.get("names", {})
        self.shape_texts: dict[str, dict[str, str]] = texts.get("shapes", {})

    def of_module(self, module: str) -> dict[str, Definition]:
        """Return the public names whose home is this module."""
        return {n: d for n, d in self.names.items() if n.rpartition(".")[0] == module}


class ApiDirective(SphinxDirective):
    """What the three directives share: the reference, its files, parsed MyST."""

    required_arguments = 1
    has_content = True

    @property
    def reference(self) -> Reference:
        return self.env.app.api_reference  # type: ignore[attr-defined,no-any-return]

    def note_files(self, module: str) -> None:
        """Read this page again when the module's names or the summaries change."""
        self.env.note_dependency(str(module_file(module, self.reference.source)))
        self.env.note_dependency(str(Path(self.env.srcdir, SUMMARIES)))

    def note_entries(self, names: list[str]) -> None:
        if not hasattr(self.env, "api_entries"):
            self.env.api_entries = {}  # type: ignore[attr-defined]
        self.env.api_entries.setdefault(self.env.docname, []).extend(names)  # type: ignore[attr-defined]

    def parse(self, lines: list[str]) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, holder)
        return holder.children


class Api(ApiDirective):
    """Document the names listed in the content, in this order."""

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        self.note_files(module)
        names = [f"{module}.{line.strip()}" for line in self.content if line.strip()]
        known = [name for name in names if name in self.reference.names]
        for name in set(names) - set(known):
            logger.warning("%s is no public name", name, location=self.get_location())
        self.note_entries(known)
        lines = ["```{eval-rst}"]
        for name in known:
            definition = self.reference.names[name]
            self.env.note_dependency(str(definition.file))
            lines += entry(name, definition)
        return self.parse([*lines, "```"])


def entry(name: str, definition: Definition) -> list[str]:
    """Return the reST that documents a name; a constant's text is the comment above it."""
    module, _, short = name.rpartition(".")
    if definition.kind == "data":
        text = definition.first_line()
        return [f".. py:data:: {short}", f"   :module: {module}", "", f"   {text}", ""]
    options = ["   :members:"] if definition.kind == "class" else []
    return [f".. auto{definition.kind}:: {name}", *options, ""]


class ApiTable(ApiDirective):
    """An overview of a module's names: what each is for, in one line."""

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        self.note_files(module)
        lines = ["| {zh}`名字` {en}`Name` | {zh}`用途` {en}`What it is for` |", "|---|---|"]
        for name, definition in self.reference.of_module(module).items():
            self.env.note_dependency(str(definition.file))
            zh, en = self.reference.summaries.get(name, ""), as_myst(definition.first_line())
            short = name.rpartition(".")[2]
            lines.append(
                f"| {{py:obj}}`{short} <{name}>` | {{zh}}``{cell(zh)}`` {{en}}``{cell(en)}`` |"
            )
        return self.parse(lines)


class ApiShapes(ApiDirective):
    """The table of tensor types; the signatures link to its rows."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        reference = self.reference
        self.note_files(reference.shapes)
        names = reference.of_module(reference.shapes)
        self.note_entries(list(names))
        self.env.api_shapes_page = self.env.docname  # type: ignore[attr-defined]
        lines = ["| {zh}`类型` {en}`Type` | {zh}`形状` {en}`Shape` | {zh}`含义` {en}`Meaning` |"]
        lines.append("|---|---|---|")
        for name, definition in names.items():
            short, value = name.rpartition(".")[2], ast.unparse(definition.node.value)  # type: ignore[attr-defined]
            text = reference.shape_texts.get(short, {"zh": "", "en": ""})
            lines.append(
                f"| `{short}` | `{value}` |"
                f" {{zh}}``{cell(text['zh'])}`` {{en}}``{cell(text['en'])}`` |"
            )
        table = self.parse(lines)
        for tbody in table[0].findall(nodes.tbody):
            for row, name in zip(tbody.children, names, strict=True):
                row["ids"].append(shape_id(name))  # type: ignore[index]
        return table


def shape_id(name: str) -> str:
    return f"shape-{name.rpartition('.')[2].lower()}"


def cell(text: str) -> str:
    """Return MyST that may stand in a table and in a role of two backticks."""
    return text.replace("|", r"\|") or "–"


def as_myst(rst: str) -> str:
    """Return a docstring's line in MyST: maths, code, and names without links."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", rst)
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`").replace(r"\*", "*")


def sign_as_written(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str | None] | None:
    """Show the shapes' names instead of what they stand for."""
    reference: Reference = app.api_reference  # type: ignore[attr-defined]
    for owner in (name, name.rpartition(".")[0]):
        definition = reference.names.get(owner)
        if definition is None:
            continue
        node = definition.node
        if owner != name:
            node = member(definition, name.rpartition(".")[2])
        written = written_signature(node) if node is not None else None
        return (written[0], written[1] or None) if written else None
    return None


def member(definition: Definition, name: str) -> ast.stmt | None:
    body: list[ast.stmt] = getattr(definition.node, "body", [])
    return next((n for n in body if getattr(n, "name", None) == name), None)


def lay_out_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Mark docstrings as English; add the Chinese line and the place of the link back."""
    reference: Reference = app.api_reference  # type: ignore[attr-defined]
    for entry in list(doctree.findall(addnodes.desc)):
        signature, content = entry.children[0], entry.children[-1]
        name = f"{signature.get('module')}.{signature.get('fullname')}"  # type: ignore[attr-defined]
        content[:] = list(english_parts(content))  # type: ignore[index]
        if name in reference.names:
            zh = nodes.container(classes=["bl", "bl-zh", "language-zh-Hans", "api-summary"])
            zh += myst_text(reference.summaries.get(name, ""))
            content.insert(0, zh)  # type: ignore[attr-defined]
            content.append(ExplainedIn(name=name))  # type: ignore[attr-defined]


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


def myst_text(text: str) -> nodes.paragraph:
    """Return a paragraph with `code` and $maths$."""
    paragraph = nodes.paragraph()
    for part in re.split(r"(`[^`]+`|\$[^$]+\$)", text):
        if part.startswith("`"):
            paragraph += nodes.literal(part, part[1:-1])
        elif part.startswith("$"):
            paragraph += nodes.math(part, part[1:-1])
        elif part:
            paragraph += nodes.Text(part)
    return paragraph


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    getattr(env, "api_entries", {}).pop(docname, None)


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name has one entry and one summary, and nothing else has."""
    reference: Reference = app.api_reference  # type: ignore[attr-defined]
    entries = [name for names in getattr(env, "api_entries", {}).values() for name in names]
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
    app.api_reference = Reference(app)  # type: ignore[attr-defined]
    # autodoc must document the package beside the book, not another installed copy
    sys.path.insert(0, str(Path(app.srcdir).parent / "src"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_config_value("api_package", "attention_book", "env")
    for name, directive in (("api", Api), ("api-table", ApiTable), ("api-shapes", ApiShapes)):
        app.add_directive(name, directive)
    app.connect("config-inited", set_docstring_style)
    app.connect("builder-inited", start)
    app.connect("autodoc-process-signature", sign_as_written)
    app.connect("doctree-read", lay_out_entries)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-check-consistency", check_complete)
    app.connect("missing-reference", resolve_foreign_names)
    setup_links(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def set_docstring_style(app: Sphinx, config: Any) -> None:
    config.autodoc_typehints = "none"  # signatures come from the source
    config.autodoc_member_order = "bysource"
    config.napoleon_use_ivar = True  # a dataclass's fields are listed, not indexed one by one
    config.napoleon_attr_annotations = False  # their types stand in the signature
