"""Turn one page of the book into the cells of a one-language notebook."""

import ast
import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from book_index import PROOFS, BookIndex
from myst_blocks import Block, ExportError, cut
from myst_inline import LANGUAGES, Inline
from questions.grammar import read as read_question
from questions.markdown import markdown as question_markdown
from reference.short_source import without_docstrings

ADMONITIONS = {
    "note": ("注", "Note"),
    "tip": ("提示", "Tip"),
    "hint": ("提示", "Hint"),
    "important": ("重要", "Important"),
    "warning": ("警告", "Warning"),
    "caution": ("小心", "Caution"),
    "attention": ("注意", "Attention"),
    "danger": ("危险", "Danger"),
    "seealso": ("另见", "See also"),
}
EXERCISE, SOLUTION = ("练习", "Exercise"), ("解答：", "Solution: ")
SOURCES = ("考据：", "Notes on sources: ")
LIVE = ("在网页上动手", "Try it on the page")
#: Cells that the book hides stay folded in a notebook (JupyterLab; Colab's form view).
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}
HIDING_TAGS = {"setup", "evidence", "hide-input", "hide-cell", "remove-input", "remove-cell"}
#: Colab shows a folded cell by the title in its first line: a comment, which changes no result.
EVIDENCE_TITLE = ("# @title 证据\n", "# @title Evidence\n")
SETUP_TITLE = ("# @title 准备\n", "# @title Set-up\n")
REPEATED_RULE = re.compile(r"^---(\n+---)+$", re.M)
SETUP_CALL = re.compile(r"\bnotebook\.setup\(\)")


@dataclass
class Cell:
    """A Markdown or a code cell of the notebook to be."""

    kind: str
    text: str
    metadata: dict[str, object] = field(default_factory=dict)


