"""Launch and download buttons that lead to the exported one-language notebooks.

The theme's own buttons would open the MyST source: Colab cannot read it, and Binder shows it as
text. A chapter offers Colab, Binder and a download for each language, and only for notebooks
that exist; in one language's mode the other language's entries are hidden.
"""

import shutil
from pathlib import Path
from typing import Any

from bilingual.marks import mark
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import get_translation

LANGUAGES = {"zh": "中文", "en": "English"}
DOWNLOADS = "_notebooks"  # in the built site
WORDS = {
    "zh": {"colab": "在 Colab 中运行", "binder": "在 Binder 中运行", "file": "下载笔记本"},
    "en": {"colab": "Run in Colab", "binder": "Run in Binder", "file": "Download notebook"},
}
theme_text = get_translation("booktheme")

Button = dict[str, Any]


def notebook(app: Sphinx, language: str, page: str) -> Path:
    return Path(app.srcdir).parent / "notebooks" / language / f"{page}.ipynb"


def exported_languages(app: Sphinx, page: str) -> list[str]:
    return [language for language in LANGUAGES if notebook(app, language, page).is_file()]


def addresses(app: Sphinx, language: str, page: str) -> dict[str, str]:
    """Return the address of each service that the book's settings name."""
    options = app.config.html_theme_options
    launch = options.get("launch_buttons", {})
    slug = "/".join(options["repository_url"].rstrip("/").split("/")[-2:])
    branch = options.get("repository_branch", "main")
    file = f"notebooks/{language}/{page}.ipynb"
    found = {}
    if colab := launch.get("colab_url", "").rstrip("/"):
        found["colab"] = f"{colab}/github/{slug}/blob/{branch}/{file}"
    if binder := launch.get("binderhub_url", "").rstrip("/"):
        found["binder"] = f"{binder}/v2/gh/{slug}/{branch}?urlpath=lab/tree/{file}"
    return found


def entry(language: str, kind: str, url: str) -> Button:
    """Return one menu entry; the theme makes a CSS class of ``label``."""
    words = mark(language, WORDS[language][kind])
    label = f"{kind}-{language} bl bl-{language}"
    return {"type": "link", "text": words, "url": url, "label": label}


def group(label: str, text: str, icon: str, buttons: list[Button]) -> Button:
    tooltip = theme_text(text)
    return {"type": "group", "label": label, "tooltip": tooltip, "icon": icon, "buttons": buttons}


def add_buttons(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Replace the theme's launch group; put the notebooks first among the downloads."""
    if doctree is None or "header_buttons" not in context:
        return
    languages = exported_languages(app, pagename)
    groups: list[Button] = context["header_buttons"]
    groups[:] = [g for g in groups if g.get("label") != "launch-buttons"]
    launch = [
        entry(language, kind, url)
        for language in languages
        for kind, url in addresses(app, language, pagename).items()
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


def remember(app: Sphinx, doctree: Any) -> None:
    if not hasattr(app.env, "launch_languages"):
        app.env.launch_languages = {}  # type: ignore[attr-defined]
    page = app.env.docname
    app.env.launch_languages[page] = exported_languages(app, page)  # type: ignore[attr-defined]


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Write a page again when a notebook of it has come or gone."""
    known: dict[str, list[str]] = getattr(env, "launch_languages", {})
    return [page for page, languages in known.items() if languages != exported_languages(app, page)]


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Put the notebooks into the site, and the theme's copies of the raw source out of it."""
    if exception is not None or app.builder.format != "html":
        return
    for page in app.env.found_docs:
        Path(app.outdir, "_sources", f"{page}.ipynb").unlink(missing_ok=True)
        for language in exported_languages(app, page):
            source = notebook(app, language, page)
            target = Path(app.outdir, DOWNLOADS, language, f"{page}.ipynb")
            if not target.is_file() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_buttons, priority=600)  # after the theme's own buttons
    app.connect("doctree-read", remember)
    app.connect("env-get-outdated", outdated)
    app.connect("build-finished", copy_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
