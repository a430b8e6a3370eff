"""``{own-file}``: a step of the reader's own file: its task, how to check it, the folded solution.

Without a number, ``:plan:`` lists all steps, ``:whole:`` shows the finished file, and ``:write:``
is where the page's script puts an editor of the whole file, as it does into each step. Tasks and
code are the package's, ``src/attention_book/course/own_file/``, read without importing it:
what the box says is what the checker asks for.
"""

from __future__ import annotations

import difflib
import importlib.util
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from bilingual.environment import PerPage, reading_order
from bilingual.marks import Bilingual
from bilingual.nodes import LanguageInline
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from evidence.some_chapters import left_out
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

PACKAGE = Path(__file__).resolve().parents[3] / "src/attention_book/course/own_file"
SOURCES = tuple(PACKAGE / name for name in ("source.py", "steps.toml", "my_attention.txt"))
PAGE = "own-file"

HEAD = Bilingual("你自己的文件，第 {} 步", "Your own file, step {}")
CHECK = Bilingual(
    "写进你的 `my_attention.py`，再检查；在终端里是 `{}`。还没有这份文件，或者跳过了几步？见"
    "{{doc}}`own-file`。",
    "Write it into your `my_attention.py` and check it; the command for that is `{}`. No file yet,"
    " or steps left out? See {{doc}}`own-file`.",
)
COMMAND = "attention-book course check --step {}"
SOLUTION = Bilingual("这一步之后多出的代码", "What this step adds")
CHANGED = Bilingual("这一步改了什么", "What this step changes")

#: The steps of each page, with the lines on which they stand.
STEPS = PerPage[dict[int, int]]("lesson_own_file")


def load_source() -> Any:
    """Return the module that cuts the file: it imports nothing but the standard library."""
    spec = importlib.util.spec_from_file_location("own_file_source", SOURCES[0])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = load_source()


def read_steps() -> list[dict[str, Any]]:
    """Return what the steps ask for, the first one first."""
    found: list[dict[str, Any]] = tomllib.loads(SOURCES[1].read_text(encoding="utf8"))["step"]
    return found


class SolutionFold(nodes.General, nodes.Element):
    """The fold with the code: the browser's own, which opens without a script."""


class OwnFile(SphinxDirective):
    """``{own-file} 7``; without a number ``:whole:``, ``:plan:`` or ``:write:``."""

    optional_arguments = 1
    has_content = False
    option_spec: ClassVar = {
        "whole": directives.flag,
        "plan": directives.flag,
        "write": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        for file in SOURCES:
            self.env.note_dependency(str(file))
        steps = read_steps()
        if "whole" in self.options and not self.arguments:
            box = nodes.container(classes=["own-file", "own-file-whole"])
            box += self.listings(lambda language: SOURCE.file_at(SOURCE.LAST, language))
            return [box]
        if "plan" in self.options and not self.arguments:
            return self.plan(steps)
        if "write" in self.options and not self.arguments:
            return [nodes.container(classes=["own-file"], ids=["own-file-write"])]
        number = self.arguments[0] if self.arguments else ""
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= len(steps):
            return self.complain(f"expected a step from 1 to {len(steps)}, got {number!r}")
        return self.step(int(number), steps[int(number) - 1])

    def complain(self, problem: str) -> list[nodes.Node]:
        logger.warning("own-file: %s", problem, location=self.get_location(), type="lesson")
        return []

    def step(self, number: int, row: dict[str, Any]) -> list[nodes.Node]:
        if row["chapter"] != self.env.docname:
            return self.complain(f"step {number} belongs to {row['chapter']}")
        STEPS.of(self.env).setdefault(self.env.docname, {})[number] = self.lineno
        box = nodes.container(
            classes=["admonition", "own-file"],
            ids=[f"own-file-{number}"],
        )
        self.set_source_info(box)
        head = [
            Bilingual(HEAD.zh.format(number), HEAD.en.format(number)),
            Bilingual(**row["title"]),
        ]
        words = [*self.words(head[0]), nodes.Text(" · "), *self.words(head[1])]
        box += nodes.paragraph("", "", *words, classes=["admonition-title"])
        command = COMMAND.format(number)
        box += self.blocks(Bilingual(**row["task"]))
        box += self.blocks(Bilingual(CHECK.zh.format(command), CHECK.en.format(command)))
        only_adds = all(not mark.startswith("- ") for mark in compared(number))
        label = SOLUTION if only_adds else CHANGED
        fold = SolutionFold(label=label, search_anchor=box["ids"][0], search_inside=True)
        self.set_source_info(fold)
        fold += self.listings(lambda language: shown(number, language, only_adds))
        box += fold
        return [box]

    def plan(self, steps: list[dict[str, Any]]) -> list[nodes.Node]:
        """Return the table of all steps: where each stands, and what it adds."""
        head = "| {zh}`步` {en}`step` | {zh}`章` {en}`chapter` | {zh}`写什么` {en}`what it adds` |"
        lines = [head, "|---|---|---|"]
        out = left_out(self.env).pages
        for number, row in enumerate(steps, start=1):
            names = ", ".join(f"`{name}`" for name in row["names"] if "." not in name)
            title = f"{{zh}}`{row['title']['zh']}` {{en}}`{row['title']['en']}`"
            elsewhere = row["chapter"] in out
            link = str(number) if elsewhere else f"{{ref}}`{number} <own-file-{number}>`"
            lines.append(f"| {link} | {{doc}}`/{row['chapter']}` | {title} {names} |")
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, holder)
        return list(holder.children)

    def listings(self, text: Any) -> list[nodes.Node]:
        """Return code once in each language: only its comments differ."""
        kind = "diff" if text("en").startswith((" ", "+", "-")) else "python"
        zh, en = (f"```{kind}\n{text(language)}\n```" for language in ("zh", "en"))
        return self.blocks(Bilingual(zh, en))

    def blocks(self, text: Bilingual) -> list[nodes.Node]:
        holder = nodes.Element()
        for language in ("zh", "en"):
            written = getattr(text, language).strip().splitlines()
            lines = StringList([f":::{{{language}}}", *written, ":::"], source="")
            self.state.nested_parse(lines, self.content_offset, holder)
        return list(holder.children)

    def words(self, text: Bilingual) -> Iterator[nodes.Node]:
        for language in ("zh", "en"):
            words = LanguageInline("", "", language=language)
            self.set_source_info(words)
            words += self.state.inline_text(getattr(text, language), self.lineno)[0]
            yield words


