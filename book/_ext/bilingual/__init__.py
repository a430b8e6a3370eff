"""A Sphinx extension for one source in two languages: {zh} and {en} in it, a toggle on the page.

`marks` carries two languages through plain strings, `nodes` are the directives and roles,
`pages` shows the reader's language.  Without JavaScript both languages show.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from bilingual import nodes, pages

PARTS = ("bilingual.labels", "bilingual.citations", "bilingual.search")


def setup(app: Sphinx) -> dict[str, Any]:
    for language in ("zh", "en"):
        app.add_directive(language, nodes.LanguageBlock)
        app.add_role(language, nodes.LanguageRole())
    silent = (nodes.pass_through, nodes.pass_through)
    app.add_node(
        nodes.LanguageInline,
        html=(nodes.visit_language, nodes.depart_language),
        latex=silent,
        text=silent,
        man=silent,
        texinfo=silent,
    )
    app.add_transform(nodes.DropBlanksBetweenLanguages)
    app.add_transform(nodes.JoinChineseLines)
    app.add_transform(nodes.PairBlocks)
    app.connect("doctree-read", nodes.check_partners)
    app.connect("doctree-read", nodes.check_inline_partners)
    app.connect("doctree-read", nodes.split_captions, priority=600)
    app.connect("doctree-read", nodes.name_glossary_languages)
    app.connect("config-inited", pages.configure, priority=900)
    app.connect("builder-inited", pages.quote_chinese)
    app.connect("html-page-context", pages.page_context, priority=900)
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
