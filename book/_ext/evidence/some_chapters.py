"""A book of some of its chapters: ``BOOK_CHAPTERS="masks scoring" make book``.

The chapters are the pages of the contents' numbered parts; those that are not named leave the
contents, and their files are not read. All other pages stay. A reference to what is left out
becomes words: its own, or the title that stands in the source. An item of a list in a box of the
class ``door`` that leads there goes, and an empty box with it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from bilingual.marks import Bilingual, mark
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform

from evidence.nearest import nearest

VARIABLE = "BOOK_CHAPTERS"
#: The setting that holds the labels of what is left out; a page is read anew when it changes.
LABELS = "evidence_left_out"
DOOR = "door"

#: A label before a heading, and the name of a directive, which may have a title.
TARGET = re.compile(r"^\((?P<label>[\w-]+)\)=$(?=\n(?:\([\w-]+\)=\n)*(?:#+ (?P<title>.+)$)?)", re.M)
NAMED = re.compile(
    r"^[`:]{3,}\{[\w:-]+\} ?(?P<title>.*)\n(?::[\w-]+:.*\n)*?:(?:name|label): (?P<label>[\w-]+)$",
    re.M,
)
#: The name of a figure that a cell draws.
DRAWN = re.compile(r"^ +name: (?P<label>[\w-]+)$(?P<title>)", re.M)
HEADING = re.compile(r"^# (?P<title>.+)$", re.M)
INLINE = re.compile(r"\{(?P<language>zh|en)\}(?P<ticks>`+)(?P<words>.+?)(?<!`)(?P=ticks)(?!`)")
PLAIN = re.compile(r"[`*$]")
#: What something without a title is called.
UNTITLED = {
    "eq": Bilingual("那里的公式", "the equation there"),
    "numref": Bilingual("那里的图", "the figure there"),
}
ELSEWHERE = Bilingual("别处", "elsewhere")


class ChaptersError(SphinxError):
    """The variable names something that is no chapter."""

    category = VARIABLE


class LeftOut(NamedTuple):
    """The chapters that this book is built without with their titles, and their labels'."""

    pages: dict[str, str]
    titles: dict[str, str]


def left_out(env: BuildEnvironment) -> LeftOut:
    """Return what this build leaves out: nothing, unless it is told to."""
    return LeftOut(*env.config[LABELS])


def choose(app: Sphinx, config: Config) -> None:
    """Take the chapters that are not named out of the contents, and their files out of sight."""
    wanted = os.environ.get(VARIABLE, "").split()
    if not wanted:
        return
    contents = config.external_site_map
    trees = [tree for tree in contents.root.subtrees if tree.numbered]
    known = [str(item) for tree in trees for item in tree.items]
    if unknown := [name for name in wanted if name not in known]:
        raise ChaptersError(
            "; ".join(f"there is no chapter {name}{nearest(name, known)}" for name in unknown)
        )
    gone = [name for name in known if name not in wanted]
    for tree in trees:
        tree.items = [item for item in tree.items if str(item) not in gone]
    contents.root.subtrees = [tree for tree in contents.root.subtrees if tree.items]
    for name in gone:
        del contents[name]
    config.exclude_patterns = [*config.exclude_patterns, *(f"{name}.md" for name in gone)]
    pages: dict[str, str] = {}
    titles: dict[str, str] = {}
    for name in gone:
        source = Path(app.srcdir, f"{name}.md").read_text(encoding="utf8")
        heading = HEADING.search(source)
        pages[name] = in_both(heading["title"]) if heading else ""
        titles |= titles_of(source)
    config[LABELS] = (pages, titles)


def titles_of(source: str) -> dict[str, str]:
    """Return the labels of a page, each with its title, or nothing where there is none.

    >>> titles_of("(sec-a)=\\n# {zh}`甲` {en}`A`\\n") == {"sec-a": Bilingual("甲", "A")}
    True
    >>> titles_of(":::{figure} x.svg\\n:name: fig-a\\n")
    {'fig-a': ''}
    >>> list(titles_of("(sec-b)=\\n(sec-c)=\\n## {en}`C`\\n"))
    ['sec-b', 'sec-c']
    """
    return {
        each["label"].lower(): in_both(each["title"] or "")
        for pattern in (TARGET, NAMED, DRAWN)
        for each in pattern.finditer(source)
    }


def in_both(heading: str) -> str:
    """Return the words of a heading, marked by language."""
    words = ((each["language"], each["words"]) for each in INLINE.finditer(heading))
    return "".join(mark(language, PLAIN.sub("", text)) for language, text in words)


def to_words(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, words: nodes.TextElement
) -> nodes.Node | None:
    """Return the words of a reference to what is left out."""
    out = left_out(env)
    target = str(node["reftarget"])
    page = target.partition("#")[0].removesuffix(".md").strip("/")
    if target.lower() not in out.titles and page not in out.pages:
        return None
    if node.get("refexplicit") and node.astext() and node.get("reftype") not in UNTITLED:
        return nodes.inline("", "", *(child.deepcopy() for child in node[0].children))
    title = out.titles.get(target.lower()) or out.pages.get(page)
    title = title or UNTITLED.get(str(node.get("reftype")), ELSEWHERE)
    return nodes.inline("", "", nodes.Text(title))


class CloseDoors(SphinxPostTransform):
    """Take out of the doors what leads to a chapter that is left out."""

    default_priority = 1

    def run(self, **kwargs: object) -> None:
        out = left_out(self.env)
        if not out.pages:
            return
        for door in list(self.document.findall(is_door)):
            for item in list(door.findall(nodes.list_item)):
                targets = (str(each["reftarget"]) for each in item.findall(addnodes.pending_xref))
                if any(target.lower() in out.titles for target in targets):
                    item.parent.remove(item)
            if not any(door.findall(nodes.list_item)):
                door.parent.remove(door)


def is_door(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and DOOR in node["classes"]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value(LABELS, ({}, {}), "env")
    if "sphinx_external_toc" in app.extensions:
        app.connect("config-inited", choose, priority=905)  # contents read, not yet checked
    app.add_post_transform(CloseDoors)
    app.connect("missing-reference", to_words, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
