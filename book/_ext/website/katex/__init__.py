"""Formulas are rendered while the book is built, by KaTeX: a page needs no script for them.

Each formula becomes HTML for the eye and MathML for screen readers. The JavaScript engine
(mini-racer) starts only when a formula is met that no earlier build has rendered: rendered
formulas are kept in ``katex.json`` beside Sphinx's saved pages. What KaTeX cannot parse is a
warning that names the formula, and so (strict_build) fails the build.

Sphinx writes pages in processes of their own, where the engine of their parent does not answer and
what they render is lost: so all formulas are rendered before, in the process that knows the book.
"""

import hashlib
import json
import re
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from website.katex.mathml import repaired

logger = logging.getLogger(__name__)

KATEX = Path(__file__).parent
#: Punctuation that never starts a line, and that never ends one.
CLOSING, OPENING = "，。；：、！？）》”,.;:!?)", "（《“("
#: How many signs a formula may have that stays in one line and holds on to what stands beside it.
SHORT = 18
#: Commands that take no room of their own in a formula: fonts, sizes and thin spaces.
NO_SIGN = re.compile(r"\\(?:(?:math|text|bold|operator|left|right|big|Big|quad)[A-Za-z]*|[,;!])")

STYLESHEETS = ("katex/katex.min.css", "katex/equations.css")

#: Returns JSON: KaTeX's own message is clearer than the engine's report of an exception.
RENDER_JS = """
function render(tex, display, macros) {
  try {
    return JSON.stringify({html: katex.renderToString(tex, {
      displayMode: display, output: "htmlAndMathml", strict: "ignore", macros: macros})});
  } catch (error) {
    return JSON.stringify({error: error.message});
  }
}
"""


class KatexError(ValueError):
    """A formula that KaTeX cannot parse."""


class Katex:
    """Formulas in, HTML out; remembers what it has rendered in ``cache_file``."""

    def __init__(self, macros: dict[str, str], cache_file: Path | None = None) -> None:
        self.macros = macros
        self.cache_file = cache_file
        self.rendered: dict[str, str] = {}
        self.refused: dict[str, str] = {}  # what KaTeX says of formulas that it cannot parse
        self.is_new = False
        if cache_file is not None and cache_file.exists():
            self.rendered = json.loads(cache_file.read_text(encoding="utf8"))

    @cached_property
    def salt(self) -> bytes:
        """What a rendering depends on besides the formula: KaTeX itself, repairs and macros."""
        files = (KATEX / "katex.min.js", KATEX / "mathml.py")
        source = b"".join(file.read_bytes() for file in files)
        return hashlib.sha256(source + RENDER_JS.encode() + repr(self.macros).encode()).digest()

    @cached_property
    def engine(self) -> Any:
        from py_mini_racer import MiniRacer

        engine = MiniRacer()
        engine.eval((KATEX / "katex.min.js").read_text(encoding="utf8"))
        engine.eval(RENDER_JS)
        return engine

    def render(self, tex: str, *, display: bool) -> str:
        """Return the HTML of ``tex``; raise KatexError where KaTeX does."""
        key = hashlib.sha256(self.salt + bytes([display]) + tex.encode()).hexdigest()
        if key not in self.rendered and key not in self.refused:
            answer = json.loads(self.engine.call("render", tex, display, self.macros))
            if "error" in answer:
                self.refused[key] = answer["error"].removeprefix("KaTeX parse error: ")
            else:
                self.rendered[key] = repaired(answer["html"])
                self.is_new = True
        if key in self.refused:
            raise KatexError(self.refused[key])
        return self.rendered[key]

    def save(self) -> None:
        """Keep the renderings for the next build."""
        if self.is_new and self.cache_file is not None:
            self.cache_file.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.cache_file.with_suffix(".tmp")
            temporary.write_text(json.dumps(self.rendered), encoding="utf8")
            temporary.replace(self.cache_file)


#: The renderer of each running build.
RENDERERS: WeakKeyDictionary[BuildEnvironment, Katex] = WeakKeyDictionary()


def source_of(node: nodes.Element) -> str:
    """Return what KaTeX is given for a formula."""
    tex = node.astext()
    several_lines = isinstance(node, nodes.math_block) and r"\\" in tex
    if several_lines and not node.get("nowrap") and not tex.lstrip().startswith(r"\begin"):
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"  # as Sphinx promises for every renderer
    return tex


def render_all(app: Sphinx, *trees: nodes.Node) -> None:
    """Render every formula before its page is written; what is refused is told there."""
    for tree in trees:
        for formula in (*tree.findall(nodes.math), *tree.findall(nodes.math_block)):
            with suppress(KatexError):
                display = isinstance(formula, nodes.math_block)
                RENDERERS[app.env].render(source_of(formula), display=display)


def render_page(app: Sphinx, doctree: nodes.document, page: str) -> None:
    render_all(app, doctree)


