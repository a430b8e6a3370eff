"""The MathML of a formula, as the standard has it: screen readers stumble over anything else.

KaTeX puts elements into tokens (``<mi><munder>…``), gives ``<msub>`` a third child where an
operator has a script, and writes empty attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
#: Elements of text alone, and how many children the others must have.
TOKENS = ("mi", "mn", "mo", "mtext", "ms")
CHILDREN = {
    "msub": 2, "msup": 2, "munder": 2, "mover": 2, "mfrac": 2, "mroot": 2, "msubsup": 3,
    "munderover": 3,
}  # fmt: skip
MATH = re.compile(r"<math\b.*?</math>", re.S)


def faults(math: str) -> list[str]:
    """Name what is wrong in one ``<math>``.

    >>> faults("<math><msub><mi>a</mi><mi>b</mi><mo>c</mo></msub></math>")
    ['msub has 3 children']
    """
    return [fault for element in etree.fromstring(math).iter() for fault in faults_of(element)]


def faults_of(element: etree._Element) -> Iterator[str]:
    name = name_of(element)
    if name in TOKENS and len(element):
        yield f"{name} holds elements"
    if name in CHILDREN and len(element) != CHILDREN[name]:
        yield f"{name} has {len(element)} children"
    yield from (f"{key} of {name} is empty" for key, value in element.attrib.items() if not value)


def name_of(element: etree._Element) -> str:
    return str(element.tag).removeprefix(NAMESPACE)


def repaired(html: str) -> str:
    """Return a formula's HTML with sound MathML.

    >>> repaired("<math><mi><munder><mi>Q</mi><mn>1</mn></munder></mi></math>")
    '<math><mrow><munder><mi>Q</mi><mn>1</mn></munder></mrow></math>'
    """
    return MATH.sub(lambda found: mended(found[0]) if faults(found[0]) else found[0], html)


def mended(math: str) -> str:
    root = etree.fromstring(math)
    for element in list(root.iter()):
        space = NAMESPACE if str(element.tag).startswith(NAMESPACE) else ""
        name, wanted = name_of(element), CHILDREN.get(name_of(element), 0)
        for key in [key for key, value in element.attrib.items() if not value]:
            del element.attrib[key]
        if name in TOKENS and len(element):
            element.tag = f"{space}mrow"
            element.attrib.clear()
        elif wanted and len(element) > wanted:  # its last one holds what is too much
            row = etree.Element(f"{space}mrow", nsmap=root.nsmap)
            row.extend(list(element)[wanted - 1 :])
            element.append(row)
    return str(etree.tostring(root, encoding="unicode"))
