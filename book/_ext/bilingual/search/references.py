"""References in the index: the words that a reader sees there, not the label in the source.

When a page is read, what a reference leads to may not have been read yet. So the index first gets
the label, fenced by marks of its own, and the words once all pages have been read.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from bilingual.citations import JOINTS
from bilingual.marks import Bilingual, pick

OPEN, CLOSE = "\ue010", "\ue011"
_FENCED = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}")
#: What a label is called that has no words of its own, by the type of its reference.
_UNNAMED = {"eq": Bilingual("公式", "the equation"), "numref": Bilingual("图", "the figure")}
_EXERCISE = Bilingual("练习", "exercise")


def fenced_label(node: nodes.Node) -> str | None:
    """Return the mark of a reference that shows no words of its own; None for any other node."""
    if not isinstance(node, addnodes.pending_xref) or node.get("refexplicit"):
        return None
    if node.get("refdomain") == "cite" or node.get("reftype") in ("ref", "numref", "eq"):
        return f"{OPEN}{node.get('refdomain')} {node['reftype']} {node['reftarget']}{CLOSE}"
    return None


def with_words(env: BuildEnvironment, text: str, language: str) -> str:
    """Put words in one language in the place of the marked labels."""

    def words(found: re.Match[str]) -> str:
        domain, kind, target = found[1].split(" ", 2)
        named = _cited(env, target) if domain == "cite" else _title(env, kind, target)
        return pick(named, language).strip()

    return _FENCED.sub(words, text)


def _title(env: BuildEnvironment, kind: str, target: str) -> str:
    labels = env.get_domain("std").data["labels"]
    if kind == "ref" and target.lower() in labels:
        return str(labels[target.lower()][2])
    return _UNNAMED.get(kind, _EXERCISE if kind == "ref" else "")


def _cited(env: BuildEnvironment, keys: str) -> str:
    """Return authors and year of each source; of an unknown one, its key."""
    entries = {each.key: each.entry for each in getattr(env.get_domain("cite"), "citations", ())}
    named = [_source(entries.get(key), key) for key in map(str.strip, keys.split(","))]
    return f"[{'; '.join(named)}]"


def _source(entry: Any, key: str) -> str:
    names = [" ".join(each.last_names) for each in entry.persons.get("author", ())] if entry else []
    if not names:
        return key
    if len(names) == 1:
        others = ""
    elif len(names) == 2:
        others = Bilingual(JOINTS[" and "], " and ") + names[1]
    else:
        others = Bilingual(" " + JOINTS["et al."], " et al.")
    return f"{names[0]}{others}, {entry.fields.get('year', '')}"
