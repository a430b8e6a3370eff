"""The directives {api}, {api-table} and {api-shapes}: entries, an overview, the tensor types."""

import re
from pathlib import Path
from weakref import WeakKeyDictionary

import yaml
from bilingual.environment import PerBook, PerPage
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from reference.package_names import Definition, module_file, public_names

logger = logging.getLogger(__name__)

SUMMARIES = "api/summaries.yml"


class Reference:
    """What is known of the package before any page is read."""

    def __init__(self, app: Sphinx) -> None:
        self.package = app.config.api_package
        self.source = Path(app.srcdir).parent / "src"
        self.shapes = f"{self.package}.foundations.shapes"
        self.names = public_names(self.package, self.source)
        file = Path(app.srcdir, SUMMARIES)
        texts = yaml.safe_load(file.read_text(encoding="utf8")) if file.is_file() else {}
        self.summaries: dict[str, str] = texts.get("names", {})
        self.shape_texts: dict[str, dict[str, str]] = texts.get("shapes", {})

    def of_module(self, module: str) -> dict[str, Definition]:
        """Return the public names whose home is this module."""
        return {n: d for n, d in self.names.items() if n.rpartition(".")[0] == module}


#: What is known in each running build.
REFERENCES: WeakKeyDictionary[BuildEnvironment, Reference] = WeakKeyDictionary()
#: The names that each page has an entry for.
ENTRIES = PerPage[list[str]]("api_entries")
#: The page with the table of tensor types.
SHAPES_PAGE = PerBook("api_shapes_page", "")


class ApiDirective(SphinxDirective):
    """What the three directives share: the reference, its files, parsed MyST."""

    required_arguments = 1
    has_content = True

    @property
    def reference(self) -> Reference:
        return REFERENCES[self.env]

    def note_files(self, module: str) -> None:
        """Read this page again when the module's names or the summaries change."""
        self.env.note_dependency(str(module_file(module, self.reference.source)))
        self.env.note_dependency(str(Path(self.env.srcdir, SUMMARIES)))

    def note_entries(self, names: list[str]) -> None:
        """Remember that these names have their entries on this page."""
        ENTRIES.of(self.env).setdefault(self.env.docname, []).extend(names)

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
        self.note_entries([])  # the page is one of the reference
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
        SHAPES_PAGE.update(self.env, self.env.docname)
        lines = ["| {zh}`类型` {en}`Type` | {zh}`形状` {en}`Shape` | {zh}`含义` {en}`Meaning` |"]
        lines.append("|---|---|---|")
        for name, definition in names.items():
            short, value = name.rpartition(".")[2], definition.value()
            text = reference.shape_texts.get(short, {"zh": "", "en": ""})
            lines.append(
                f"| `{short}` | `{value}` |"
                f" {{zh}}``{cell(text['zh'])}`` {{en}}``{cell(text['en'])}`` |"
            )
        table = self.parse(lines)
        rows = [row for tbody in table[0].findall(nodes.tbody) for row in tbody.findall(nodes.row)]
        for row, name in zip(rows, names, strict=True):
            row["ids"].append(shape_id(name))
        return table


def shape_id(name: str) -> str:
    return f"shape-{name.rpartition('.')[2].lower()}"


def cell(text: str) -> str:
    """Return MyST that may stand in a table and in a role of two backticks."""
    return text.replace("|", r"\|") or "–"


def as_myst(rst: str) -> str:
    """Return a docstring's line in MyST: math, code, and names without links."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", rst)
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`").replace(r"\*", "*")


def myst_text(text: str) -> nodes.paragraph:
    """Return a paragraph with `code` and $math$."""
    paragraph = nodes.paragraph()
    for part in re.split(r"(`[^`]+`|\$[^$]+\$)", text):
        if part.startswith("`"):
            paragraph += nodes.literal(part, part[1:-1])
        elif part.startswith("$"):
            paragraph += nodes.math(part, part[1:-1])
        elif part:
            paragraph += nodes.Text(part)
    return paragraph
