"""The launch and download buttons of a page with cells: its notebooks, slides and Markdown.

The theme's own buttons would open the MyST source: Colab cannot read it, and Binder shows it as
text. A chapter offers Colab, Binder and a download for each language; in one language's mode the
other language's entries are hidden.
"""

from pathlib import Path
from typing import Any

from bilingual.marks import mark
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import get_translation

from website import markdown
from website.addresses import read_addresses
from website.notebooks import FOLDER, LANGUAGES, has_notebooks
from website.slides import decks_of

WORDS = {
    "zh": {
        "colab": "在 Colab 中运行",
        "binder": "在 Binder 中运行",
        "file": "下载笔记本",
        "slides": "课件",
        "markdown": "复制为 Markdown",
    },
    "en": {
        "colab": "Run in Colab",
        "binder": "Run in Binder",
        "file": "Download notebook",
        "slides": "Slides",
        "markdown": "Copy as Markdown",
    },
}
theme_text = get_translation("booktheme")

Button = dict[str, Any]


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
    languages = LANGUAGES if has_notebooks(app.env, pagename) else ()
    groups: list[Button] = context["header_buttons"]
    groups[:] = [g for g in groups if g.get("label") != "launch-buttons"]
    at = read_addresses(Path(app.srcdir).parent)
    launch = [
        entry(language, service, url)
        for language in languages
        for service, url in at.launches(f"{language}/{pagename}.ipynb").items()
    ]
    if launch:
        text = "Launch interactive content"
        groups.insert(0, group("launch-buttons", text, "fas fa-rocket", launch))
    for downloads in (g for g in groups if g.get("label") == "download-buttons"):
        files = [
            entry(language, "file", context["pathto"](f"{FOLDER}/{language}/{pagename}.ipynb", 1))
            for language in languages
        ]
        files += [
            entry(language, "slides", context["pathto"](address, 1))
            for language, address in decks_of(app, pagename).items()
        ]
        files += [
            entry(language, "markdown", context["pathto"](markdown.address(pagename, language), 1))
            for language in languages
        ]
        others = [b for b in downloads["buttons"] if b["label"] != "download-notebook-button"]
        downloads["buttons"] = files + others


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("website.notebooks")
    app.setup_extension("website.slides")
    app.setup_extension("website.markdown")
    app.connect("html-page-context", add_buttons, priority=600)  # after the theme's own buttons
    return {"parallel_read_safe": True, "parallel_write_safe": True}
