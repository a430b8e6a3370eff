"""Each page with cells, as a notebook in each language: written while the page is written.

Colab and Jupyter know no MyST, so a page becomes plain Markdown and code. It is the page that the
build has read: with its numbers, its references resolved, its citations; whatever stands in it and
has no rule here is a warning. Notebooks are written without outputs.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from html import escape
from itertools import chain
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urljoin

import nbformat
from bilingual.environment import PerPage, reading_order
from bilingual.marks import Bilingual, pick
from bilingual.nodes import language_of
from docutils import nodes
from evidence.code_cells import Cell, code_cells
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import admonitionlabels
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from website.addresses import Addresses, read_addresses
from website.figures import svg_markup
from website.notebook_questions import ANSWERING, TITLE, bringing, question_of

logger = logging.getLogger(__name__)

LANGUAGES = ("zh", "en")
#: Where the notebooks stand in the built site.
FOLDER = "_notebooks"
#: The cells of each page, those as well that the page does not show.
CELLS = PerPage[tuple[Cell, ...]]("notebook_cells")

INSTALL = '''\
try:
    import attention_book
except ImportError:  # Colab, or a Jupyter that does not have the book's package yet
    %pip install -q "{requirement}"'''
#: After the install from an index, which may not have the package.
ELSE_FROM_TAG = '''
    import importlib.util
    importlib.invalidate_caches()
    if importlib.util.find_spec("attention_book") is None:
        %pip install -q "{requirement}"'''
SITE = Bilingual("网页版", "This chapter on the site")
OTHER = Bilingual("English", "中文")
BEFORE, AFTER = Bilingual("上一章：", "Previous chapter: "), Bilingual("下一章：", "Next chapter: ")
LIVE = Bilingual("在网页上动手", "Try it on the page")
EXPORTED = Bilingual(
    "本笔记本由《注意力之书》的同一章导出。", "Exported from this chapter of The Attention Book."
)
FOLDED_CELLS = Bilingual(
    "题为“证据”的折叠单元格，给出正文里的数，并检验正文的论断。",
    " The folded cells called “Evidence” produce the numbers of the text and test its claims.",
)
TOOLS = Bilingual(
    "`notebook.glue(name, value)` 把这次运行得到的一个数交给正文，在笔记本里则印成"
    " `name = …`，正文里就以 `name` 代替这个数；`notebook.measure(name, value, above=…)`"
    " 把取决于训练或抽样的结果同它的界限相比，告诉你这次是否得到。"
    "`L(中文, 英文)` 是有两种语言的标签，笔记本只显示其中一种。",
    "`notebook.glue(name, value)` gives a number of this run to the text, which calls it `name`"
    " here, and prints it as `name = …`; `notebook.measure(name, value, above=…)` compares a"
    " result that depends on a training or a draw with its bound, and tells you whether it came"
    " out. `L(zh, en)` is a label in two languages, of which a notebook shows one.",
)
ANSWER_HERE = Bilingual(
    "每道题下面的单元格 `answer(…)`，把 `...` 换成你的答案，书就答复你。",
    " Below each question is a cell `answer(…)`. Put your answer in place of `...` and run it, and"
    " the book replies.",
)
#: A step of the reader's own file, and the cells in which it is written and checked
#: (``attention_book.course.own_file.in_notebook``, which a test compares the words with).
OWN_STEP = re.compile(r"\['own-file-(\d+)'\]")
OWN_MAGIC = "%reload_ext attention_book.course.own_file.in_notebook"
OWN_STUB = Bilingual(
    "# 写在这里再运行：这些定义会进入 my_attention.py（同名的被换掉，其余不动），然后检查。\n"
    "# 也可以直接改那份文件；这一格空着运行，就只检查。",
    "# Write here and run: the definitions go into my_attention.py (those with the same name are\n"
    "# replaced, nothing else is touched), and the file is checked. Or edit the file itself: an\n"
    "# empty cell only checks it.",
)
#: Colab shows a folded cell by the title in its first line: a comment, which changes no result.
TITLES = {
    "evidence": Bilingual("# @title 证据\n", "# @title Evidence\n"),
    "setup": Bilingual("# @title 准备\n", "# @title Set-up\n"),
}
#: Cells that the page folds stay folded in a notebook (JupyterLab; Colab's form view).
FOLD = {"jupyter": {"source_hidden": True}, "cellView": "form"}
HIDING = {"setup", "evidence", "hide-input", "hide-cell", "remove-input", "remove-cell"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
#: What stands in no notebook.
NOTHING = (nodes.Invisible, nodes.raw, nodes.system_message, nodes.problematic)
#: Admonitions that have no title of their own.
NAMED = (nodes.note, nodes.tip, nodes.hint, nodes.important, nodes.warning, nodes.caution,
         nodes.attention, nodes.danger, nodes.error)  # fmt: skip
MARKUP = re.compile(r"[\\`*$]|(?<![^\W_])_|_(?![^\W_])|<(?=[\w/!])|!\Z")

ESCAPED = r"\\\g<0>"


class Code(NamedTuple):
    """A code cell among the blocks of a page."""

    text: str
    folded: bool


Blocks = Iterator[str | Code]


class Page:
    """Writes one page in one language as Markdown and code."""

    def __init__(self, app: Sphinx, page: str, language: str) -> None:
        self.app, self.env, self.page, self.language = app, app.env, page, language
        self.at = read_addresses(Path(app.srcdir).parent)
        self.waiting = list(CELLS.of(self.env)[page])  # not written yet
        self.depth = 0
        self.exercise, self.in_solution = "", False
        self.questions: dict[str, dict[str, Any]] = {}
        self.shows_numbers = False  # else a number of the run is called by its name

    def say(self, text: str) -> str:
        return pick(text, self.language)

    def url(self, address: str) -> str:
        """Return the address on the site of what a link of the page leads to."""
        path, _, anchor = urljoin(f"{self.at.site}/{self.page}.html", address).partition("#")
        if path.startswith(f"{self.at.site}/"):
            path += f"?lang={self.language}"
        return f"{path}#{anchor}" if anchor else path

    def number(self, node: nodes.Element, kind: str) -> str:
        """Return what a numbered thing is called; "" for one without a number."""
        numbers = self.env.toc_fignumbers.get(self.page, {}).get(kind, {})
        found = next((numbers[each] for each in node["ids"] if each in numbers), None)
        form = self.app.config.numfig_format.get(kind, "%s")
        return self.say(form % ".".join(map(str, found))) if found else ""

    # ---- blocks ---------------------------------------------------------------------------------

    def blocks(self, node: nodes.Node) -> Blocks:
        """Yield the blocks of a node, by the rule of the first of its classes that has one."""
        if isinstance(node, NOTHING) or language_of(node) not in (None, self.language):
            return
        for kind in type(node).__mro__:
            rule: Callable[[Any], Blocks] | None = getattr(self, f"block_{kind.__name__}", None)
            if rule:
                yield from rule(node)
                return
        logger.warning(
            "no rule for %s in a notebook", type(node).__name__, location=node, type="notebooks"
        )

    def inside(self, node: Any) -> Blocks:
        """Yield the blocks of a node's children."""
        for child in node.children:
            yield from self.blocks(child)

    def text(self, *around: nodes.Node) -> str:
        """Return blocks that hold no cells as one text."""
        found = [block for node in around for block in self.blocks(node)]
        return "\n\n".join(str(block) for block in found if isinstance(block, str) and block)

    def markdown(self, *around: nodes.Node) -> str:
        """Return blocks and words as one text."""
        found = (self.inline(e) if isinstance(e, nodes.inline) else self.text(e) for e in around)
        return "\n\n".join(text.strip() for text in found if text.strip())

    block_document = block_compound = block_legend = inside

    def block_section(self, node: nodes.section) -> Blocks:
        titled = isinstance(node[0], nodes.title)
        self.depth += titled
        yield from self.inside(node)
        self.depth -= titled

    def block_title(self, node: nodes.title) -> Blocks:
        yield f"{'#' * self.depth} {self.inline(node)}".replace(" （", "（")

    def block_paragraph(self, node: nodes.paragraph) -> Blocks:
        text = self.inline(node).strip()
        yield f"**{text}**" if "admonition-title" in node["classes"] else text

    def block_container(self, node: nodes.container) -> Blocks:
        if node.get("nb_element") == "cell_code":
            yield from self.cell(node)
        elif "question" in node["classes"]:
            yield from ("---", *self.question(node), "---")
        elif "own-file" in node["classes"] and OWN_STEP.match(str(node["ids"])):
            yield from self.own_step(node)
        else:
            yield from self.inside(node)

    def question(self, node: nodes.container) -> Blocks:
        """Yield a question, a cell to answer it in, and its folded answer."""
        self.shows_numbers = True
        found = question_of(node, self.markdown)
        self.shows_numbers = False
        for child in node.children:
            if found and type(child).__name__ == "AnswerFold":
                self.questions[found["id"]] = found
                yield Code(ANSWERING.format(name=found["id"]), folded=False)
            yield from self.blocks(child)

    def own_step(self, node: nodes.container) -> Blocks:
        """Yield a step of the reader's own file, a cell to write it in, and its folded code."""
        step = OWN_STEP.match(str(node["ids"]))
        assert step
        for child in node.children:
            if type(child).__name__ == "SolutionFold":
                yield Code(OWN_MAGIC, folded=True)
                yield Code(f"%%own_file {step[1]}\n{self.say(OWN_STUB)}", folded=False)
            yield from self.blocks(child)

    def cell(self, node: nodes.container) -> Blocks:
        """Yield a cell, after those before it that the page does not show, and its caption."""
        yield from self.code_up_to(node["cell_index"])
        for figure in node.findall(nodes.figure):
            yield self.caption(figure)

    def code_up_to(self, place: float) -> Blocks:
        """Yield the code cells that have not been written yet, up to a place among all cells."""
        while self.waiting and self.waiting[0].place <= place:
            cell = self.waiting.pop(0)
            title = "".join(self.say(TITLES[tag]) for tag in cell.tags if tag in TITLES)
            setup = f'notebook.setup(language="{self.language}")'
            code = cell.code.strip("\n").replace("notebook.setup()", setup)
            yield Code(title + code, self.in_solution or bool(HIDING & set(cell.tags)))

    def block_bullet_list(self, node: nodes.bullet_list) -> Blocks:
        yield self.items(node, lambda n: "- ")

    def block_enumerated_list(self, node: nodes.enumerated_list) -> Blocks:
        if node.get("enumtype") == "upperalpha":  # Markdown has no such list
            yield self.items(node, lambda n: f"- {chr(ord('A') + n)}. ")
        else:
            yield self.items(node, lambda n: f"{n + node.get('start', 1)}. ")

    def items(self, node: nodes.Element, sign: Callable[[int], str]) -> str:
        texts = [self.text(*item.children) for item in node.children]
        loose = any("\n\n" in text for text in texts)
        indented = (
            sign(n) + text.replace("\n", "\n" + " " * len(sign(n))) for n, text in enumerate(texts)
        )
        return re.sub(r"\n +\n", "\n\n", ("\n\n" if loose else "\n").join(indented))

    def block_definition_list(self, node: nodes.definition_list) -> Blocks:
        for term, definition in (item.children[-2:] for item in node.children):
            yield f"**{self.inline(term)}**"
            yield from self.inside(definition)

    def block_block_quote(self, node: nodes.block_quote) -> Blocks:
        yield quoted(self.text(*node.children))

    def block_literal_block(self, node: nodes.literal_block) -> Blocks:
        language = {"ipython3": "python", "default": ""}.get(node["language"], node["language"])
        yield f"```{language}\n{node.astext().strip(chr(10))}\n```"

    def block_math_block(self, node: nodes.math_block) -> Blocks:
        tex = node.astext().strip("\n")
        if r"\\" in tex and not tex.lstrip().startswith(r"\begin") and not node.get("nowrap"):
            tex = f"\\begin{{aligned}}\n{tex}\n\\end{{aligned}}"
        writer: Any = SimpleNamespace(builder=self.app.builder)  # all that is asked of it
        tag = f" \\tag{{{get_node_equation_number(writer, node)}}}" if node["number"] else ""
        yield f"$$\n{tex}{tag}\n$$"

    def block_table(self, node: nodes.table) -> Blocks:
        rows = [
            [" ".join(self.text(*entry.children).split("\n")).replace("|", r"\|") for entry in row]
            for row in node.findall(nodes.row)
        ]
        first: Any = next(node.findall(nodes.row))
        rules = {"text-left": ":--", "text-center": ":-:", "text-right": "--:"}
        line = [next((rules[c] for c in e["classes"] if c in rules), "---") for e in first]
        written = [f"| {' | '.join(row)} |" for row in rows]
        yield "\n".join([written[0], f"|{'|'.join(line)}|", *written[1:]])

    def block_figure(self, node: nodes.figure) -> Blocks:
        if "drawing" in node:
            yield self.drawing(node)
        yield self.caption(node)
        for legend in node.findall(nodes.legend):
            yield from self.inside(legend)

    def caption(self, node: nodes.figure) -> str:
        words = next(map(self.inline, node.findall(nodes.caption)), "")
        number = f"**{name}** " if (name := self.number(node, "figure")) else ""
        if "live" in node:
            number += f"[{self.say(LIVE)}]({self.url('#' + node['ids'][0])}): "
        return number + words

    def drawing(self, node: nodes.figure) -> str:
        """Return a drawing in one language, whole, as an address of data: it is in the cell."""
        root = svg_markup.read(Path(self.app.srcdir, "figures", f"{node['drawing']}.svg"))
        svg_markup.keep_language(root, self.language)
        svg_markup.keep_whole(root)
        svg_markup.fit_width(root, "diagram-svg")
        styles = Path(svg_markup.__file__).parent / "static" / "diagrams.css"
        svg = svg_markup.stand_alone(root, styles.read_text(encoding="utf8"))
        data = base64.b64encode(svg.encode("utf8")).decode()
        alt = escape(node["alt"][self.language], quote=True)
        return f'<img alt="{alt}" width="430" src="data:image/svg+xml;base64,{data}">'

    def block_Admonition(self, node: nodes.Element) -> Blocks:
        titles = [child for child in node.children if isinstance(child, nodes.title)]
        label = str(admonitionlabels[node.tagname]) if isinstance(node, NAMED) else ""
        title = self.inline(titles[0]) if titles else self.say(label)
        body = self.text(*(child for child in node.children if child not in titles))
        if "$$" in body:  # notebooks do not find display math inside a quotation
            yield f"**{title}**\n\n{body}"
        else:
            yield quoted(f"**{title}**\n\n{body}")

    def block_exercise_enumerable_node(self, node: nodes.Element) -> Blocks:
        title = re.sub(r"^\s+", "　", self.inline(node[0]))
        yield f"---\n\n**{self.number(node, 'exercise')}{title}**"
        yield from self.inside(node[1])
        self.exercise = self.number(node, "exercise")

    def block_solution_node(self, node: nodes.Element) -> Blocks:
        """Yield a solution: folded, or with its cells folded, after its exercise."""
        colon = "：" if self.language == "zh" else ": "
        title = f"{self.inline(node[0])}{colon}{self.exercise}"
        self.in_solution = True
        found = list(self.inside(node[1]))
        self.in_solution = False
        if any(isinstance(each, Code) for each in found):
            yield from (f"**{title}**", *found)
        else:
            yield folded(title, "\n\n".join(map(str, found)))
        yield "---"

    def block_SourcesBox(self, node: nodes.Element) -> Blocks:
        yield f"### {self.inline(node[0])}"
        yield from (block for child in node.children[1:] for block in self.blocks(child))

    def block_LectureFold(self, node: nodes.Element) -> Blocks:
        yield f"**{self.inline(node[0])}**"
        yield from (block for child in node.children[1:] for block in self.blocks(child))

    def block_AnswerFold(self, node: nodes.Element) -> Blocks:
        yield folded(self.say(node["label"]), self.text(*node.children))

    def block_SolutionFold(self, node: nodes.Element) -> Blocks:
        yield folded(self.say(node["label"]), self.text(*node.children))

    def block_footnote(self, node: nodes.footnote) -> Blocks:
        yield f"<sup>[{node[0].astext()}]</sup> {self.text(*node.children[1:])}"

    def block_transition(self, node: nodes.transition) -> Blocks:
        yield "---"

    # ---- words ----------------------------------------------------------------------------------

    def inline(self, node: nodes.Node) -> str:
        """Return words in Markdown."""
        if isinstance(node, nodes.Text):
            return MARKUP.sub(ESCAPED, self.say(node))
        assert isinstance(node, nodes.Element)
        if isinstance(node, NOTHING) or language_of(node) not in (None, self.language):
            return ""
        if "claim-mark" in node.get("classes", ()):  # to the page of claims
            return ""
        words = "".join(map(self.inline, node.children))
        if isinstance(node, nodes.math):
            return f"${node.astext().strip()}${node.get('closing', '')}"
        if isinstance(node, nodes.literal):
            return in_code(node.astext())
        if "glued" in node and not self.shows_numbers:
            return in_code(str(node["glued"]))
        if isinstance(node, nodes.reference):
            address = node.get("refuri") or f"#{node['refid']}"
            return f"[{words}]({self.url(address)})"
        if isinstance(node, nodes.strong | nodes.emphasis):
            name, sign = ("b", "**") if isinstance(node, nodes.strong) else ("i", "*")
            return f"{sign}{words}{sign}" if stands(node, words) else f"<{name}>{words}</{name}>"
        if isinstance(node, nodes.subscript | nodes.superscript):
            return f"<{node.tagname[:3]}>{words}</{node.tagname[:3]}>"
        if isinstance(node, nodes.footnote_reference):
            return f"<sup>[{words}]</sup>"
        if "section-weight" in node.get("classes", ()):
            return f"（{words}）" if self.language == "zh" else f"({words})"
        if isinstance(node, nodes.TextElement):
            return words
        return self.text(node)

    # ---- the notebook ---------------------------------------------------------------------------

    def notebook(self, doctree: nodes.document) -> nbformat.NotebookNode:
        """Return the page as a notebook without outputs; its cells' ids never change by chance."""
        own: list[str | Code] = []
        for block in chain(self.blocks(doctree), self.code_up_to(inf)):
            before = own[-1] if own else None
            if block and isinstance(block, str) and isinstance(before, str):
                own[-1] = f"{before}\n\n{block}"
            elif block:
                own.append(block)
        code, markdown = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
        install = install_cell(self.at)
        has_evidence = any("evidence" in cell.tags for cell in CELLS.of(self.env)[self.page])
        note = self.say(EXPORTED) + (self.say(FOLDED_CELLS) if has_evidence else "")
        hint = self.say(ANSWER_HERE) if self.questions else ""
        about = f"{self.links()}\n\n*{note}*\n\n{self.say(TOOLS)}{hint}"
        cells = [code(install, id="install"), markdown(about, id="about")]
        if self.questions:
            metadata = dict(FOLD)
            source = bringing(self.questions, self.say(TITLE))
            cells.append(code(source, id="questions", metadata=metadata))
        for number, block in enumerate(own):
            if isinstance(block, Code):
                metadata = dict(FOLD) if block.folded else {}
                cells.append(code(block.text, id=f"cell-{number:03d}", metadata=metadata))
            else:
                block = re.sub(r"^---(\n+---)+$", "---", block, flags=re.M)
                cells.append(markdown(block, id=f"cell-{number:03d}"))
        cells.append(markdown(f"---\n\n{self.links()}", id="links"))
        made: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
        return made

    def links(self) -> str:
        """Return the links to the site, to the other language, and to the neighbors."""
        other = next(each for each in LANGUAGES if each != self.language)
        translation = self.at.notebook_source(f"{other}/{self.page}.ipynb")
        links = [f"[{self.say(SITE)}]({self.url('')})", f"[{self.say(OTHER)}]({translation})"]
        pages = [page for page in reading_order(self.env) if has_notebooks(self.env, page)]
        place = pages.index(self.page)
        for word, near in ((BEFORE, pages[:place][-1:]), (AFTER, pages[place + 1 :][:1])):
            for page in near:
                address = self.url(self.app.builder.get_relative_uri(self.page, page))
                links.append(f"{self.say(word)}[{self.inline(self.env.titles[page])}]({address})")
        return " · ".join(links)


