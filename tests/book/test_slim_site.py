"""Bundled styles: what a page loads does not depend on which pages were written with it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from py_mini_racer import MiniRacer
from tiny import EXTENSIONS
from website.slimming.short_scripts import short
from website.slimming.slim_site import bundle, write_bundles
from website.slimming.slim_styles import trim

OUR_STYLES = sorted(path for path in EXTENSIONS.rglob("*.css") if "static" in path.parts)

OUR_SCRIPTS = sorted(path for path in EXTENSIONS.rglob("*.js") if "shell" in path.parts)


def app_in(folder: Path) -> SimpleNamespace:
    """As much of Sphinx as the bundles ask for."""
    builder = SimpleNamespace(format="html")
    return SimpleNamespace(outdir=folder, doctreedir=folder / "doctrees", builder=builder)


def test_a_bundle_is_named_by_its_styles_alone(tmp_path) -> None:
    """In an edited book the pages come in another order, or only one of them comes."""
    plain, maths = ("theme.css",), ("theme.css", "katex.css")
    first = app_in(tmp_path)
    both = [bundle(first, plain), bundle(first, maths)]
    second = app_in(tmp_path)
    assert bundle(second, maths) == both[1]
    assert bundle(second, plain) == both[0]
    assert both[0] != both[1]


def test_a_changed_style_changes_the_version_in_every_page(tmp_path) -> None:
    """It is that of the finished bundle, whatever the styles were when the pages were written."""
    style, page = tmp_path / "_static" / "book.css", tmp_path / "a" / "page.html"
    versions = []
    for text in ("a{x:y}", "a{x:z}", "a{x:y}"):
        for folder in (style.parent, page.parent):
            folder.mkdir(exist_ok=True)
        style.write_text("as the last build left it")
        if not versions:
            page.write_text(
                f'<link href="../_static/{bundle(app_in(tmp_path), ("book.css",))}?v=">'
            )
        style.write_text(text)
        write_bundles(app_in(tmp_path), None)
        versions.append(re.search(r"\?v=(\w+)", page.read_text())[1])
    assert versions[0] == versions[2] != versions[1]


def test_a_bundle_that_another_process_named_is_written(tmp_path) -> None:
    """Pages are written by processes of their own, which tell their parent nothing."""
    style = tmp_path / "_static" / "book.css"
    style.parent.mkdir()
    style.write_text("a{x:y}")
    named = bundle(app_in(tmp_path), ("book.css",))
    write_bundles(app_in(tmp_path), None)
    assert "a{x:y}" in (tmp_path / "_static" / named).read_text()


@pytest.mark.parametrize("style", OUR_STYLES, ids=lambda path: path.name)
def test_nothing_of_our_own_styles_or_of_katex_is_trimmed(style: Path) -> None:
    """A family such as "col-" must not take KaTeX's `.col-align-r` with it."""
    css = re.sub(r"/\*.*?\*/", "", style.read_text("utf8"), flags=re.S)
    assert re.sub(r"\s+", "", trim(css)) == re.sub(r"\s+", "", css)


def test_of_the_theme_stays_what_a_page_or_a_script_names() -> None:
    css = ".a{x:y}.b .c,.b.d{x:y}.e:not(.f)>[class~=g]{x:y}p :is(.h,.i){x:y}@media print{#j{x:y}}"
    kept = trim(css, {"a", "b", "c", "e"})
    assert kept == ".a{x:y}.b .c{x:y}.e:not(.f)>[class~=g]{x:y}p :is(.h,.i){x:y}"


LOOKS_LIKE_A_COMMENT = r"""
const text = `a  // b
   /* c */ ${ `d   // ${1 /* gone */ + 1}` }  e`, // gone
  sign = /[/]*\/\/ x/g.source + '//' + "/*", half = 8 / 4 / 2;
/* gone,
   both lines */
let up = 1
let down = up + +up - -up  /* between */ - up-- > 0
return [text, sign, half, up, down]
"""


def test_a_short_script_does_the_same() -> None:
    """What looks like a comment stays in strings and patterns; lines still end statements."""
    made = short(LOOKS_LIKE_A_COMMENT)
    assert "gone" not in made
    engine = MiniRacer()
    before, after = (
        engine.eval(f"JSON.stringify((() => {{{each}}})())")
        for each in (LOOKS_LIKE_A_COMMENT, made)
    )
    assert after == before
    assert short(made) == made


@pytest.mark.parametrize("script", OUR_SCRIPTS, ids=lambda path: path.name)
def test_our_scripts_are_scripts_when_short(script: Path) -> None:
    made = short(script.read_text(encoding="utf8"))
    MiniRacer().eval(f"new Function({json.dumps(made)})")
