"""Figures and drawings are put into the page itself; each must say what it shows.

* matplotlib's SVG outputs: bilingual labels become one span for each language, black and
  white become the page's own, and ids are kept apart;
* ``{diagram}``: a drawing of ``book/figures/`` with number, caption and alternative text.

Every image of the book must say what it shows in both languages (``alt: "中文 | English"``);
one that does not is a warning.
"""

import hashlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from bilingual.marks import mark
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from website.figures import svg_markup

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
ALT_SEPARATOR = " | "


class InlineSvg(SphinxPostTransform):
    """Replace the SVG images that cells wrote by their markup; check every image's alt text."""

    # After myst-nb has chosen between an output's formats, before Sphinx copies images.
    default_priority = 20
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        seen: dict[str, int] = {}
        for node in list(self.document.findall(nodes.image)):
            zh, separator, en = node.get("alt", "").partition(ALT_SEPARATOR)
            if not (zh.strip() and separator and en.strip()):
                logger.warning(
                    'the figure %s needs alternative text in both languages: alt: "中文 | English"'
                    " (in a cell, under mystnb: image:); got %r",
                    " ".join(node.parent.get("names", [])) or node["uri"],
                    node.get("alt", ""),
                    location=node if node.line else self.env.docname,
                    type="inline_svg",
                )
            path = Path(self.env.srcdir, node["uri"])
            if "jupyter_execute" in path.parts and path.suffix == ".svg":
                markup = self.figure(path, zh.strip(), en.strip() or zh.strip(), seen)
                node.replace_self(nodes.raw("", markup, format="html"))
            else:
                node["alt"] = mark("zh", zh.strip()) + mark("en", en.strip())

    def figure(self, path: Path, zh: str, en: str, seen: dict[str, int]) -> str:
        root = svg_markup.read(path)
        name = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        seen[name] = seen.get(name, 0) + 1  # the same picture may stand twice on a page
        svg_markup.darken_weights(root)
        svg_markup.scope_ids(root, f"f{name}-{seen[name]}-")
        svg_markup.follow_page_colors(root)
        svg_markup.split_languages(root)
        svg_markup.describe(root, zh, en)
        svg_markup.fit_width(root, "figure-svg")
        return svg_markup.to_html(root)


class Diagram(SphinxDirective):
    """``:::{diagram} name``: a drawing of ``book/figures/``, numbered, with its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "name": directives.unchanged_required,
        "alt-zh": directives.unchanged_required,
        "alt-en": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        folder = Path(self.env.srcdir, "figures")
        path = folder / f"{name}.svg"
        self.env.note_dependency(str(path))
        if not path.is_file():
            return self.problem(f"no figures/{name}.svg; {near(name, folder)}")
        missing = [o for o in ("alt-zh", "alt-en") if not self.options.get(o)]
        if missing:
            return self.problem(f"the diagram {name} needs the options {missing}")
        figure = nodes.figure("", nodes.raw("", self.markup(path), format="html"))
        figure["classes"].append("diagram")
        figure["drawing"] = name  # for the notebooks, which show one language
        figure["alt"] = {language: self.options[f"alt-{language}"] for language in ("zh", "en")}
        self.set_source_info(figure)
        self.add_name(figure)
        if self.content:
            caption = nodes.caption()
            self.set_source_info(caption)
            holder = nodes.Element()
            self.state.nested_parse(self.content, self.content_offset, holder)
            for paragraph in holder.children:
                caption += paragraph.children
            figure += caption
        return [figure]

    def markup(self, path: Path) -> str:
        root = svg_markup.read(path)
        svg_markup.scope_ids(root, f"d-{path.stem}-")
        svg_markup.describe(root, self.options["alt-zh"], self.options["alt-en"])
        svg_markup.fit_width(root, "diagram-svg")
        return svg_markup.to_html(root)

    def problem(self, message: str) -> list[nodes.Node]:
        logger.warning(message, location=self.get_location(), type="inline_svg")
        return []


def near(name: str, folder: Path) -> str:
    names = sorted(path.stem for path in folder.glob("*.svg"))
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names)}"


def add_static(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("diagram", Diagram)
    app.add_post_transform(InlineSvg)
    app.connect("config-inited", add_static)
    for stylesheet in sorted(STATIC.glob("*.css")):
        app.add_css_file(stylesheet.name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
