"""Where the site leans on a pinned version of Sphinx, its theme or an extension.

Each test names one spot.  When a version changes and a test here fails, its message says
which of our files rests on what is gone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pydata_sphinx_theme
import pytest
import sphinx_book_theme
from bilingual import labels
from bilingual.marks import pick
from bilingual.nodes import LanguageInline
from bilingual.pages import BilingualTemplates
from docutils import nodes
from sphinx import locale
from sphinx.builders import Builder
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.jinja2glue import BuiltinTemplateLoader
from website.slimming import slim_styles
from website.slimming.slim_site import (
    ICONS,
    MEASURING,
    THEME_SCRIPTS,
    THEME_STYLES,
    _read_style,
)
from website.slimming.slim_styles import trim

PYDATA = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
# classes that the theme's scripts add to our pages
SCRIPTED = {"dropdown-menu-dark", "show", "active", "current", "scrolled", "pst-sidebar-hidden"}
BOOK = Path(sphinx_book_theme.__file__).parent / "theme" / "sphinx_book_theme"
OURS = Path(labels.__file__).parents[1]


def test_pages_are_rendered_by_the_template_bridge() -> None:
    """bilingual/pages.py resolves the marks in `render`."""
    assert issubclass(BilingualTemplates, BuiltinTemplateLoader)
    assert "self.templates.render(templatename, ctx)" in inspect.getsource(
        StandaloneHTMLBuilder.handle_page
    )


def test_catalogs_are_looked_up_when_a_word_is_needed() -> None:
    """bilingual/labels.py replaces the entries of sphinx.locale.translators."""
    assert "translators.get" in inspect.getsource(locale.get_translator)
    key = ("general", "sphinx")
    before = locale.translators.get(key)
    locale.translators[key] = labels.BilingualCatalog()
    try:
        assert pick(str(locale.admonitionlabels["note"]), "zh") == "注"
        assert pick(locale.get_translation("sphinx")("Search"), "zh") == "搜索"
    finally:
        if before is None:
            del locale.translators[key]
        else:
            locale.translators[key] = before


def test_sphinx_search_has_a_switch() -> None:
    """bilingual/search.py sets `builder.search` to False."""
    assert StandaloneHTMLBuilder.search is True
    source = inspect.getsource(StandaloneHTMLBuilder)
    assert "if self.search:" in source


@pytest.mark.parametrize(
    ("template", "blocks"),
    [
        (
            PYDATA / "layout.html",
            ("css", "extrahead", "search_dialog", "docs_navbar", "docs_body", "scripts_end"),
        ),
        (BOOK / "layout.html", ("docs_body",)),
    ],
)
def test_layout_has_the_blocks_that_ours_replaces(template: Path, blocks: tuple[str, ...]) -> None:
    text = template.read_text("utf8")
    for block in blocks:
        assert re.search(rf"block {block}\b", text), f"website/shell/templates/layout.html: {block}"


def our_templates() -> list[str]:
    folder = OURS / "website" / "shell" / "templates"
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return sorted(name for name in names if name != "layout.html")


@pytest.mark.parametrize("name", our_templates())
def test_our_templates_replace_one_of_the_theme(name: str) -> None:
    places = [PYDATA, PYDATA / "components", BOOK, BOOK / "components"]
    assert any((place / name).is_file() for place in places), f"nothing includes {name}"


def test_theme_assets_that_the_layout_names() -> None:
    """website/slimming names the theme's styles and scripts instead of its macros."""
    macros = (PYDATA / "static" / "webpack-macros.html").read_text("utf8")
    for asset in (*THEME_STYLES, *THEME_SCRIPTS):
        assert (PYDATA / "static" / asset).is_file()
        assert asset in macros
    named = set(re.findall(r"_static/([\w./-]+)'", macros))
    left_out = {"scripts/bootstrap.js", "scripts/fontawesome.js"}
    assert named == {*THEME_STYLES, *THEME_SCRIPTS, *left_out}


def test_the_themes_script_does_without_bootstrap() -> None:
    """website/slimming leaves it out: the theme calls it for a button that our layout lacks."""
    script = (PYDATA / "static" / "scripts" / "pydata-sphinx-theme.js").read_text("utf8")
    assert re.findall(r"bootstrap\.\w+", script) == ["bootstrap.Tooltip"]
    before = script[: script.index("bootstrap.Tooltip")]
    assert 'getElementById("pst-collapse-sidebar-button")' in before[-400:]
    assert "bootstrap" not in (BOOK / "static/scripts/sphinx-book-theme.js").read_text("utf8")


