"""A chapter links its slides where they have been made: `make slides` puts them into the site.

They are made of the built pages, so a build links what the one before has brought; whether a deck
is there is looked up for every chapter, and a chapter is written anew when one has come or gone.

Other pages name a place for links to a page's slides: an inline of the class ``slides-of`` with
``page``, made before the references are resolved, below a node of the class ``shows-slides``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bilingual.environment import PerPage, builder_of
from bilingual.nodes import LanguageInline
from docutils import nodes
from evidence.published import site_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.osutil import relative_uri

#: In the site; a name with a line before it is no page of the book.
FOLDER = "_slides"
LIST = f"{FOLDER}/index.html"
LANGUAGES = ("zh", "en")
WORDS = {"zh": "课件", "en": "slides"}
BEFORE = {"zh": "，", "en": ", "}
#: The pages that link the slides of others.
LINKING = PerPage[bool]("website_slides_linking")


def decks_of(app: Sphinx, page: str) -> dict[str, str]:
    """Return the addresses of a page's decks in the site, by language."""
    names = {language: f"{FOLDER}/{page}-{language}.html" for language in LANGUAGES}
    return {key: name for key, name in names.items() if Path(site_of(app), name).is_file()}


def changed(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Write a page again whose decks have come or gone."""
    before: dict[str, list[str]] = getattr(env, "website_decks", {})
    now = {page: list(decks_of(app, page)) for page in env.found_docs}
    env.website_decks = now  # type: ignore[attr-defined]
    found = [page for page, languages in now.items() if languages != before.get(page, [])]
    return {*found, *LINKING.of(env)} if found else []


def note_places(app: Sphinx, doctree: nodes.document) -> None:
    """Remember a page that links the slides of others."""
    if any("shows-slides" in node["classes"] for node in doctree.findall(nodes.Element)):
        LINKING.of(app.env)[app.env.docname] = True


class LinkSlides(SphinxPostTransform):
    """Fill in the links to the slides of a page, where there are any."""

    default_priority = 3

    def run(self, **kwargs: Any) -> None:
        here = builder_of(self.env).get_target_uri(self.env.docname)
        for place in list(self.document.findall(nodes.inline)):
            if "slides-of" in place["classes"]:
                decks = decks_of(self.app, place["page"])
                place["classes"] = []
                place.replace_self([link(here, *each) for each in decks.items()])


def link(here: str, language: str, address: str) -> LanguageInline:
    uri = relative_uri(here, address)
    words = nodes.reference("", WORDS[language], refuri=uri, internal=True)
    return LanguageInline("", "", nodes.Text(BEFORE[language]), words, language=language)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.add_post_transform(LinkSlides)
    app.connect("doctree-read", note_places)
    LINKING.connect(app)
    app.connect("env-updated", changed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
