"""What a page tells those who link to it, share it or list it: its title, what it is about, where.

A title and a description are in one language, English, since those who read them run no script;
the page's alternates name its address in each. Addresses are absolute, from ``html_baseurl``.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from bilingual.environment import reading_order
from bilingual.marks import LANGUAGES, pick
from docutils import nodes
from sphinx.application import Sphinx

#: docutils writes one, Sphinx's template another.
VIEWPORT = re.compile(r'\s*<meta [^>]*name="viewport"[^>]*>')
LONGEST = 200


def address_of(app: Sphinx, page: str) -> str:
    """Return where a page is published; the front page is the site's root."""
    base = str(app.config.html_baseurl).rstrip("/") + "/"
    return base if page == app.config.root_doc else base + app.builder.get_target_uri(page)


def title_of(app: Sphinx, page: str, language: str) -> str:
    """Return a page's title in one language, without its number."""
    found = app.env.titles.get(page)
    return " ".join(pick(found.astext(), language).split()) if found is not None else ""


def number_of(app: Sphinx, page: str) -> str:
    """Return a chapter's number, or nothing."""
    return ".".join(map(str, app.env.toc_secnumbers.get(page, {}).get("") or ()))


def tell(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the template what it writes into the page's head."""
    context["metatags"] = VIEWPORT.sub("", context.get("metatags") or "")
    if page not in app.env.found_docs:
        return
    context["pageurl"] = address_of(app, page)
    said = context["description"]["en"]
    book = unescape(pick(str(context["docstitle"]), "en"))
    title = book if page == app.config.root_doc else title_of(app, page, "en")
    context["shared"] = {
        "kind": "website" if page == app.config.root_doc else "article",
        "site": book,
        "title": title,
        "description": shortened(said) or title,
        "address": context["pageurl"],
        "locale": "en_US",
        "other_locale": "zh_CN",
    }


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rsplit(" ", 1)[0] + "…"


def write_lists(app: Sphinx, exception: Exception | None) -> None:
    """Write the list of all pages for search engines, in each language, and where it is."""
    if exception is not None or app.builder.name != "html" or not app.config.html_baseurl:
        return
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:xhtml="http://www.w3.org/1999/xhtml">',
    ]
    for page in reading_order(app.env):
        address = address_of(app, page)
        lines.append(f"<url><loc>{escape(address)}</loc>")
        for language, tag in LANGUAGES.items():
            other = quoteattr(f"{address}?lang={language}")
            lines.append(f'<xhtml:link rel="alternate" hreflang="{tag}" href={other}/>')
        lines.append("</url>")
    lines.append("</urlset>\n")
    Path(app.outdir, "sitemap.xml").write_text("\n".join(lines), encoding="utf8")
    here = str(app.config.html_baseurl).rstrip("/")
    robots = f"User-agent: *\nAllow: /\nSitemap: {here}/sitemap.xml\n"
    Path(app.outdir, "robots.txt").write_text(robots, encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", tell, priority=930)  # when the page's description is known
    app.connect("build-finished", write_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
