"""Formulas become MathML that keeps to the standard, and lose neither source nor punctuation."""

import pytest
from lxml import html
from pages.formulas import HOLDS, as_mathml

FORMULA = (
    '<p>Then <span class="katex"><span class="katex-mathml"><math><semantics>{math}'
    '<annotation encoding="application/x-tex">{tex}</annotation></semantics></math></span>'
    '<span class="katex-html"><span>painted</span>{closing}</span></span> holds.</p>'
)


def mathml(math: str, tex: str = "x", closing: str = "") -> html.HtmlElement:
    tree = html.fragment_fromstring(FORMULA.format(math=math, tex=tex, closing=closing))
    as_mathml(tree)
    return tree


def test_source_and_closing_punctuation_stay() -> None:
    tree = mathml("<mi>a</mi>", "a \n b", '<span class="closing">,</span>')
    (math,) = tree.iter("math")
    assert math.get("alttext") == "a b"
    assert " ".join(tree.text_content().split()) == "Then a, holds."
    assert not tree.xpath("//annotation | //semantics | //*[contains(@class, 'katex-html')]")


@pytest.mark.parametrize(("name", "parts"), HOLDS.items())
def test_a_script_has_as_many_parts_as_it_may(name: str, parts: int) -> None:
    inside = "<mi>a</mi>" * (parts + 1)
    (script,) = mathml(f"<{name}>{inside}</{name}>").iter(name)
    assert len(script) == parts


def test_no_token_holds_an_element_and_no_attribute_is_empty() -> None:
    tree = mathml('<mtable columnspacing=""><mtr><mtd><mi><mi>Q</mi></mi></mtd></mtr></mtable>')
    assert not [token for token in tree.iter("mi", "mn", "mo", "mtext") if len(token)]
    assert all(value for each in tree.iter() for value in each.attrib.values())


def test_columns_keep_their_sides() -> None:
    cells = "<mtd><mi>a</mi></mtd>" * 2
    tree = mathml(
        f'<mtable columnalign="right left" columnspacing="0em"><mtr>{cells}</mtr></mtable>'
    )
    left, right = (cell.get("style") for cell in tree.iter("mtd"))
    assert "text-align:right" in left
    assert "text-align:left" in right
    assert "padding-left:0" in right


def test_exp_a_has_a_space_and_exp_of_brackets_none() -> None:
    for after, spaced in (("<mi>a</mi>", True), ("<mo>(</mo>", False)):
        tree = mathml(f"<mi>exp</mi><mo>\u2061</mo>{after}")
        applied = next(mo for mo in tree.iter("mo") if mo.text == "\u2061")
        assert (applied.get("rspace") is not None) == spaced
