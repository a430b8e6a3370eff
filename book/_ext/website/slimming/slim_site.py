"""A page is given one stylesheet, the scripts that it uses and the icons that it shows.

The theme loads sixteen stylesheets, an icon font of two thousand icons and a script of
1.5 MB that draws the same icons again.  We bundle the styles once per build, keep only the
icons named in `ICONS`, and name each script that a page needs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from html import unescape
from pathlib import Path
from typing import Any

import pydata_sphinx_theme
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from website.slimming.slim_styles import trim

THEME_STYLES = ("styles/theme.css", "styles/pydata-sphinx-theme.css")
#: Styles of others, of which the book needs a part: their classes stand in pages or scripts whole.
THEIRS = ("styles/", "pygments.css", "katex/katex.min.css", "mystnb.", "proof.css")
#: Without its Bootstrap, a quarter of all scripts: `book.js` opens the two menus.
THEME_SCRIPTS = ("scripts/pydata-sphinx-theme.js",)
UNUSED = (  # assets of extensions whose work site_shell or nobody does
    "thebe", "togglebutton", "copybutton", "clipboard", "sphinx_highlight", "design",
    "doctools", "toggleHint", "toggleOpen", "THEBE", "fontawesome",
)  # fmt: skip
#: What the theme does with every block of code, at first and after each change of the page: the
#: browser lays the page out anew for each. `book.js` measures what has been laid out.
MEASURING = "e.tabIndex=e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1"
OPTIONS = "documentation_options.js"  # inline scripts read it: put it into the page, not before it
ICONS = frozenset({
    "fa-bars", "fa-list", "fa-magnifying-glass", "fa-sun", "fa-moon", "fa-circle-half-stroke",
    "fa-angle-left", "fa-angle-right", "fa-arrow-up", "fa-chevron-down", "fa-chevron-right",
    "fa-rocket", "fa-download", "fa-code", "fa-file", "fa-file-pdf", "fa-expand", "fa-github",
    "fa-xmark", "fa-pencil-alt", "fa-lightbulb",
})  # fmt: skip
#: As Font Awesome 6 writes them (content:"…") and 7 (--fa:"…").
_ICON_RULE = re.compile(
    r'((?:\.fa-[\w-]+(?:::?before)?,?)+)\{(content|--fa):"\\([0-9a-f]{2,5}) ?"\}'
)
_URL = re.compile(r"""url\((["']?)(?!data:|#|https?:)([^)"']+)\1\)""")
_IMPORT = re.compile(r"""@import (?:url\()?["']([\w./-]+\.css)["']\)?;""")
_SOURCE = re.compile(r"""<script[^>]*\ssrc=["']([^"'?]+)""")
#: What no page names: scripts load them.
LOADED_LATER = ("search.js", "page_python/box.js", "page_python/own_file.js")
_CLASSES = re.compile(r"""\s(?:class|id)=["']([^"']*)["']""")
_WORDS = re.compile(r"[A-Za-z_][\w-]*")
#: KaTeX's fonts that few letters are in, and the classes that these have, in one of several ways.
STYLED_FONTS: dict[str, list[set[str]]] = {
    "AMS-Regular": [{"amsrm"}, {"mathbb"}, {"textbb"}],
    "Caligraphic-Regular": [{"mathcal"}],
    "Main-Bold": [{"mathbf"}, {"textbf"}],
    "Math-BoldItalic": [{"boldsymbol"}],
    "Math-Italic": [{"mathnormal"}],
    "Size1-Regular": [{"delimsizing", "size1"}, {"op-symbol", "small-op"}, {"delim-size1"}],
    "Size2-Regular": [{"delimsizing", "size2"}, {"op-symbol", "large-op"}],
    "Size3-Regular": [{"delimsizing", "size3"}],
    "Size4-Regular": [{"delimsizing", "size4"}, {"delim-size4"}],
}
_STYLED = re.compile(r"""<span class=\\?["']([^"'\\]*)\\?["'][^<>]*>(?:<span>)?([^<]+)<""")
_VERSION = re.compile(r"(book\.[0-9a-f]{8}\.css)\?v=\w*")
_FONT_DISPLAY = re.compile(r"font-display:\s*(?:block|auto)")  # show text before its font is there
_FONT_SOURCE = re.compile(r',\s*url\([^)]*\.ttf\)\s*format\("truetype"\)')


def asset_name(asset: Any) -> str:
    """The file of a script or style; inline scripts give their text."""
    body = getattr(asset, "attributes", {}).get("body") or ""
    return str(getattr(asset, "filename", None) or body or asset)


def page_assets(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Name what the page loads: one stylesheet and each script once, deferred."""
    options = next(s for s in context["script_files"] if asset_name(s).endswith(OPTIONS))
    text = (Path(app.outdir) / "_static" / OPTIONS).read_text("utf8").strip()
    app.add_js_file(None, body=text, priority=options.priority)  # into the page
    scripts: dict[str, Any] = {}
    for script in context["script_files"]:
        name = asset_name(script)
        if script is options or any(unused in name for unused in UNUSED):
            continue
        if getattr(script, "filename", None):
            script.attributes["defer"] = "defer"
        scripts.setdefault(name, script)
    context["script_files"] = list(scripts.values())
    context["theme_scripts"] = THEME_SCRIPTS
    styles = [asset_name(style) for style in sorted(context["css_files"], key=_priority)]
    wanted = dict.fromkeys([*THEME_STYLES, *(s.removeprefix("_static/") for s in styles)])
    context["stylesheet"] = bundle(
        app, tuple(style for style in wanted if not any(unused in style for unused in UNUSED))
    )


def _priority(style: Any) -> int:
    return int(getattr(style, "priority", 500))


def bundle(app: Sphinx, styles: tuple[str, ...]) -> str:
    """Name the bundle of these styles; `write_bundles` writes it when all of them are in place.

    Pages are written by several processes, and all that these leave behind are files: so what a
    bundle is made of is written down.
    """
    # Named by its styles: a page that is written alone must not take another's bundle.
    name = f"book.{hashlib.sha256(' '.join(styles).encode()).hexdigest()[:8]}"
    note = bundle_notes(app) / f"{name}.json"
    if not note.is_file():
        note.parent.mkdir(parents=True, exist_ok=True)
        temporary = note.with_suffix(f".{os.getpid()}.part")
        temporary.write_text(json.dumps(styles), encoding="utf8")
        temporary.replace(note)
    return f"{name}.css"


def bundle_notes(app: Sphinx) -> Path:
    """Return the folder that says of each bundle, by its name, what it is made of."""
    return Path(app.doctreedir) / "stylesheets"


def write_bundles(app: Sphinx, exception: Exception | None) -> None:
    """Write each bundle that a page has named, and its version into the pages.

    Not before: some styles are copied when all pages have been written, and come out as the last
    build left them until then.
    """
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    names, letters = names_in_use(Path(app.outdir)), letters_in_use(Path(app.outdir))
    styled = styled_letters(Path(app.outdir))
    versions = {}
    for note in sorted(bundle_notes(app).glob("*.json")):
        styles = json.loads(note.read_text(encoding="utf8"))
        css = "\n".join(
            trim(_read_style(static / style, static), names if style.startswith(THEIRS) else None)
            for style in styles
        )
        css = subset_icons(_FONT_DISPLAY.sub("font-display:swap", css), static)
        css = subset_formulas(css, static, letters, styled)
        (static / f"{note.stem}.css").write_text(css, encoding="utf8")
        versions[f"{note.stem}.css"] = hashlib.sha256(css.encode()).hexdigest()[:10]
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf8")
        dated = _VERSION.sub(lambda m: f"{m[1]}?v={versions.get(m[1], '')}", text)
        if dated != text:
            page.write_text(dated, encoding="utf8")


def names_in_use(site: Path) -> set[str]:
    """Return the classes and ids of all pages, and every word of their scripts, which set some."""
    found: set[str] = set()
    scripts: set[Path] = set()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf8")
        for value in _CLASSES.findall(text):
            found.update(value.split())
        scripts.update((page.parent / source).resolve() for source in _SOURCE.findall(text))
    scripts.update((site / "_static" / name).resolve() for name in LOADED_LATER)
    for script in scripts:
        if script.is_file():
            found.update(_WORDS.findall(script.read_text(encoding="utf8")))
    return found


def letters_in_use(site: Path) -> set[int]:
    """Return every character of the pages: more than their formulas have, and none too few."""
    letters: set[str] = set()
    for page in site.rglob("*.html"):
        letters.update(unescape(page.read_text(encoding="utf8")))
    return {ord(letter) for letter in letters}


def styled_letters(site: Path) -> dict[str, set[int]]:
    """Return the characters of each of `STYLED_FONTS` on the pages, and in what scripts put there.

    KaTeX writes a letter of such a font into an element of its own, which has the font's class.
    """
    found: dict[str, set[int]] = {font: set() for font in STYLED_FONTS}
    for file in [*site.rglob("*.html"), *(site / "_static").rglob("*.js")]:
        for classes, text in set(_STYLED.findall(file.read_text(encoding="utf8"))):
            own = set(classes.split())
            for font, ways in STYLED_FONTS.items():
                if any(way <= own for way in ways):
                    found[font].update(map(ord, unescape(text)))
    return found


def _read_style(path: Path, static: Path) -> str:
    """A style with its imports inlined and its addresses as seen from _static/."""
    css = path.read_text(encoding="utf8").replace('@charset "UTF-8";', "")
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    css = _IMPORT.sub(lambda found: _read_style(path.parent / found[1], static), css)
    folder = os.path.relpath(path.parent, static)

    def moved(found: re.Match[str]) -> str:
        return f"url({os.path.normpath(os.path.join(folder, found[2])).replace(os.sep, '/')})"

    return _URL.sub(moved, css)


def subset_icons(css: str, static: Path) -> str:
    """Keep the rules of `ICONS`, and a font with the glyphs that the rules show."""

    def rule(found: re.Match[str]) -> str:
        kept = [s for s in found[1].split(",") if s.split(":")[0].lstrip(".") in ICONS]
        return f'{",".join(kept)}{{{found[2]}:"\\{found[3]}"}}' if kept else ""

    css = _FONT_SOURCE.sub("", _ICON_RULE.sub(rule, css))
    glyphs = {int(code, 16) for code in re.findall(r'"\\(f[0-9a-f]{3})"', css)}
    glyphs |= {ord(letter) for letter in css if "\ue000" <= letter <= "\uf8ff"}
    fonts = sorted(
        set(re.findall(r"url\((vendor/fontawesome/webfonts/([\w-]+\.woff2))[^)]*\)", css))
    )
    for source, name in fonts:
        css = css.replace(source, f"icons/{name}")
        _write_subset(_theme_static() / source, static / "icons" / name, glyphs)
    return css


def subset_formulas(css: str, static: Path, letters: set[int], styled: dict[str, set[int]]) -> str:
    """Have KaTeX's fonts replaced by what the book has of them: of its largest, a tenth."""
    for source, name in sorted(set(re.findall(r"url\((katex/fonts/(KaTeX_[\w-]+)\.woff2)\)", css))):
        target = static / "fonts" / f"{name.replace('KaTeX_', 'formula-')}.woff2"
        shown = styled.get(name.removeprefix("KaTeX_"), letters)
        _write_subset(static / source, target, shown, name="Book formulas")
        css = css.replace(source, f"fonts/{target.name}")
    return css


def _theme_static() -> Path:
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
    return theme / "static"


def _write_subset(source: Path, target: Path, glyphs: set[int], *, name: str = "") -> None:
    """Write a font with these glyphs alone; under another name, where its own is reserved."""
    stamp = target.with_suffix(".glyphs")
    from fontTools import subset  # slow to import, and needed once
    from fontTools.ttLib import TTFont

    with TTFont(source) as whole:
        wanted = sorted(glyphs & whole.getBestCmap().keys())
    # Formulas do without instructions for coarse screens, which were a sixth of their bytes.
    hinting = not source.stem.startswith("KaTeX_")
    recipe = f"{source.stat().st_size} {name} {hinting} {wanted}"
    if target.exists() and stamp.exists() and stamp.read_text() == recipe:
        return
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # else a hundred lines for a font
    target.parent.mkdir(parents=True, exist_ok=True)
    options = subset.Options(flavor="woff2", layout_features=[], hinting=hinting)
    if name:
        options.name_IDs = [0, 13, 14]
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    for number in (1, 4, 6) if name else ():
        font["name"].setName(name.replace(" ", "") if number == 6 else name, number, 3, 1, 0x409)
    subset.save_font(font, str(target), options)
    stamp.write_text(recipe)


def spare_measuring(app: Sphinx, exception: Exception | None) -> None:
    """Take out of the theme's script what makes the browser lay out a page again and again."""
    if exception or app.builder.format != "html":
        return
    script = "scripts/pydata-sphinx-theme.js"
    text = (_theme_static() / script).read_text(encoding="utf8")
    if text.count(MEASURING) != 1:
        raise ExtensionError(f"{script} has changed: see MEASURING in slim_site.py")
    target = Path(app.outdir) / "_static" / script
    target.write_text(text.replace(MEASURING, ""), encoding="utf8")


def sweep(app: Sphinx, exception: Exception | None) -> None:
    """Remove what no page loads: maps, the icon script and the whole icon fonts."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    heavy = [
        *static.rglob("*.map"),
        *(static / "scripts").glob("fontawesome.js*"),
        *(static / "vendor" / "fontawesome" / "webfonts").glob("*"),
        *static.glob("*webpack-macros.html"),
    ]
    for file in heavy:
        file.unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", page_assets, priority=950)
    app.connect("build-finished", sweep, priority=870)  # first: what is gone names nothing
    app.connect("build-finished", write_bundles, priority=880)  # after extensions copied theirs
    app.connect("build-finished", spare_measuring, priority=890)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