class PageExporter:
    """Exports one page in one language."""

    def __init__(self, index: BookIndex, page: str, language: str) -> None:
        self.index, self.page, self.language = index, page, language
        self.inline = Inline(index, page, language)
        self.in_solution = False

    def word(self, pair: tuple[str, str]) -> str:
        return pair[self.language == "en"]

    def cells(self) -> list[Cell]:
        """Return the page's cells; neighboring pieces of prose share one."""
        cells: list[Cell] = []
        for cell in self.pieces(self.index.source(self.page)):
            if cell.kind == "markdown" and cells and cells[-1].kind == "markdown":
                cells[-1].text += "\n\n" + cell.text
            elif cell.text.strip():
                cells.append(cell)
        for cell in cells:
            if cell.kind == "markdown":
                cell.text = REPEATED_RULE.sub("---", cell.text)
        setups = sum(cell.text.count("notebook.setup(") for cell in cells if cell.kind == "code")
        if setups != 1:
            raise ExportError(self.page, 1, f"notebook.setup() must stand once, found {setups}")
        return cells

    def pieces(self, text: str) -> Iterator[Cell]:
        for block in cut(text, self.page, self.index.extensions):
            if block.kind == "directive" and block.name == "code-cell":
                yield self.code(block)
                if caption := self.cell_caption(block):
                    yield Cell("markdown", caption)
            elif block.kind == "directive" and block.name == "solution-start":
                self.in_solution = True
                yield Cell("markdown", f"**{self.solution_title(block)}**")
            elif block.kind == "directive" and block.name == "solution-end":
                self.in_solution = False
                yield Cell("markdown", "---")
            else:
                markdown = self.block(block)
                if markdown.strip():
                    yield Cell("markdown", markdown)

    def code(self, block: Block) -> Cell:
        source = SETUP_CALL.sub(f'notebook.setup(language="{self.language}")', block.text)
        tags = block.options.get("tags", [])
        tags = re.findall(r"[\w-]+", tags) if isinstance(tags, str) else list(tags)
        folded = self.in_solution or HIDING_TAGS & set(tags)
        title = self.word(EVIDENCE_TITLE) if "evidence" in tags else ""
        title = self.word(SETUP_TITLE) if "setup" in tags else title
        return Cell("code", title + source.strip("\n"), dict(FOLDED) if folded else {})

    def cell_caption(self, block: Block) -> str:
        figure = (block.options.get("mystnb") or {}).get("figure", {})
        if not figure:
            return ""
        text = self.inline.translate(figure.get("caption", "").strip(), block.line)
        label = self.index.labels.get(figure.get("name", ""))
        number = f"**{label.words(self.language)}** " if label else ""
        return f"{number}{text}"

    def markdown(self, text: str, line: int) -> str:
        """Return the content of a directive in Markdown."""
        blocks = cut(text, self.page, self.index.extensions, line)
        return "\n\n".join(filter(None, (self.block(block).strip("\n") for block in blocks)))

    def block(self, block: Block) -> str:
        if block.kind == "text":
            return self.inline.translate(block.text, block.line)
        if block.kind == "verbatim":
            return block.text
        if block.kind == "target":
            return ""
        if block.kind == "equation":
            return self.equation(block.text, str(block.options["label"]))
        return self.directive(block)

    def equation(self, tex: str, label: str) -> str:
        number = self.index.labels[label].number if label else ""
        tag = f" \\tag{{{number}}}" if number else ""
        return f"$$\n{tex}{tag}\n$$"

    def directive(self, block: Block) -> str:
        name = block.name
        if name in LANGUAGES:
            return self.markdown(block.text, block.line) if name == self.language else ""
        if name in ADMONITIONS or name == "admonition":
            return self.admonition(block)
        if name in ("exercise", "exercise-start") or name.startswith("prf:"):
            return self.numbered(block)
        rules = {
            "exercise-end": lambda b: "---",
            "solution": self.solution,
            "claim": lambda b: self.markdown(b.text, b.line),
            "opening": lambda b: self.markdown(b.text, b.line),
            "sources": self.sources,
            "question": self.question,
            "stages": self.diagram,
            "math": lambda b: self.equation(b.text.strip("\n"), b.options.get("label", "")),
            "diagram": self.diagram,
            "live": self.live,
            "translator": self.live,
            "literalinclude": self.source,
            "code-block": lambda b: f"```{b.argument}\n{b.text}\n```",
        }
        if name not in rules:
            raise ExportError(self.page, block.line, f"no rule for the directive {{{name}}}")
        return rules[name](block)

    def admonition(self, block: Block) -> str:
        argument = self.inline.translate(block.argument, block.line)
        if block.name == "admonition":
            title, body = argument, self.markdown(block.text, block.line)
        else:
            title = self.word(ADMONITIONS[block.name])
            body = "\n\n".join(filter(None, (argument, self.markdown(block.text, block.line))))
        if "$$" in body:  # notebooks do not find display math inside a quotation
            return f"**{title}**\n\n{body}"
        return "\n".join(f"> {line}".rstrip() for line in [f"**{title}**", "", *body.split("\n")])

    def numbered(self, block: Block) -> str:
        """An exercise or a theorem: its number, its title, its content."""
        proof = block.name.removeprefix("prf:")
        label = self.index.labels.get(str(block.options.get("label", "")))
        words = PROOFS[proof] if block.name.startswith("prf:") else EXERCISE
        heading = label.words(self.language) if label else self.word(words)
        title = self.inline.translate(block.argument, block.line)
        body = self.markdown(block.text, block.line)
        return f"---\n\n**{heading}{f'　{title}' if title else ''}**\n\n{body}"

    def solution_title(self, block: Block) -> str:
        label = self.index.labels.get(block.argument)
        if label is None:
            raise ExportError(self.page, block.line, f"unknown exercise {block.argument!r}")
        return f"{self.word(SOLUTION)}{label.words(self.language)}"

    def solution(self, block: Block) -> str:
        """A folded solution without cells."""
        title, body = self.solution_title(block), self.markdown(block.text, block.line)
        return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>\n\n---"

    def sources(self, block: Block) -> str:
        """Notes on sources: a section of its own."""
        title = self.inline.translate(block.argument, block.line)
        body = self.markdown(block.text, block.line)
        return f"### {self.word(SOURCES)}{title}\n\n{body}"

    def question(self, block: Block) -> str:
        """A question with its answer in a fold."""
        lines = block.text.split("\n")
        question = read_question(block.argument, block.options, lines)
        return question_markdown(
            question,
            self.language,
            lambda text, line: self.markdown(text, block.line + line),
            lambda text, line: self.inline.translate(text, block.line + line),
        )

    def diagram(self, block: Block) -> str:
        """A drawing in one language, in the cell itself; with stages, the whole and their list.

        As a data address: JupyterLab shows no SVG attachments.
        """
        from website.figures import svg_markup

        path = self.index.book / "figures" / f"{block.argument}.svg"
        root = svg_markup.read(path)
        svg_markup.keep_language(root, self.language)
        svg_markup.keep_whole(root)
        svg_markup.fit_width(root, "diagram-svg")
        svg = svg_markup.stand_alone(root, self.stylesheet())
        data = base64.b64encode(svg.encode("utf8")).decode()
        alt = escape(str(block.options[f"alt-{self.language}"]), quote=True)
        label = self.index.labels.get(str(block.options.get("name", "")))
        number = f"**{label.words(self.language)}** " if label else ""
        caption = self.markdown(block.text, block.line)
        image = f'<img alt="{alt}" width="430" src="data:image/svg+xml;base64,{data}">'
        return f"{image}\n\n{number}{caption}"

    def live(self, block: Block) -> str:
        """A figure that answers the reader: where it stands, and what to try there."""
        label = self.index.labels[str(block.options["name"])]
        address = self.index.url(self.page, self.language, label.anchor)
        caption = self.markdown(block.text, block.line)
        return f"**{label.words(self.language)}** [{self.word(LIVE)}]({address}): {caption}"

    def stylesheet(self) -> str:
        folder = self.index.book / "_ext" / "website" / "figures" / "static"
        return (folder / "diagrams.css").read_text(encoding="utf8")

    def source(self, block: Block) -> str:
        """The real source of one object, without its docstrings, in a code block."""
        path = (self.index.book / block.argument).resolve()
        if set(block.options) - {"language", "pyobject", "dedent"}:
            raise ExportError(
                self.page, block.line, "literalinclude: only :pyobject: is known here"
            )
        code = object_source(path, str(block.options.get("pyobject", "")))
        if not code:
            raise ExportError(self.page, block.line, f"{block.options} is not in {path.name}")
        language = block.options.get("language", "python")
        return f"```{language}\n{without_docstrings(code)}\n```"


def object_source(path: Path, name: str) -> str:
    """Return the source of ``name`` ("function", "Class" or "Class.method"); "" if it is absent."""
    text = path.read_text(encoding="utf8")
    if not name:
        return text.rstrip("\n")
    node: ast.AST | None = ast.parse(text)
    for part in name.split("."):
        members = getattr(node, "body", [])
        node = next((n for n in members if getattr(n, "name", None) == part), None)
    if node is None:
        return ""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])  # type: ignore[attr-defined]
    lines = text.split("\n")[first - 1 : node.end_lineno]  # type: ignore[attr-defined]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines)
