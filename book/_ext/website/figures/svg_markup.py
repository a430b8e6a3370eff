"""An SVG drawing is turned into markup that can stand inside a page.

Pure functions on parsed drawings, used by ``inline_svg`` for the site and by
``notebooks`` for the one-language notebooks.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

SVG = "{http://www.w3.org/2000/svg}"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"

#: ``L("查询", "query")`` of the package is "查询", this thin space, "query".
SEPARATOR = "\u2009"

#: Ink and paper follow the page's color mode, and so do the numbers on weights, whose colors do
#: (diagrams.css); every other color is the author's.
PAGE_COLORS = {
    "#000000": "currentColor",
    "#ffffff": "var(--pst-color-background)",
    "#020202": "var(--weight-on-low)",
    "#fdfdfd": "var(--weight-on-high)",
}
#: From the ramp of weights on paper to that in the dark: the red of the first, from #fd to #4a,
#: says the weight, and the table has the three points of the second, #14181e, #a3246f and #ffb3dc.
IN_THE_DARK = (
    '<filter xmlns="http://www.w3.org/2000/svg" id="weights-in-the-dark" x="0" y="0" width="1"'
    ' height="1" color-interpolation-filters="sRGB"><feColorMatrix values="'
    + "-1.4246 0 0 0 1.4134 "
    * 3
    + '0 0 0 1 0"/><feComponentTransfer>'
    '<feFuncR type="table" tableValues=".078 .639 1"/>'
    '<feFuncG type="table" tableValues=".094 .141 .702"/>'
    '<feFuncB type="table" tableValues=".118 .435 .863"/>'
    "</feComponentTransfer></filter>"
)

LANGUAGES = {"zh": "zh-Hans", "en": "en"}
REFERENCE = re.compile(r"url\(#([^)]+)\)")
POINTS = {"pt": 4 / 3, "px": 1.0, "": 1.0, "in": 96.0}


def parse(text: str) -> etree._Element:
    """Return the drawing's root, without comments, doctype and metadata."""
    parser = etree.XMLParser(
        remove_comments=True, remove_pis=True, resolve_entities=False, no_network=True
    )
    root = etree.fromstring(text.encode("utf8"), parser)
    for metadata in root.findall(f".//{SVG}metadata"):
        metadata.getparent().remove(metadata)
    return root


def read(path: Path) -> etree._Element:
    return parse(path.read_text(encoding="utf8"))


def scope_ids(root: etree._Element, prefix: str) -> None:
    """Give the ids that are referred to a prefix of their own and drop all others."""
    for element in root.iter():
        if XLINK_HREF in element.attrib:
            element.set("href", element.attrib.pop(XLINK_HREF))
    used = {e.get("href")[1:] for e in root.iter() if (e.get("href") or "").startswith("#")}
    used |= {m for e in root.iter() for v in e.attrib.values() for m in REFERENCE.findall(v)}
    for element in root.iter():
        if (name := element.get("id")) is not None:
            if name in used:
                element.set("id", prefix + name)
            else:
                del element.attrib["id"]
        for attribute, value in element.attrib.items():
            if attribute == "href" and value.startswith("#"):
                element.set(attribute, f"#{prefix}{value[1:]}")
            elif "url(#" in value:
                element.set(attribute, REFERENCE.sub(rf"url(#{prefix}\1)", value))
    etree.cleanup_namespaces(root)


def follow_page_colors(root: etree._Element) -> None:
    """Draw matplotlib's black in the text color and its white in the background color."""
    for style in root.findall(f".//{SVG}style"):
        # matplotlib writes one rule, for every element *of the page*; the root inherits it down
        style.getparent().remove(style)
    root.set("stroke-linejoin", "round")
    root.set("fill", "currentColor")  # matplotlib leaves out `fill` where it is black
    for element in root.iter():
        for attribute in ("style", "fill", "stroke"):
            value = element.get(attribute)
            if value:
                for color, replacement in PAGE_COLORS.items():
                    value = value.replace(color, replacement)
                element.set(attribute, value)