def test_every_icon_has_a_rule() -> None:
    css = (PYDATA / "static" / "styles" / "pydata-sphinx-theme.css").read_text("utf8")
    for icon in ICONS:
        assert re.search(rf"\.{icon}(::?before)?[,{{]", css), icon


def test_icons_of_the_pages_are_kept(site: Path) -> None:
    """website.slimming.slim_site.ICONS lists every icon that a page shows."""
    for page in site.rglob("*.html"):
        shown = set(
            re.findall(
                r'class="(?:fas|fab|far|fa-solid|fa-brands|fa-regular) ([\w-]+)',
                page.read_text("utf8"),
            )
        )
        assert shown <= ICONS, page


#: Dropped on purpose: outputs of this kind have colors of their own for the dark.
UNWANTED = "html[data-theme=dark] .bd-content div.cell_output .text_html:not(:has(table.dataframe))"


def test_trimming_keeps_what_the_pages_need(site: Path) -> None:
    """Each selector that slim_styles drops needs a class that no page has."""
    static = PYDATA / "static"
    css = _read_style(static / "styles" / "pydata-sphinx-theme.css", static)
    used = set(SCRIPTED)
    for page in site.rglob("*.html"):
        for names in re.findall(r'class="([^"]*)"', page.read_text("utf8")):
            used.update(names.split())
    kept, lost = set(selectors(trim(css))), []
    for selector in selectors(css):
        if selector not in kept and selector != UNWANTED:
            needs = re.findall(r"\.(-?[A-Za-z_][\w-]*)", re.sub(r":not\([^)]*\)", "", selector))
            lost += [] if set(needs) - used else [selector]
    assert not lost


def selectors(css: str) -> Iterator[str]:
    for head, body in slim_styles._rules(css):
        if head.startswith(slim_styles.NESTED):
            yield from selectors(body or "")
        elif body is not None and not head.startswith("@"):
            yield from slim_styles._alternatives(head)


def test_theme_shows_the_sidebar_parts_in_summaries() -> None:
    """website/shell names each `<summary>` that the theme writes."""
    assert '"summary"' in (Path(pydata_sphinx_theme.__file__).parent / "toctree.py").read_text(
        "utf8"
    )


def test_myst_nb_has_the_folded_cell_that_we_write() -> None:
    from myst_nb.sphinx_ import HideCodeCellNode, visit_HideCellInput

    assert issubclass(HideCodeCellNode, nodes.Element)
    source = inspect.getsource(visit_HideCellInput)
    assert 'node["prompt_show"]' in source
    assert 'node["prompt_hide"]' in source


def test_myst_nb_hands_over_glued_values_as_we_take_them() -> None:
    """lesson/number_links.py: the role, what it gives, and the values of other pages."""
    from myst_nb.ext.glue import crossref, roles, utils

    assert callable(crossref.read_glue_cache)
    assert {"key", "refdoc", "inline"} <= {
        name for name in dir(utils.PendingGlueReference) if not name.startswith("_")
    }
    assert list(inspect.signature(utils.retrieve_glue_data).parameters) == ["document", "key"]
    assert "run" in vars(roles.PasteTextRole)


def test_pages_are_written_on_as_many_cores_as_the_application_says() -> None:
    """website/quick_build.py sets `app.parallel` once all pages have been read."""
    source = inspect.getsource(Builder.build)
    assert source.index("check_consistency()") < source.index("app.parallel > 1")


def test_the_themes_script_measures_once_as_we_take_out() -> None:
    """website/slimming/slim_site.py: a text of the minified script."""
    script = PYDATA / "static" / "scripts" / "pydata-sphinx-theme.js"
    assert script.read_text("utf8").count(MEASURING) == 1


def test_docutils_writes_citations_and_cells_as_we_replace_them() -> None:
    """website/accessible_markup.py: the roles of citations, the context stack of table cells."""
    from docutils.writers._html_base import HTMLTranslator

    assert "doc-biblioentry" in inspect.getsource(HTMLTranslator.visit_citation)
    assert "self.context.append" in inspect.getsource(HTMLTranslator.visit_entry)
    assert "self.context.pop()" in inspect.getsource(HTMLTranslator.depart_entry)


def test_a_subclass_of_inline_is_written_as_one_where_we_say_nothing() -> None:
    assert LanguageInline.__mro__[1] is nodes.inline


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("sphinx_exercise", "exercise-content"),
        ("sphinx_exercise", "solution-content"),
        ("sphinx_proof", "proof-content"),
    ],
)
def test_boxes_with_repeated_ids(package: str, text: str) -> None:
    """website.accessible_markup.unique_ids renames these."""
    folder = Path(__import__(package).__file__).parent
    assert any(text in source.read_text("utf8") for source in folder.glob("*.py"))
