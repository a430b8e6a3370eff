"""Citations name several authors in the reader's language."""

from bilingual.citations import translate
from bilingual.nodes import LanguageInline
from docutils import nodes
from docutils.utils import new_document


def cited(*parts: nodes.Node, block: str | None = None) -> str:
    """The plain text, with language marks, of a citation in a block of one language or none."""
    document = new_document("page")
    citation = nodes.reference("", "", *parts, refuri="bibliography.html#id1")
    outer = nodes.container(classes=[f"bl-{block}"]) if block else nodes.container()
    document += outer
    outer += nodes.paragraph("", "", citation)
    translate(None, document, "page")
    assert not list(citation.findall(nodes.emphasis))
    return "".join(
        f"<{node['language']}:{node[0].astext()}>"
        if isinstance(node, LanguageInline)
        else node.astext()
        for node in citation.children
    )


def several() -> list[nodes.Node]:
    return [nodes.Text("Vaswani "), nodes.emphasis("", "et al."), nodes.Text(", 2017")]


def test_both_languages_outside_a_block() -> None:
    assert cited(*several()) == "Vaswani <zh:等><en:et al.>, 2017"


def test_one_language_inside_a_block() -> None:
    assert cited(*several(), block="zh") == "Vaswani <zh:等>, 2017"
    assert cited(*several(), block="en") == "Vaswani <en:et al.>, 2017"


def test_two_authors() -> None:
    names = nodes.Text("Jain and Wallace, 2019")
    assert cited(names, block="zh") == "Jain<zh: 与 >Wallace, 2019"
    assert cited(nodes.Text("Anderson, 2001"), block="zh") == "Anderson, 2001"
