"""A stylesheet is trimmed of the components that no page of the book has.

The theme brings all of Bootstrap.  `trim` drops every selector that needs a class of a family
in `FAMILIES`, or, where it is told what names there are, one that no page and no script has; at
the level of rules, so that what is left is exactly the theme's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

FAMILIES = (
    "accordion", "offcanvas", "carousel", "modal", "toast", "spinner", "placeholder", "progress",
    "pagination", "breadcrumb", "list-group", "card", "alert", "badge", "popover", "input-group",
    "form-(?:check|select|range|floating|switch|text|label)", "was-validated", "is-(?:in)?valid",
    "(?:in)?valid-(?:feedback|tooltip)", 
    "btn-(?:outline|group|check|close|success|danger|warning|info|light|dark|secondary|lg)",
    "sd-", "ablog", "sphinx-tabs", "dataframe", "jupyter-widgets", "thebe", "sphinx-bs",
    "col-", "row-cols", "offset-", "order-", "g[xy]?-[0-9]", "gap-", "float-", "fs-", "fw-", "lh-",
    "[mp][tbsexy]?-(?:sm|md|lg|xl|xxl)-", "m[tbsexy]?-n?[0-9]", "[pm][tbsexy]?-[0-9]",
    "justify-content-", "align-(?:items|content|self)-(?:sm|md|lg|xl)", "flex-(?:sm|md|lg|xl)",
    "d-(?:sm|md|lg|xl|xxl)-", "text-bg", "text-(?:sm|md|lg|xl)", "border-", "rounded-[0-9]",
    "link-", "bg-", "ratio", "vstack", "hstack", "stretched-link", 
    "table-(?:primary|secondary|success|info|warning|danger|light|dark)",
    "table-(?:striped|hover|active|bordered|responsive|sm)",
    "navbar-(?:expand-(?:sm|md|xl|xxl)|dark|text|toggler)", "nav-(?:tabs|pills|fill|justified)",
    "dropdown-menu-(?:sm|md|lg|xl|xxl)", "dropup", "dropstart", "dropend", "-Color",
    "version-switcher", "bd-search-container", 
    "fa-(?:spin|beat|bounce|fade|flip|shake|rotate|pull|stack)",
    "fa-(?:[0-9]+x|border|ul|li|inverse|2xs|2xl)(?![\\w-])",
)  # fmt: skip
KEPT = (
    "d-none", "d-flex", "d-print-none", "align-items-center", "btn-outline-none", "border-0",
    "col-align-[lcr]",  # KaTeX's columns
    "me-1",  # in the menu of color modes of the theme's 0.20
)  # fmt: skip
_UNUSED = re.compile(r"\.(?:" + "|".join(FAMILIES) + ")")
_NEVER = re.compile(r"\.(?:" + "|".join(KEPT) + r")(?![\w-])")
_NOT = re.compile(r":not\([^()]*\)")
#: What is left out of a selector to find the names that it needs.
_STRING = re.compile(r"\[[^\]]*\]")
_INSIDE = re.compile(r"\([^()]*\)")
_NAME = re.compile(r"[.#]([A-Za-z_][\w-]*)")
_TOKEN = re.compile(
    r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | url\([^"')][^)]*\) | [{};] """, re.S | re.X
)
NESTED = ("@media", "@supports", "@layer", "@container")


def trim(css: str, names: Set[str] | None = None) -> str:
    """Drop what only pages with unused components need; with `names`, what has another class.

    >>> trim(".a,.card:is(.b,.c){x:y}.modal{z:0}@media print{.toast{q:r}}")
    '.a{x:y}'
    >>> trim(".a .b,.a:is(.c,.d),#e{x:y}", {"a"})
    '.a:is(.c,.d){x:y}'
    """
    return "".join(_trimmed(css, names))


def _trimmed(css: str, names: Set[str] | None) -> Iterator[str]:
    for head, body in _rules(css):
        if body is None:
            yield f"{head};"
        elif head.startswith(NESTED):
            inner = trim(body, names)
            if inner:
                yield f"{head}{{{inner}}}"
        elif head.startswith("@"):
            yield f"{head}{{{body}}}"
        else:
            kept = [
                selector
                for selector in _alternatives(head)
                if not _is_unused(selector) and (names is None or _named(selector) <= names)
            ]
            if kept:
                yield f"{','.join(kept)}{{{body}}}"


def _is_unused(selector: str) -> bool:
    return bool(_UNUSED.search(_NEVER.sub("", _NOT.sub("", selector))))


def _named(selector: str) -> set[str]:
    """Return the classes and ids that an element must have, or lie within, to be meant."""
    plain = _STRING.sub("", selector)
    while (inner := _INSIDE.sub("", plain)) != plain:
        plain = inner
    return set(_NAME.findall(plain))


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Each rule's head and body; a statement such as @import has no body."""
    start = opened = depth = 0
    for token in _TOKEN.finditer(css):
        if token[0] == "{":
            opened = opened if depth else token.start()
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                yield css[start:opened].strip(), css[opened + 1 : token.start()].strip()
                start = token.end()
        elif token[0] == ";" and depth == 0:
            yield css[start : token.start()].strip(), None
            start = token.end()


def _alternatives(head: str) -> Iterator[str]:
    """Split a selector list at its commas, not at those inside :is(…) or [x="a,b"]."""
    depth, start = 0, 0
    for position, letter in enumerate(head):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield head[start:position].strip()
            start = position + 1
    yield head[start:].strip()
