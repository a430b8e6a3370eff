"""The launch and download buttons of a page lead to the exported one-language notebooks.

The theme's own buttons would open the MyST source: Colab cannot read it, and Binder shows it as
text. A chapter offers Colab, Binder and a download for each language, and only for notebooks
that exist; in one language's mode the other language's entries are hidden.
"""

import shutil
from pathlib import Path
from typing import Any

from bilingual.environment import PerPage
from bilingual.marks import mark
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import get_translation

from website.addresses import read_addresses

DOWNLOADS = "_notebooks"  # in the built site
WORDS = {
    "zh": {"colab": "在 Colab 中运行", "binder": "在 Binder 中运行", "file": "下载笔记本"},
    "en": {"colab": "Run in Colab", "binder": "Run in Binder", "file": "Download notebook"},
}
theme_text = get_translation("booktheme")

Button = dict[str, Any]
#: The languages in which each page had a notebook when it was read.
LANGUAGES = PerPage[list[str]]("launch_languages")


def notebook(app: Sphinx, language: str, page: str) -> Path:
    return Path(app.srcdir).parent / "notebooks" / language / f"{page}.ipynb"


def exported_languages(app: Sphinx, page: str) -> list[str]:
    return [language for language in WORDS if notebook(app, language, page).is_file()]


def entry(language: str, kind: str, url: str) -> Button:
    """Return one menu entry; the theme makes a CSS class of ``label``."""
    words = mark(language, WORDS[language][kind])
    label = f"{kind}-{language} bl bl-{language}"
    return {"type": "link", "text": words, "url": url, "label": label}


def group(label: str, text: str, icon: str, buttons: list[Button]) -> Button:
    tooltip = theme_text(text)
    return {"type": "group", "label": label, "tooltip": tooltip, "icon": icon, "buttons": buttons}


def add_buttons(
    app: Sphinx,
    pagename: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Replace the theme's launch group; put the notebooks first among the downloads."""
    if doctree is None or "header_buttons" not in context:
        return
    languages = exported_languages(app, pagename)
    groups: list[Button] = context["header_buttons"]
    groups[:] = [g for g in groups if g.get("label") != "launch-buttons"]
    at = read_addresses(Path(app.srcdir).parent)
    launch = [
        entry(language, service, url)
        for language in languages
        for service, url in at.launches(f"notebooks/{language}/{pagename}.ipynb").items()
    ]
    if launch:
        text = "Launch interactive content"
        groups.insert(0, group("launch-buttons", text, "fas fa-rocket", launch))
    for downloads in (g for g in groups if g.get("label") == "download-buttons"):
        files = [
            entry(
                language, "file", context["pathto"](f"{DOWNLOADS}/{language}/{pagename}.ipynb", 1)
            )
            for language in languages
        ]
        others = [b for b in downloads["buttons"] if b["label"] != "download-notebook-button"]
        downloads["buttons"] = files + others


def remember(app: Sphinx, doctree: nodes.document) -> None:
    page = app.env.docname
    LANGUAGES.of(app.env)[page] = exported_languages(app, page)


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Write a page again when a notebook of it has come or gone."""
    known = LANGUAGES.of(env)
    return [page for page, languages in known.items() if languages != exported_languages(app, page)]


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Put the notebooks into the site; out of it what is gone, and the theme's raw copies."""
    if exception is not None or app.builder.format != "html":
        return
    downloads = Path(app.outdir, DOWNLOADS)
    gone = set(downloads.rglob("*.ipynb"))
    for page in app.env.found_docs:
        Path(app.outdir, "_sources", f"{page}.ipynb").unlink(missing_ok=True)
        for language in exported_languages(app, page):
            source = notebook(app, language, page)
            target = downloads / language / f"{page}.ipynb"
            gone.discard(target)
            if not target.is_file() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    for path in gone:
        path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_buttons, priority=600)  # after the theme's own buttons
    app.connect("doctree-read", remember)
    app.connect("env-get-outdated", outdated)
    LANGUAGES.connect(app)
    app.connect("build-finished", copy_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