def render_titles(app: Sphinx, env: BuildEnvironment) -> None:
    """Render what any page may repeat of another: titles, and tables of contents."""
    render_all(app, *env.titles.values(), *env.longtitles.values(), *env.tocs.values())


def render_node(self: HTML5Translator, node: nodes.Element, *, display: bool) -> str:
    """Return a formula's HTML, or its source after a warning."""
    try:
        return RENDERERS[self.builder.env].render(source_of(node), display=display)
    except KatexError as error:
        logger.warning("KaTeX: %s in %r", error, node.astext(), location=node, type="katex_static")
        return f"<code>{self.encode(node.astext())}</code>"


def hold(html: str, closing: str) -> str:
    """Put punctuation into a formula's last box, from which no browser can break it."""
    end = "</span></span></span>"
    if not closing or not html.endswith(end):
        return html + closing
    return f'{html.removesuffix(end)}<span class="closing">{closing}</span>{end}'


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    classes = "math notranslate nohighlight"
    if not is_short(node):
        classes += " breakable"
    self.body.append(self.starttag(node, "span", "", CLASS=classes))
    html = render_node(self, node, display=False)
    self.body.append(hold(html, node.get("closing", "")) + "</span>")
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    # A box that scrolls must be reachable from the keyboard.
    self.body.append('<div class="math-scroll" tabindex="0">')
    self.body.append(render_node(self, node, display=True) + "</div>")
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def is_short(formula: nodes.math) -> bool:
    """Tell whether a formula's signs are few, whatever the commands that write them."""
    signs = re.sub(r"\\[A-Za-z]+|\\.", "x", NO_SIGN.sub("", formula.astext()))
    signs = re.sub(r"[{}_^\s]", "", signs)
    return len(signs) <= SHORT


class KeepPunctuation(SphinxPostTransform):
    """A browser may break a line after any formula: keep punctuation with a short one."""

    default_priority = 750
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            # By place: texts are equal where they read the same, and `replace` would take the
            # paragraph's first "." for this one.
            around, place = formula.parent, formula.parent.index(formula)
            before = text_at(around, place - 1) if place else ""
            after = text_at(around, place + 1)
            opened = before[-1:] if before[-1:] in OPENING else ""
            closed = after[:1] if after[:1] in CLOSING else ""
            if closed:
                around[place + 1] = nodes.Text(after[1:])
            if not is_short(formula):
                formula["closing"] = closed
            elif opened or closed:
                inside = [nodes.Text(opened), formula.deepcopy(), nodes.Text(closed)]
                together = nodes.inline("", "", *filter(None, inside), classes=["unbroken"])
                around[place] = together
                if opened:
                    around[place - 1] = nodes.Text(before[:-1])


def text_at(parent: nodes.Element, place: int) -> str:
    """Return the text at a place among an element's children: "" if none stands there."""
    child = parent[place] if place < len(parent) else None
    return child.astext() if isinstance(child, nodes.Text) else ""


class RejectUnnamedNumbers(SphinxTransform):
    """A bare ``align`` is numbered but cannot be referred to, and gets a random anchor."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        for node in self.document.findall(nodes.math_block):
            if "amsmath" in node["classes"] and node.get("label"):
                logger.warning(
                    "a numbered environment has no name: write its starred form, or"
                    r" $$\begin{aligned} ... \end{aligned}$$ (eq-name)",
                    location=node,
                    type="katex_static",
                )


def choose_renderer(app: Sphinx, config: Config) -> None:
    # Sphinx's own MathJax extension is always loaded; this makes it stand aside.
    config["html_math_renderer"] = "katex_static"
    config.html_static_path.append(str(KATEX / "static"))


def start(app: Sphinx) -> None:
    RENDERERS[app.env] = Katex(app.config.katex_macros, Path(app.doctreedir) / "katex.json")


def add_stylesheets(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Only pages with maths load KaTeX's stylesheet (and so its fonts), or that will have some.

    What a script brings formulas into says so: ``node["formulas"] = True``.
    """
    elements = doctree.findall(nodes.Element) if doctree is not None else ()
    if any(
        isinstance(element, nodes.math | nodes.math_block) or element.get("formulas")
        for element in elements
    ):
        for name in STYLESHEETS:
            app.add_css_file(name, priority=400)


def save(app: Sphinx, exception: Exception | None) -> None:
    if app.env in RENDERERS:  # else the build has ended before it began
        RENDERERS[app.env].save()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("katex_macros", {}, "env")
    app.add_transform(RejectUnnamedNumbers)
    app.add_post_transform(KeepPunctuation)
    app.add_html_math_renderer("katex_static", (visit_math, None), (visit_math_block, None))
    app.connect("config-inited", choose_renderer)
    app.connect("builder-inited", start)
    app.connect("env-check-consistency", render_titles)
    app.connect("doctree-resolved", render_page, priority=990)  # when the page is as it will be
    app.connect("html-page-context", add_stylesheets)
    app.connect("build-finished", save)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
