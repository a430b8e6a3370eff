"""A page holds both languages, and shows the reader's: templates, script, styles, first paint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.jinja2glue import BuiltinTemplateLoader

from bilingual.marks import LANGUAGES, pick, resolve, split_pair
from bilingual.nodes import language_of

HERE = Path(__file__).parent
#: Themes that take a list of templates for the end of the line above the text, and their own.
ARTICLE_HEADERS = {"sphinx_book_theme": ["article-header-buttons.html"], "pydata_sphinx_theme": []}


class BilingualTemplates(BuiltinTemplateLoader):
    """Sphinx's templates, with the marks of the finished page resolved.

    `template_bridge` is Sphinx's own hook for the object that renders pages.
    """

    def render(  # type: ignore[override]  # the hook's type, too, is wrong about its result
        self, template: str, context: dict[str, Any]
    ) -> str:
        return resolve(super().render(template, context))


def configure(app: Sphinx, config: Config) -> None:
    """Add our templates, script and styles; put the toggle where the theme has a place for it."""
    config.template_bridge = f"{__name__}.BilingualTemplates"
    config.templates_path.insert(0, str(HERE / "templates"))
    config.html_static_path.append(str(HERE / "static"))
    config.html_title = split_pair(config.html_title, " · ")
    # before the first paint: the page must never flash the other language
    app.add_js_file(
        None, body=(HERE / "templates" / "first-paint.js").read_text("utf8").strip(), priority=1
    )
    app.add_js_file("language.js", loading_method="defer")
    app.add_css_file("language.css", priority=890)
    if config.html_theme in ARTICLE_HEADERS:
        header = ["language-toggle.html", *ARTICLE_HEADERS[config.html_theme]]
        config.html_theme_options["article_header_end"] = header


def quote_chinese(app: Sphinx) -> None:
    """Curl quotes in Chinese, too: docutils asks its table for the language of a block."""
    app.env.settings["smartquotes_locales"] = [(LANGUAGES["zh"].lower(), "“”‘’")]


def page_context(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the templates the home page's title and a description in both languages."""
    home = app.env.titles.get(app.config.root_doc)
    if home is not None and isinstance(app.builder, StandaloneHTMLBuilder):
        context["root_title"] = app.builder.render_partial(home)["title"]
    context["description"] = {
        language: _first_words(doctree, language) if doctree else "" for language in ("zh", "en")
    }


def _first_words(doctree: nodes.document, language: str) -> str:
    limit = 80 if language == "zh" else 160
    for block in doctree.findall(nodes.container):
        if language_of(block) == language:
            words = pick(" ".join(block.astext().split()), language)
            return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"
    return ""
