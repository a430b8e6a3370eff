"""The links between the chapters and the reference, in both directions.

From a reference entry back to the section that explains it: the first, in the order of the
table of contents, that shows the source (``literalinclude`` with ``:pyobject:``, or a
``show_source`` cell), else the first that mentions the name with ``{py:...}``, else the first
whose cells call it. From names that the package does not define (torch's, Python's) to nowhere,
without a warning.
"""

import ast
import builtins
import collections.abc
import re
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bilingual.environment import PerBook, PerPage, reading_order
from bilingual.nodes import LanguageInline
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from reference.directives import ENTRIES, REFERENCES, SHAPES_PAGE, Reference

#: Packages whose objects the book names but does not document.
FOREIGN_PACKAGES = {
    *("torch", "nn", "F", "numpy", "np", "matplotlib", "plt", "jaxtyping", "keras", "tensorflow"),
    *sys.stdlib_module_names,
}
FOREIGN_NAMES = {
    *("Tensor", "Float", "Bool", "Int", "Shaped"),
    *("NDArray", "Axes", "Figure", "Colormap", "Path", "ModuleType", "Tokenizer"),
    *dir(builtins),
    *typing.__all__,
    *collections.abc.__all__,
}
SHOW_SOURCE = re.compile(r"\bshow_source\((\w+)")
#: What only a notebook understands.
MAGIC = re.compile(r"^[%!].*$", re.M)
#: In the order in which they are preferred, and what the link back is called.
KINDS = {
    "shown": ("讲解：", "Explained in: "),
    "mentioned": ("讲解：", "Explained in: "),
    "called": ("用例：", "Used in: "),
}

Place = tuple[str, str]  # a page and an anchor on it

#: What each page explains, by the kind and the name: where on the page.
EXPLAINED = PerPage[dict[str, dict[str, Place]]]("api_explained")
#: How, where and under which title each name was explained when the reference was last written.
EXPLANATIONS = PerBook[dict[str, tuple[str, Place, str]]]("api_explanations", {})


class ExplainedIn(nodes.Element):
    """Becomes "Explained in ..." once all chapters have been read."""


class NotedLiteralInclude(LiteralInclude):
    """Sphinx's directive; its result remembers which object it shows, a method unindented."""

    def run(self) -> list[nodes.Node]:
        if "." in self.options.get("pyobject", ""):
            self.options.setdefault("dedent", None)  # None: by as much as all lines share
        result = super().run()
        if "pyobject" in self.options:
            _, path = self.env.relfn2path(self.arguments[0])
            for node in result:
                if isinstance(node, nodes.Element):
                    node["shows_source"] = (str(Path(path)), self.options["pyobject"])
        return result


def shown_names(app: Sphinx, doctree: nodes.document) -> Iterator[tuple[str, nodes.Node]]:
    """Yield the public names whose source a page shows, and where."""
    names = REFERENCES[app.env].names
    by_place = {(str(d.file), name.rpartition(".")[2]): name for name, d in names.items()}
    by_short = {name.rpartition(".")[2]: name for name in names}
    for node in doctree.findall(nodes.Element):
        if "shows_source" in node:
            file, pyobject = node["shows_source"]
            name = by_place.get((str(Path(file).resolve()), pyobject.partition(".")[0]))
            if name:
                yield name, node
        elif isinstance(node, nodes.literal_block):
            for short in SHOW_SOURCE.findall(node.astext()):
                if short in by_short:
                    yield by_short[short], node


def mentioned_names(app: Sphinx, doctree: nodes.document) -> Iterator[tuple[str, nodes.Node]]:
    names = REFERENCES[app.env].names
    for node in doctree.findall(addnodes.pending_xref):
        target = node.get("reftarget", "").removeprefix("~")
        if node.get("refdomain") == "py":
            for name in (target, target.rpartition(".")[0]):  # a method speaks for its class
                if name in names:
                    yield name, node


def called_names(app: Sphinx, doctree: nodes.document) -> Iterator[tuple[str, nodes.Node]]:
    """Yield the public names that the cells of a page use, as they were imported there."""
    names = REFERENCES[app.env].names
    by_short = {name.rpartition(".")[2]: name for name in names}
    imported: dict[str, str] = {}  # the name in the cells → the name in the package
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") != "cell_code_source":
            continue
        try:
            code = ast.parse(MAGIC.sub("", cell.astext()))
        except SyntaxError:
            continue  # whoever executes the cell has told
        for node in ast.walk(code):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported |= imports_of(node, REFERENCES[app.env].package)
        for short in used_names(code, imported):
            if short in by_short:
                yield by_short[short], cell


def imports_of(node: ast.Import | ast.ImportFrom, package: str) -> dict[str, str]:
    """Return what a statement takes from the package: the name given to it → its own name."""
    module = node.module or "" if isinstance(node, ast.ImportFrom) else package
    if module.partition(".")[0] != package:
        return {}
    aliases = [a for a in node.names if isinstance(node, ast.ImportFrom) or a.name == package]
    return {alias.asname or alias.name: alias.name for alias in aliases}


def used_names(code: ast.Module, imported: dict[str, str]) -> Iterator[str]:
    """Yield, in their own names, what code uses of the imported names and of imported modules."""
    for node in ast.walk(code):
        match node:
            case ast.Name(id=name) if name in imported:
                yield imported[name]
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in imported:
                yield name