def compared(number: int, language: str = "en") -> list[str]:
    """Return the lines of a step and of the one before, with what comes and what goes marked."""
    old, new = (SOURCE.file_at(each, language).splitlines() for each in (number - 1, number))
    return [line for line in difflib.ndiff(old, new) if not line.startswith("? ")]


def shown(number: int, language: str, only_adds: bool) -> str:
    """Return the new lines, or where lines go as well, the comparison."""
    if not only_adds:
        return str(SOURCE.changes(number, language))
    lines = [line[2:] for line in compared(number, language) if line.startswith("+ ")]
    return "\n".join(lines).strip("\n")


def visit_fold(translator: HTML5Translator, node: SolutionFold) -> None:
    label = node["label"]
    translator.body.append(f'<details class="own-file-code"><summary>{label}</summary>\n')


def depart_fold(translator: HTML5Translator, node: SolutionFold) -> None:
    translator.body.append("</details>\n")


def name_folds(app: Sphinx, doctree: nodes.document) -> None:
    """Tell the search what each fold is, and have {ref} find each box."""
    known = app.env.get_domain("std").data
    for fold in doctree.findall(SolutionFold):
        title = next(iter(fold.parent.findall(nodes.paragraph))).astext()
        fold["search_title"] = f"{title} · {fold['label']}"
        anchor = fold["search_anchor"]
        known["labels"][anchor] = (app.env.docname, anchor, title)
        known["anonlabels"][anchor] = (app.env.docname, anchor)


def judge_steps(app: Sphinx, exception: Exception | None) -> None:
    """Complain of steps that stand nowhere, where the book has the page of the whole file."""
    if exception is not None or PAGE not in app.env.found_docs:
        return
    there = [
        number for page in reading_order(app.env) for number in STEPS.of(app.env).get(page, {})
    ]
    out = left_out(app.env).pages
    for number, row in enumerate(read_steps(), start=1):
        if number not in there and row["chapter"] not in out:
            logger.warning("own-file: step %s stands nowhere", number, location=row["chapter"],
                           type="lesson")  # fmt: skip


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.setup_extension("evidence.some_chapters")
    app.add_node(SolutionFold, html=(visit_fold, depart_fold))
    app.add_directive("own-file", OwnFile)
    STEPS.connect(app)
    app.connect("doctree-read", name_folds, priority=940)  # before the search collects
    app.connect("build-finished", judge_steps, priority=600)  # before strict_build judges
    return {"parallel_read_safe": True, "parallel_write_safe": True}
