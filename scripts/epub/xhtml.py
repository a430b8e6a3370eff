"""A tree of lxml.html becomes XHTML: namespaces, the names of SVG, nothing that XML refuses."""

from __future__ import annotations

import re

from lxml import etree
from pages.one_language import Element

XHTML = "http://www.w3.org/1999/xhtml"
OPS = "http://www.idpf.org/2007/ops"
SVG = "http://www.w3.org/2000/svg"
MATHML = "http://www.w3.org/1998/Math/MathML"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

#: A parser of HTML writes names in small letters; in SVG these have capitals.
_NAMES = """
viewBox preserveAspectRatio clipPath clipPathUnits linearGradient radialGradient gradientUnits
gradientTransform markerWidth markerHeight markerUnits refX refY patternUnits patternTransform
patternContentUnits maskUnits maskContentUnits textLength lengthAdjust textPath startOffset
spreadMethod stdDeviation filterUnits foreignObject
"""
CAPITALS = {name.lower(): name for name in _NAMES.split()}
_NAME = re.compile(r"[A-Za-z_][\w.-]*$")
#: Only what XML 1.0 allows.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_FOR_BOOKS = re.compile(r"(on|data-bl|data-zh-|data-en-|data-alt-)|(loading|decoding)$")


def converted(source: Element, namespace: str = XHTML) -> Element:
    """Return a copy of an element, with namespaces, as XML wants it."""
    return copied(source, None, namespace)


def copied(source: Element, parent: Element | None, namespace: str) -> Element:
    tag = str(source.tag)
    namespace = {"svg": SVG, "math": MATHML, "foreignobject": XHTML}.get(tag, namespace)
    name = CAPITALS.get(tag, tag) if namespace == SVG or tag == "foreignobject" else tag
    attributes = {
        CAPITALS.get(key, key) if namespace == SVG else key: _FORBIDDEN.sub("", value)
        for key, value in source.attrib.items()
        if _NAME.match(key) and key != "xmlns" and not _NOT_FOR_BOOKS.match(key)
    }
    if "lang" in attributes and namespace == SVG:
        attributes[XML_LANG] = attributes.pop("lang")
    mapping = {None: namespace}
    if parent is None:
        element = etree.Element(f"{{{namespace}}}{name}", attributes, nsmap=mapping)
    else:
        element = etree.SubElement(parent, f"{{{namespace}}}{name}", attributes, nsmap=mapping)
    element.text = _FORBIDDEN.sub("", source.text) if source.text else None
    for child in source:
        if not isinstance(child.tag, str):  # a comment: what follows it is text
            add_text(element, child.tail)
            continue
        copy = copied(child, element, namespace)
        copy.tail = _FORBIDDEN.sub("", child.tail) if child.tail else None
    return element


def add_text(element: Element, text: str | None) -> None:
    if not text:
        return
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def add(parent: Element, name: str, text: str | None = None, **attributes: str) -> Element:
    """Add an element of XHTML; ``class_`` is its class."""
    named = {key.rstrip("_"): value for key, value in attributes.items()}
    child = etree.SubElement(parent, f"{{{XHTML}}}{name}", named)
    child.text = text
    return child


def section(kind: str) -> Element:
    return etree.Element(f"{{{XHTML}}}section", {"class": kind}, nsmap={None: XHTML})


def page(title: str, language: str, body: Element, kind: str = "chapter") -> bytes:
    """Return a whole XHTML file."""
    root = etree.Element(f"{{{XHTML}}}html", nsmap={None: XHTML, "epub": OPS})
    root.set("lang", language)
    root.set(XML_LANG, language)
    head = etree.SubElement(root, f"{{{XHTML}}}head")
    etree.SubElement(head, f"{{{XHTML}}}title").text = title
    etree.SubElement(head, f"{{{XHTML}}}link", rel="stylesheet", type="text/css", href="book.css")
    holder = etree.SubElement(root, f"{{{XHTML}}}body")
    holder.set(f"{{{OPS}}}type", kind)
    holder.append(body)
    etree.cleanup_namespaces(root, keep_ns_prefixes=["epub"])
    text = etree.tostring(root, encoding="utf-8", xml_declaration=True, doctype="<!DOCTYPE html>")
    return bytes(text)
