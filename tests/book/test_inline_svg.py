import re

import pytest
from lxml import etree
from tiny import HEADER, cell
from website.figures import svg_markup

DRAWING = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg"
     width="360pt" height="216pt" viewBox="0 0 360 216" version="1.1">
 <metadata><date>today</date></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
 <g id="figure_1">
  <path id="marker" d="M0 0" style="fill: #ffffff; stroke: #000000"/>
  <use xlink:href="#marker" clip-path="url(#clip)" style="stroke: #000001"/>
  <text style="text-anchor: middle">查询\u2009query</text>
  <text>42</text>
 </g>
 <clipPath id="clip"><rect width="1" height="1"/></clipPath>
</svg>"""


@pytest.fixture
def drawing():
    return svg_markup.parse(DRAWING)


def test_ids_are_scoped_and_references_follow(drawing):
    svg_markup.scope_ids(drawing, "p-")
    html = svg_markup.to_html(drawing)
    assert set(re.findall(r'\bid="([^"]*)"', html)) == {"p-marker", "p-clip"}
    assert 'href="#p-marker"' in html
    assert "url(#p-clip)" in html
    assert "xlink" not in html


def test_ink_and_paper_follow_the_page_and_nothing_else_does(drawing):
    svg_markup.follow_page_colors(drawing)
    html = svg_markup.to_html(drawing)
    assert "fill: var(--pst-color-background); stroke: currentColor" in html
    assert "stroke: #000001" in html
    assert "<style" not in html, "a style element would rule the whole page"
    assert drawing.get("fill") == "currentColor", "matplotlib leaves black fills out"


def test_bilingual_label_becomes_one_span_for_each_language(drawing):
    svg_markup.split_languages(drawing)
    texts = drawing.findall(f".//{svg_markup.SVG}text")
    assert [(s.get("class"), s.get("lang"), s.text) for s in texts[0]] == [
        ("bl bl-zh", "zh-Hans", "查询"),
        ("bl-sep", None, " "),
        ("bl bl-en", "en", "query"),
    ]
    assert texts[1].text == "42"


@pytest.mark.parametrize(("language", "kept"), [("zh", "查询"), ("en", "query")])
def test_one_language_can_be_kept(drawing, language, kept):
    svg_markup.split_languages(drawing)
    svg_markup.keep_language(drawing, language)
    assert "".join(drawing.find(f".//{svg_markup.SVG}text").itertext()) == kept


def test_width_is_the_natural_one_at_most(drawing):
    svg_markup.fit_width(drawing, "figure-svg")
    assert drawing.get("style") == "max-width:480px"  # 360 points
    assert drawing.get("width") is None
    assert drawing.get("class") == "figure-svg"
    diagram = svg_markup.parse(FLOW)
    svg_markup.fit_width(diagram, "diagram-svg")
    assert diagram.get("class") == "diagram-svg dg"
    assert diagram.get("style") is None, "diagrams.css decides"


PLOT = """---
mystnb:
  figure:
    name: fig-{name}
    caption: |
      A caption
  image:
    alt: "{alt}"
---
import matplotlib.pyplot as plt
from matplotlib_inline.backend_inline import set_matplotlib_formats
set_matplotlib_formats("svg", metadata={{"Date": None}})
plt.rcParams.update({{"svg.fonttype": "none", "svg.hashsalt": "book"}})
figure, axes = plt.subplots(figsize=(4, 3))
axes.plot([1, 2], clip_on=True)
axes.set_title("weights\\u2009Gewichte");"""

DIAGRAM = """
:::{diagram} flow
:name: fig-flow
:alt-zh: 一张图
:alt-en: a drawing
The caption with `code`.
:::

See {numref}`fig-flow`.
"""

FLOW = """<svg xmlns="http://www.w3.org/2000/svg" class="dg" viewBox="0 0 360 100">
<text class="dg-text"><tspan class="bl bl-zh" lang="zh-Hans">查询</tspan></text></svg>"""


def inline_svgs(page):
    root = etree.HTML(page)
    return root.findall('.//svg[@role="img"]')


def test_figures_and_diagrams_stand_in_the_page(tiny_book):
    twice = PLOT.format(name="one", alt="图 | Plot"), PLOT.format(name="two", alt="图 | Plot")
    book = tiny_book(
        ["evidence.execution", "evidence.strict_build", "website.figures"],
        intro=HEADER + "# T\n\n" + "\n".join(map(cell, twice)) + DIAGRAM,
    )
    (book.book / "figures/flow.svg").write_text(FLOW, encoding="utf8")
    book.build()
    page = book.page("intro")
    first, second, diagram = inline_svgs(page)
    assert (first.get("data-alt-zh"), first.get("data-alt-en")) == ("图", "Plot")
    assert first.xpath(".//tspan/text()")[:3] == ["weights", " ", "Gewichte"]
    ids = [set(svg.xpath(".//@id")) for svg in (first, second)]
    assert ids[0], "clip paths and markers are referred to"
    assert not ids[0] & ids[1], "the same picture twice on a page shares no id"
    assert diagram.get("aria-label") == "一张图 | a drawing"
    assert re.search(r'<figure class="[^"]*diagram[^"]*" id="fig-flow">', page)
    assert 'href="#fig-flow"><span class="std std-numref">Fig. 3</span>' in page
    assert not list((book.html / "_images").glob("*")) if (book.html / "_images").exists() else True

    (book.book / "figures/flow.svg").write_text(FLOW.replace("查询", "键"), encoding="utf8")
    log = book.build()
    assert "键" in book.page("intro"), "an edited drawing rebuilds its pages"
    assert "executing" not in log, "but executes nothing"


def test_missing_alternative_text_and_unknown_diagrams_fail(tiny_book):
    book = tiny_book(
        ["evidence.execution", "evidence.strict_build", "website.figures"],
        intro=HEADER
        + "# T\n\n"
        + cell(PLOT.format(name="one", alt="only one"))
        + DIAGRAM.replace("{diagram} flow", "{diagram} flaw").replace(
            "See {numref}`fig-flow`.", ""
        ),
    )
    (book.book / "figures/flow.svg").write_text(FLOW, encoding="utf8")
    log = book.build(fails=True)
    assert "the figure fig-one needs alternative text in both languages" in log
    assert "'only one'" in log
    assert "no figures/flaw.svg; did you mean flow?" in log