def section_of(node: nodes.Node, docname: str) -> Place:
    """Return where the section begins that a node stands in."""
    above: nodes.Node | None = node
    while above is not None and not isinstance(above, nodes.section):
        above = above.parent
    if above is None or not isinstance(above.parent, nodes.section):
        return docname, ""
    return docname, above["ids"][-1]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember what this page shows and mentions; only pages with cells explain."""
    env = app.env
    if "kernelspec" not in env.metadata.get(env.docname, {}):
        return
    finders = (shown_names, mentioned_names, called_names)
    found: dict[str, dict[str, Place]] = {kind: {} for kind in KINDS}
    for kind, names in zip(KINDS, finders, strict=True):
        for name, node in names(app, doctree):
            found[kind].setdefault(name, section_of(node, env.docname))
    EXPLAINED.of(env)[env.docname] = found


def explanations(app: Sphinx) -> dict[str, tuple[str, Place]]:
    """Return how and where each name is explained."""
    explained, names = EXPLAINED.of(app.env), REFERENCES[app.env].names
    pages = [explained[d] for d in reading_order(app.env) if d in explained]
    found: dict[str, tuple[str, Place]] = {}
    for kind in KINDS:
        for page in pages:
            for name, place in page[kind].items():
                found.setdefault(name, (kind, place))
    for name, definition in names.items():
        # what a function returns is explained where the function is
        for result in returned_names(definition.node, names):
            if name in found:
                found.setdefault(result, found[name])
    return found


def returned_names(node: ast.stmt, names: dict[str, Any]) -> list[str]:
    """Return the public names in the annotations of what a function or a method returns."""
    returns = [n.returns for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n.returns]
    words = {word for each in returns for word in re.findall(r"\w+", ast.unparse(each))}
    return [name for name in names if name.rpartition(".")[2] in words]


def rewrite_reference(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the reference's pages again if a chapter that they link to has moved."""
    now = {
        name: (kind, place, env.titles[place[0]].astext())
        for name, (kind, place) in explanations(app).items()
        if place[0] in env.titles
    }
    if not EXPLANATIONS.update(env, now):
        return []
    return [docname for docname in ENTRIES.of(env) if docname in env.found_docs]


def fill_in(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the links back."""
    found = explanations(app) if any(doctree.findall(ExplainedIn)) else {}
    for node in list(doctree.findall(ExplainedIn)):
        if node["name"] not in found:
            node.parent.remove(node)
            continue
        kind, place = found[node["name"]]
        title = nodes.inline("", "", *(c.deepcopy() for c in app.env.titles[place[0]].children))
        link = make_refnode(app.builder, docname, place[0], place[1], title)
        label = [*words("zh", KINDS[kind][0]), *words("en", KINDS[kind][1])]
        node.replace_self(nodes.paragraph("", "", *label, link, classes=["api-explained"]))


def words(language: str, text: str) -> list[nodes.Node]:
    """Return text in one language, as the roles {zh} and {en} make it."""
    return [LanguageInline("", "", nodes.Text(text), language=language)]


def within_their_module(app: Sphinx, doctree: nodes.document) -> None:
    """Look the types of a signature up in its own module first.

    Sphinx looks them up anywhere, and complains where two modules have one of the same name.
    """
    for signature in doctree.findall(addnodes.desc_signature):
        for reference in signature.findall(addnodes.pending_xref):
            if reference.get("refdomain") == "py" and not reference.get("py:module"):
                reference["py:module"] = signature.get("module")


def resolve_foreign_names(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """Resolve what the domain cannot: tensor types, names by their inner path, foreign names."""
    if node.get("refdomain") != "py":
        return None
    reference = REFERENCES[app.env]
    target = node["reftarget"]
    first, short = target.partition(".")[0], target.rpartition(".")[2]
    shape = f"{reference.shapes}.{short}"
    if shape in reference.names and target in (short, shape):
        page = SHAPES_PAGE.of(env)
        anchor = f"shape-{short.lower()}"
        return make_refnode(app.builder, node["refdoc"], page, anchor, content) if page else content
    if first == reference.package or first == target:
        same = [name for name in reference.names if name.rpartition(".")[2] == short]
        if len(same) == 1 and (first == target or same[0] != target):
            domain = env.get_domain("py")
            assert isinstance(domain, PythonDomain)
            if entry := domain.objects.get(same[0]):
                anchor = entry.node_id
                return make_refnode(app.builder, node["refdoc"], entry.docname, anchor, content)
    is_foreign = first in FOREIGN_PACKAGES or (first == target and target in FOREIGN_NAMES)
    return content if is_foreign or is_inner_name(reference, target) else None


def is_inner_name(reference: Reference, target: str) -> bool:
    """Tell whether a signature names something of the package that is not public."""
    pattern = re.compile(rf"^(class {re.escape(target)}\b|{re.escape(target)} = )", re.M)
    files = (reference.source / reference.package).rglob("*.py")
    return any(pattern.search(file.read_text(encoding="utf8")) for file in files)


def setup_links(app: Sphinx) -> None:
    app.add_node(ExplainedIn)
    app.add_directive("literalinclude", NotedLiteralInclude, override=True)
    EXPLAINED.connect(app)
    app.connect("doctree-read", collect)
    app.connect("env-updated", rewrite_reference)
    app.connect("doctree-read", within_their_module)
    app.connect("doctree-resolved", fill_in)
