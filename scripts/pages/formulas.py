"""Formulas as MathML alone, as it is valid, for readers who have neither KaTeX's styles nor fonts.

KaTeX writes each formula twice: painted, and as MathML for assistive technology. What it writes
is not always valid, and browsers do not heed all of it.
"""

from __future__ import annotations

from lxml import etree

from pages.one_language import Element, class_is

#: How many parts elements of MathML have.
HOLDS = {
    "msub": 2, "msup": 2, "munder": 2, "mover": 2, "mfrac": 2, "msubsup": 3, "munderover": 3,
}  # fmt: skip
APPLIED, SEPARATOR = "\u2061", "\u2063"


def as_mathml(tree: Element) -> None:
    """Leave of each formula its MathML, with its source as text for who cannot show it.

    Punctuation that the site holds fast in a formula's last box stands behind it again.
    """
    for formula in tree.xpath(f".//span[{class_is('katex')}]"):
        (painted,) = formula.xpath(f"./span[{class_is('katex-html')}]")
        closing = "".join(
            each.text_content() for each in painted.xpath(f".//span[{class_is('closing')}]")
        )
        painted.drop_tree()
        (math,) = formula.iter("math")
        mend(math)
        align(math)
        set_apart(math)
        if closing:
            math.tail = closing + (math.tail or "")


def mend(math: Element) -> None:
    """Make of KaTeX's MathML what the standard allows."""
    for source in list(math.iter("annotation")):
        math.set("alttext", " ".join((source.text or "").split()))
        source.drop_tree()
    for semantics in list(math.iter("semantics")):
        semantics.drop_tag()
    for part in math.iter(etree.Element):
        for name in [name for name, value in part.attrib.items() if not value]:
            del part.attrib[name]  # columnspacing="" for a single column
    for token in math.iter("mi", "mn", "mo", "mtext"):
        if len(token):
            token.tag = "mrow"  # <mi><mi>Q</mi></mi> for what \underset is under
    for script in math.iter(*HOLDS):
        for extra in list(script)[HOLDS[script.tag] :]:
            script.remove(extra)  # "applied to" behind a subscript \cos, where none may stand


def align(math: Element) -> None:
    """Browsers know neither `columnalign` nor `columnspacing`: they get a style as well."""
    for table in math.iter("mtable"):
        sides = (table.get("columnalign") or "center").split()
        gaps = (table.get("columnspacing") or "").split()
        for row in table.findall("mtr"):
            for number, cell in enumerate(row.findall("mtd")):
                style = [f"text-align:{at(sides, number)}"]
                if not number or at(gaps, number - 1) in ("0em", "0"):
                    style.append("padding-left:0")
                if at(gaps, number) in ("0em", "0"):
                    style.append("padding-right:0")
                cell.set("style", ";".join(style))


def at(values: list[str], number: int) -> str:
    """Return a value by its number; the last holds for all that follow."""
    return values[min(number, len(values) - 1)] if values else ""


def set_apart(math: Element) -> None:
    """A space between a function's name and what it is of, "exp a", unless brackets follow.

    KaTeX writes a negative space as a hair space and an invisible separator: that is none.
    """
    for space in list(math.iter("mtext")):
        if SEPARATOR in (space.text or ""):
            space.drop_tree()
    for applied in math.iter("mo"):
        after = applied.getnext()
        if applied.text == APPLIED and after is not None:
            opens = after.tag == "mo" and (after.text or "")[:1] in "([{|"
            if not opens:
                applied.set("lspace", "0")
                applied.set("rspace", "0.1667em")
