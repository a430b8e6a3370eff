"""Citations name several authors in the reader's language."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from bilingual.citations import linked, translate_citations
from bilingual.nodes import LanguageInline
from docutils import nodes
from docutils.utils import new_document


class Key(NamedTuple):
    """As sphinxcontrib-bibtex names a list of sources."""

    docname: str


class Application(SimpleNamespace):
    """What is asked of Sphinx: where the sources stand, as seen from a page."""

    def __init__(self, *pages: str) -> None:
        keys = dict.fromkeys(Key(page) for page in pages)
        domain = SimpleNamespace(data={"bibliographies": keys})
        relative = SimpleNamespace(get_relative_uri=lambda page, to: f"../{to}.html")
        super().__init__(env=SimpleNamespace(domains={"cite": domain}), builder=relative)


def cited(*parts: nodes.Node, block: str | None = None, sources: str = "list") -> str:
    """The plain text, with language marks, of a citation in a block of one language or none."""
    app: Any = Application("other", sources)
    document = new_document("page")
    citation = nodes.reference("", "", *parts, refuri="../list.html#id1")
    outer = nodes.container(classes=[f"bl-{block}"]) if block else nodes.container()
    document += outer
    outer += nodes.paragraph("", "", citation)
    translate_citations(app, document, "deep/page")
    assert sources != "list" or not list(citation.findall(nodes.emphasis))
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


@pytest.mark.parametrize(("block", "joint"), [("zh", "<zh:等>"), ("en", "<en:et al.>")])
def test_one_language_inside_a_block(block: str, joint: str) -> None:
    assert cited(*several(), block=block) == f"Vaswani {joint}, 2017"


def test_two_authors() -> None:
    names = nodes.Text("Jain and Wallace, 2019")
    assert cited(names, block="zh") == "Jain<zh: 与 >Wallace, 2019"
    assert cited(nodes.Text("Anderson, 2001"), block="zh") == "Anderson, 2001"


def test_a_link_to_another_page_is_no_citation() -> None:
    names = nodes.Text("Jain and Wallace, 2019")
    assert cited(names, block="zh", sources="elsewhere") == "Jain and Wallace, 2019"


def test_a_number_at_arxiv_is_a_link() -> None:
    """Wherever in the text it stands; what is no number stays as it is."""
    parts = linked("arXiv:1607.06450, 2016; arXiv:cmp-lg/9406033 and arXiv in general.")
    found = [
        (part.astext(), part.get("refuri")) for part in parts if isinstance(part, nodes.Element)
    ]
    assert found == [
        ("arXiv:1607.06450", "https://arxiv.org/abs/1607.06450"),
        ("arXiv:cmp-lg/9406033", "https://arxiv.org/abs/cmp-lg/9406033"),
    ]
    assert "".join(part.astext() for part in parts).endswith("and arXiv in general.")