def install_cell(at: Addresses) -> str:
    """Return the cell that installs the package: of a release the release, else the branch."""
    if not at.release:
        return INSTALL.format(requirement=at.requirement_of_notebooks)
    from_tag = ELSE_FROM_TAG.format(requirement=at.requirement_of_tag)
    return INSTALL.format(requirement=at.requirement_of_release) + from_tag


def stands(node: nodes.Element, words: str) -> bool:
    """Tell whether Markdown sees stars around words: not between a letter and punctuation."""
    around, place = node.parent.children, node.parent.index(node)
    before = "".join(each.astext() for each in around[:place])[-1:]
    after = "".join(each.astext() for each in around[place + 1 :])[:1]
    pairs = ((words[:1], before), (words[-1:], after))
    return all(inner.isalnum() or not outer.isalnum() for inner, outer in pairs)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def folded(title: str, text: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def in_code(text: str) -> str:
    """Return code within a text, in more backticks than stand in it."""
    text, ticks = text.replace("\n", " "), "`"
    while ticks in text:
        ticks += "`"
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def note_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the cells of a page."""
    page = app.env.docname
    path = app.env.doc2path(page)
    CELLS.of(app.env)[page] = code_cells(Path(path).read_text(encoding="utf8"), str(path))


def has_notebooks(env: BuildEnvironment, page: str) -> bool:
    return bool(CELLS.of(env).get(page))


def write(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the notebooks of a page."""
    if doctree is None or not has_notebooks(app.env, page):
        return
    for language in LANGUAGES:
        path = Path(app.outdir, FOLDER, language, f"{page}.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = nbformat.writes(Page(app, page, language).notebook(doctree)).rstrip("\n") + "\n"
        path.write_text(text, encoding="utf8", newline="\n")


def remove_gone(app: Sphinx, exception: Exception | None) -> None:
    """Take the notebooks of pages that are gone out of the site, and MyST-NB's raw copies."""
    if exception is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir, FOLDER).rglob("*.ipynb"):
        page = path.relative_to(Path(app.outdir, FOLDER)).with_suffix("").as_posix()
        if not has_notebooks(app.env, page.partition("/")[2]):
            path.unlink()
    for page in app.env.found_docs:
        Path(app.outdir, "_sources", f"{page}.ipynb").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    CELLS.connect(app)
    app.connect("doctree-read", note_cells)
    app.connect("html-page-context", write)
    app.connect("build-finished", remove_gone)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
