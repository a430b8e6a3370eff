"""A drawing of a page becomes a file of its own, with its colors written into it.

A drawing inside a page cannot be tapped to see it large, and a reading system that is dark shows
its dark lines on black. In a file it can, and brings its own ground. No page's stylesheet reaches
it there: what the site's rules say is written to each element, variables filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import cssselect2
import tinycss2
from lxml import etree
from pages.one_language import Element

from epub.xhtml import SVG, converted

#: The styles that reach drawings, weakest first; the colors are those of the light page.
STYLES = ("book.css", "figures.css", "diagrams.css", "live.css", "cut.css")
#: Properties that mean something in a drawing that lies still.
DRAWN = re.compile(
    r"fill|stroke|font|text-anchor|text-decoration|opacity|paint-order|dominant|letter-spacing"
)
#: Of the page's rules only those for parts of drawings; the page's type is not for them.
OF_DRAWINGS = re.compile(r"\.(dg-|live-|figure-svg|diagram-svg)|svg")
FONTS = "system-ui, 'Noto Sans', 'PingFang SC', 'Noto Sans SC', 'Noto Sans CJK SC', sans-serif"
_MIXED = re.compile(r"color-mix\(in srgb, #(\w{6}) (\d+)%, #(\w{6})\)")
_VAR = re.compile(r"var\((--[\w-]+)\s*(?:,\s*((?:[^()]|\([^()]*\))*))?\)")


class Styles:
    """The site's rules for drawings."""

    def __init__(self, static: Path) -> None:
        self.matcher = cssselect2.Matcher()
        self.values: dict[str, str] = {}
        for name in STYLES:
            text = (static / name).read_text(encoding="utf8")
            for rule in tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True):
                if rule.type == "qualified-rule":
                    self.add(tinycss2.serialize(rule.prelude).strip(), rule)
        self.values["--pst-font-family-base"] = FONTS
        self.values["--pst-font-family-monospace"] = "ui-monospace, monospace"

    def add(self, selector: str, rule: Any) -> None:
        """Take a rule in if it is one for drawings on a light page."""
        declared = {
            each.name: tinycss2.serialize(each.value).strip()
            for each in tinycss2.parse_blocks_contents(rule.content)
            if each.type == "declaration"
        }
        if "dark" in selector or ("not(" in selector and "html" in selector):
            return
        for name, value in declared.items():
            if name.startswith("--"):
                self.values.setdefault(name, value)
        drawn = {n: v for n, v in declared.items() if DRAWN.match(n) and not n.startswith("--")}
        if not drawn or not OF_DRAWINGS.search(selector) or "html" in selector:
            return
        with suppress(cssselect2.SelectorError):  # such as :has(), of pages alone
            for compiled in cssselect2.compile_selector_list(selector):
                self.matcher.add_selector(compiled, drawn)

    def filled(self, value: str) -> str:
        """Put the values of variables in their places."""
        for _ in range(8):
            found = _VAR.search(value)
            if not found:
                return _MIXED.sub(mixed, value)  # which older reading systems do not know
            known = self.values.get(found[1], (found[2] or "").strip() or "currentColor")
            value = value[: found.start()] + known + value[found.end() :]
        return value

    def write_to(self, root: Element) -> None:
        """Write to each element of a drawing what the rules say; its own style is stronger."""
        for wrapper in cssselect2.ElementWrapper.from_xml_root(holder_of(root)).iter_subtree():
            style: dict[str, str] = {}
            for *_, declared in sorted(self.matcher.match(wrapper), key=lambda m: (m[0], m[1])):
                style |= {name: self.filled(value) for name, value in declared.items()}
            element = wrapper.etree_element
            own = element.get("style")
            if style:
                rules = ";".join(f"{name}:{value}" for name, value in style.items())
                element.set("style", f"{rules};{own}" if own else rules)
            for name, value in element.attrib.items():
                if "var(" in value:
                    element.set(name, self.filled(value))
            element.attrib.pop("class", None)


def mixed(found: re.Match[str]) -> str:
    """Return the color between two.

    >>> mixed(_MIXED.fullmatch("color-mix(in srgb, #ff0000 50%, #0000ff)"))
    '#800080'
    """
    share = int(found[2]) / 100
    pairs = zip(*(bytes.fromhex(found[i]) for i in (1, 3)), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def holder_of(root: Element) -> Element:
    """Return a root for the matcher: the drawing in a box of live figures, which rules name."""
    holder = etree.Element("div", {"class": "live"})
    holder.append(root)
    return holder


@lru_cache(maxsize=1)
def styles_of(static: Path) -> Styles:
    return Styles(static)


def file_of(drawing: Element, static: Path) -> bytes:
    """Return a file of a drawing that stands in a page (lxml.html, one language)."""
    root = converted(drawing, SVG)
    styles_of(static).write_to(root)
    width, height = size_of(root)
    for name in ("role", "aria-label", "aria-labelledby", "tabindex", "style"):
        root.attrib.pop(name, None)
    root.set("width", f"{width:g}")
    root.set("height", f"{height:g}")
    root.set("font-family", root.get("font-family") or FONTS)
    root.set("color", "#1f2328")
    if root.get("fill") == "currentColor":
        root.set("fill", "#1f2328")
    left, top, wide, high = box_of(root)
    ground = etree.Element(f"{{{SVG}}}rect", fill="#ffffff", stroke="none")
    for name, value in zip(("x", "y", "width", "height"), (left, top, wide, high), strict=True):
        ground.set(name, f"{value:g}")
    root.insert(0, ground)
    etree.cleanup_namespaces(root)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def box_of(root: Element) -> tuple[float, ...]:
    return tuple(float(number) for number in re.split(r"[\s,]+", root.get("viewBox", "").strip()))


def width_of(content: bytes) -> float:
    """Return the width of a file of a drawing, in pixels."""
    return float(etree.fromstring(content).get("width", ""))


def size_of(root: Element) -> tuple[float, float]:
    """Return the size in pixels at which the drawing is meant to be seen."""
    _, _, wide, high = box_of(root)
    limit = re.search(r"max-width:\s*([\d.]+)px", root.get("style") or "")
    stated = re.match(r"[\d.]+$", root.get("width") or "")
    width = float(limit[1]) if limit else float(stated[0]) if stated else wide
    return width, width * high / wide


def drawings(tree: Element) -> Iterator[Element]:
    """Yield the drawings of a page, but no drawing in another."""
    for svg in list(tree.iter("svg")):
        if not any(ancestor.tag == "svg" for ancestor in svg.iterancestors()):
            yield svg