def darken_weights(root: etree._Element) -> None:
    """Give the pictures of weights what they need to change with the page's color mode."""
    groups = root.xpath(".//*[local-name()='g'][starts-with(@id, 'weights-')]")
    pictures = [image for group in groups for image in group.iter(f"{SVG}image")]
    if pictures:
        root.insert(0, etree.fromstring(IN_THE_DARK))
    for image in pictures:
        image.set("class", "weight-cells")
        image.set("style", f"--in-the-dark:url(#weights-in-the-dark);{image.get('style', '')}")


def split_languages(root: etree._Element) -> None:
    """Turn every bilingual label into one span for each language."""
    for text in root.iter(f"{SVG}text", f"{SVG}tspan"):
        if SEPARATOR in (text.text or ""):
            zh, en = text.text.split(SEPARATOR, 1)
            text.text = None
            _span(text, zh, "bl bl-zh", LANGUAGES["zh"])
            _span(text, " ", "bl-sep")
            _span(text, en, "bl bl-en", LANGUAGES["en"])


def _span(parent: etree._Element, text: str, css_class: str, lang: str | None = None) -> None:
    span = etree.SubElement(parent, f"{SVG}tspan", {"class": css_class})
    if lang:
        span.set("lang", lang)
    span.text = text


def keep_language(root: etree._Element, language: str) -> None:
    """Remove what is written in the other language."""
    other = {"bl-sep"} | {f"bl-{name}" for name in LANGUAGES if name != language}
    for element in list(root.iter(f"{SVG}*")):
        if other & set((element.get("class") or "").split()):
            parent, before = element.getparent(), element.getprevious()
            if element.tail and before is not None:
                before.tail = (before.tail or "") + element.tail
            elif element.tail:
                parent.text = (parent.text or "") + element.tail
            parent.remove(element)


def keep_whole(root: etree._Element) -> None:
    """Remove what a drawing in stages shows for a while only (``data-stage="2-4"``)."""
    for element in list(root.iter(f"{SVG}*")):
        if "-" in (element.get("data-stage") or ""):
            element.getparent().remove(element)


def fit_width(root: etree._Element, css_class: str) -> None:
    """Let the drawing shrink with the page; one that states a width grows to it at most."""
    root.set("class", f"{css_class} {root.get('class', '')}".strip())
    root.attrib.pop("height", None)
    if width := root.attrib.pop("width", None):
        length = re.fullmatch(r"([\d.]+)([a-z]*)", width)
        if length is None or length[2] not in POINTS:
            raise ValueError(f"width={width!r} of a drawing: expected a number of {list(POINTS)}")
        root.set("style", f"max-width:{float(length[1]) * POINTS[length[2]]:g}px")


def describe(root: etree._Element, zh: str, en: str) -> None:
    """Say what the drawing shows, in both languages (language.js chooses one)."""
    root.set("role", "img")
    root.set("aria-label", f"{zh} | {en}")
    root.set("data-alt-zh", zh)
    root.set("data-alt-en", en)


def stand_alone(root: etree._Element, stylesheet: str) -> str:
    """Return a drawing that carries the rules it needs, for places outside the site.

    Those places may be dark, and the drawing's colors are those of the light mode: it brings
    its own ground.
    """
    classes = {name for element in root.iter() for name in (element.get("class") or "").split()}
    style = etree.Element(f"{SVG}style")
    style.text = "".join(rules_for(classes, stylesheet)) + "svg{background:#ffffff}"
    root.insert(0, style)
    return to_html(root)


def rules_for(classes: set[str], stylesheet: str) -> Iterator[str]:
    """Yield the rules of a flat stylesheet that apply to these classes in the light mode."""
    flat = re.sub(r"/\*.*?\*/", "", stylesheet, flags=re.S)
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", flat):
        kept = [
            selector.strip()
            for selector in selectors.split(",")
            if set(re.findall(r"\.([\w-]+)", selector)) <= classes and "html" not in selector
        ]
        if kept:
            yield ",".join(kept) + "{" + " ".join(body.split()) + "}"


def to_html(root: etree._Element) -> str:
    text: str = etree.tostring(root, encoding="unicode")
    return text.strip()
