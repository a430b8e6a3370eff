"""The directive ``{question}``: what it asks, its options, and one fold with the answer.

All of it is text, which needs no script and stands on paper as well. What a script must know to
have it answered stands at the end of the box (:mod:`questions.data`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from bilingual.environment import reading_order
from bilingual.marks import Bilingual
from bilingual.nodes import LanguageInline
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.parsers.rst.states import Struct
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.writers.html5 import HTML5Translator

from questions import data, grammar
from questions.data import NAMES, QuestionData
from questions.grammar import GIVEN, GLUED, Item, Question, Text

logger = logging.getLogger(__name__)

ANSWER = Bilingual(grammar.ANSWER.zh, grammar.ANSWER.en)


class AnswerFold(nodes.General, nodes.Element):
    """The fold with the answer: the browser's own, which opens without a script."""


class QuestionDirective(SphinxDirective):
    """``::::{question} name`` with ``:role:``, ``:kind:`` and what the kind needs."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = dict.fromkeys(grammar.OPTIONS, directives.unchanged_required)

    def run(self) -> list[nodes.Node]:
        name, lines = self.arguments[0], list(self.content)
        question = grammar.read(name, dict(self.options), lines)
        problems = list(grammar.complaints(question))
        if problems:
            return self.complain(name, problems)
        values, variants = self.numbers(question)
        if name in (names := NAMES.of(self.env).setdefault(self.env.docname, {})):
            self.complain(name, [(0, "the name is used twice")])
        first = not names
        names[name] = self.lineno
        asked = [text for each in lines for text in GIVEN.findall(each)]
        given = list(dict.fromkeys(asked)) if any(variants) else []
        if given:
            filled = [named(each, given, variants[0]) for each in lines]
            question = grammar.read(name, question.options, filled)
        box = self.box(question, values[0] if values else [])
        if first:  # above it the page's script says how many there are
            box["classes"].append("question-first")
        if question.kind in ("number", "paint") and not values:
            return [box]  # it has been complained of
        box += (packed := QuestionData(data=data.of_question(question, values)))
        for variant in variants[1:] if given else ():
            words = [self.words(Text(same=as_given(variant, each))) for each in given]
            packed += nodes.inline("", "", *(nodes.inline("", "", *each) for each in words))
        return [box]

    def complain(self, name: str, problems: list[tuple[int, str]]) -> list[nodes.Node]:
        first = self.lineno + self.content_offset + 1
        for line, problem in problems:
            place = (self.env.docname, first + line if line else self.lineno)
            logger.warning("question %s: %s", name, problem, location=place, type="question")
        return []

    # ---- the numbers ----------------------------------------------------------------------------

    def numbers(self, question: Question) -> tuple[list[list[list[float]]], list[dict[str, Any]]]:
        """Return the numbers of each answer in each variant, and what each variant is given.

        Complain of answers that no cell gives, and of mistakes that are none.
        """
        if question.kind not in ("number", "paint"):
            return [], []
        judged = [item for item in question.items if not item.is_other]
        variants: list[dict[str, Any]] = [{}]
        if "variants" in question.options:
            variants = self.glued(question, question.options["variants"], 0) or [{}]
        right = next(n for n, item in enumerate(judged) if item.right)
        tolerance = float(question.options.get("tolerance", 0))
        found: list[list[list[float]]] = []
        for variant in variants:
            values = [self.answer(question, item, variant) for item in judged]
            if not all(values) or len({len(each) for each in values}) != 1:
                if all(values):
                    self.complain(question.name, [(0, "the answers have different lengths")])
                return [], []
            found.append(values)
            paint = question.options.get("paint", "")
            for n, problem in grammar.answers_wrong(values, right, tolerance, paint):
                self.complain(question.name, [(judged[n].line, problem)])
        if question.kind == "number":
            answers = [values[right][0] for values in found]
            if twice := grammar.asked_twice(answers, tolerance):
                self.complain(question.name, [(judged[right].line, twice)])
        return found, variants

    def answer(self, question: Question, item: Item, variant: dict[str, Any]) -> list[float]:
        """Return the numbers of one answer; none if no cell gives them."""
        if given := GIVEN.fullmatch(item.text.same):
            value = variant.get(given["name"])
            if value is None:
                self.complain(question.name, [(item.line, f"no variant has {given['name']!r}")])
        elif glued := GLUED.fullmatch(item.text.same):
            value = self.glued(question, glued["name"], item.line)
            if value is not None and not flat(value):
                self.complain(question.name, [(item.line, f"{glued['name']!r} is no number")])
        return flat(value)

    def glued(self, question: Question, name: str, line: int) -> Any:
        """Return what a cell of the page has glued; complain if none has."""
        from myst_nb.core.variables import RetrievalError
        from myst_nb.ext.glue.utils import retrieve_glue_data

        try:
            return ast.literal_eval(
                retrieve_glue_data(self.state.document, name).data["text/plain"]
            )
        except RetrievalError:
            self.complain(question.name, [(line, f"no cell of the page glues {name!r}")])
        return None

    # ---- the page -------------------------------------------------------------------------------

    def box(self, question: Question, values: list[list[float]]) -> nodes.container:
        box = nodes.container(
            classes=["admonition", "question", f"question-{question.role}", f"ask-{question.kind}"],
            ids=[f"question-{question.name}"],
        )
        box["formulas"] = True  # another page's question may come before this one
        self.set_source_info(box)
        head = self.words(grammar.HEADS[question.role])
        box += nodes.paragraph("", "", *head, classes=["admonition-title"])
        box += self.blocks(question.asked)
        box += self.task(question)
        fold = AnswerFold(label=ANSWER, search_anchor=box["ids"][0], search_inside=True)
        self.set_source_info(fold)
        fold += self.replies(question, values)
        fold += self.blocks(question.closing)
        if about := question.options.get("about"):
            words = self.words(grammar.GO_BACK)
            words += self.inline(f"{{doc}}`/{about}`")
            fold += nodes.paragraph("", "", *words, classes=["question-back"])
        box += fold
        return box

    def task(self, question: Question) -> Iterator[nodes.Node]:
        """Yield what the reader chooses from, or writes on."""
        if question.listing:
            yield nodes.literal_block(question.listing, question.listing, language="python")
        if question.kind == "choice":
            yield self.lettered(self.words(item.text) for item in question.items)
        elif question.kind == "order":
            yield self.lettered(self.words(item.text) for item in question.shuffled())
        elif question.kind == "number":
            words = self.words(question.unit)
            yield nodes.paragraph("", "", nodes.Text("______ "), *words, classes=["question-blank"])
        elif question.kind == "paint":
            yield self.table(question, [])

    def replies(self, question: Question, values: list[list[float]]) -> Iterator[nodes.Node]:
        """Yield what to say to each answer."""
        if question.kind == "choice":
            yield self.lettered(self.reply(item, [], judged=True) for item in question.items)
            return
        if question.options.get("paint") == "mask":
            right = next(n for n, item in enumerate(question.items) if item.right)
            yield self.table(question, values[right : right + 1])
        made: nodes.Element = nodes.bullet_list()
        if question.kind == "order":
            made = nodes.enumerated_list(enumtype="arabic", prefix="", suffix=".")
        judged = question.kind in grammar.JUDGED
        for n, item in enumerate(question.items):
            shown = self.shown(question, item, values[n] if n < len(values) else [])
            words = shown if question.kind == "say" else self.reply(item, shown, judged)
            made += nodes.list_item("", nodes.paragraph("", "", *words))
        yield made
        if repair := question.options.get("repair"):
            mended = nodes.literal("", repair)
            words = [*self.words(grammar.MENDED), nodes.Text(" "), mended]
            yield nodes.paragraph("", "", *words, classes=["question-mended"])

    def shown(self, question: Question, item: Item, values: list[float]) -> list[nodes.Node]:
        """Return an answer as its reply repeats it."""
        if item.is_other:
            return self.words(grammar.OTHER)
        if question.kind == "line":
            return [nodes.literal("", item.text.same.strip())]
        if question.kind == "paint":
            is_mask = question.options["paint"] == "mask"
            return [] if is_mask else [nodes.Text(", ".join(f"{value:.3g}" for value in values))]
        unit = [nodes.Text(" "), *self.words(question.unit)] if question.kind == "number" else []
        return [*self.words(item.text), *unit]

    def reply(self, item: Item, shown: list[nodes.Node], judged: bool) -> list[nodes.Node]:
        """Return whether an answer is right, the answer, and what to say to it."""
        words: list[nodes.Node] = [nodes.Text(grammar.SIGNS[item.right] + " ")] if judged else []
        if shown:
            words += [nodes.strong("", "", *shown), nodes.Text(" ")]
        if item.reply:
            words.append(nodes.inline("", "", *self.words(item.reply), classes=["question-reply"]))
        return words

    def table(self, question: Question, values: list[list[float]]) -> nodes.table:
        """Return an empty table to draw in, or the cells that may be seen."""
        columns, rows = question.names("columns"), question.names("rows")
        head = [[], *map(self.words, columns)] if rows else list(map(self.words, columns))
        body: list[list[list[nodes.Node]]] = []
        for at, row in enumerate(rows or [Text()]):
            seen = values[0][at * len(columns) : (at + 1) * len(columns)] if values else columns
            cells: list[list[nodes.Node]] = [
                [nodes.Text("●" if values and each else "")] for each in seen
            ]
            body.append([self.words(row), *cells] if rows else cells)
        return table(head, body)

    def lettered(self, items: Iterable[list[nodes.Node]]) -> nodes.enumerated_list:
        made = nodes.enumerated_list(enumtype="upperalpha", prefix="", suffix=".")
        for words in items:
            made += nodes.list_item("", nodes.paragraph("", "", *words))
        return made

    def blocks(self, blocks: dict[str, tuple[int, list[str]]]) -> list[nodes.Node]:
        """Return the blocks of both languages."""
        holder = nodes.Element()
        for language, (line, words) in blocks.items():
            lines = StringList([f":::{{{language}}}", *words, ":::"], source="")
            self.state.nested_parse(lines, self.content_offset + line - 1, holder)
        return list(holder.children)

    def words(self, text: Text) -> list[nodes.Node]:
        """Return a text in both languages; its roles, code and formulas are MyST."""
        if text.same:
            return self.inline(text.same)
        made: list[nodes.Node] = []
        for language in grammar.LANGUAGES if text.zh or text.en else ():
            words = LanguageInline("", "", language=language)
            self.set_source_info(words)
            words += self.inline(text.of(language))
            made.append(words)
        return made

    def inline(self, text: str) -> list[nodes.Node]:
        found, messages = self.state.inline_text(text, self.lineno)
        return [*found, *messages]


def flat(value: Any) -> list[float]:
    """Return a number, or the rows of a drawing one after the other, as a list."""
    if isinstance(value, list | tuple):
        return [number for each in value for number in flat(each)]
    try:
        return [float(value)]  # of a text, too: f"{share:.2f}" is glued as it is to be read
    except (TypeError, ValueError):
        return []


def as_given(variant: dict[str, Any], given: tuple[str, str]) -> str:
    """Return a number of a variant as the question writes it."""
    name, form = given
    value = variant.get(name, name)
    return value if isinstance(value, str) else format(value, form or "g")


def named(line: str, given: list[tuple[str, str]], variant: dict[str, Any]) -> str:
    """Return a line with the numbers of a variant, each in the role that says which it is."""

    def number(found: re.Match[str]) -> str:
        which = found["name"], found["format"] or ""
        return f"{{given}}`{given.index(which)} {as_given(variant, which)}`"

    return GIVEN.sub(number, line)


class RevealedDirective(SphinxDirective):
    """``:::{revealed}``: here ends what a prediction folds, if no heading or question comes."""

    def run(self) -> list[nodes.Node]:
        return [nodes.container(classes=["revealed"])]


class GivenRole(SphinxRole):
    """A number that another variant of the question replaces: its place among them, the number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        place, _, text = self.text.partition(" ")
        node = nodes.inline("", "", classes=["given", f"given-{place}"])
        here = self.inliner
        memo = Struct(document=here.document, reporter=here.reporter, language=here.language)
        outer = here.parent
        inside, messages = here.parse(text, self.lineno, memo, node)
        here.parent = outer
        node += inside
        return [node], messages


def table(head: list[list[nodes.Node]], body: list[list[list[nodes.Node]]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    for kind, rows in ((nodes.thead, [head]), (nodes.tbody, body)):
        part: nodes.Element = kind()
        for row in rows:
            made = nodes.row()
            for words in row:
                made += nodes.entry("", nodes.paragraph("", "", *words))
            part += made
        group += part
    return nodes.table("", group, classes=["colwidths-auto"])


def visit_fold(translator: HTML5Translator, node: AnswerFold) -> None:
    translator.body.append(f'<details class="question-answer"><summary>{ANSWER}</summary>\n')


def depart_fold(translator: HTML5Translator, node: AnswerFold) -> None:
    translator.body.append("</details>\n")


def name_folds(app: Sphinx, doctree: nodes.document) -> None:
    """Tell the search what each fold is, and in which section it stands."""
    for fold in doctree.findall(AnswerFold):
        node: nodes.Element | None = fold
        while node is not None and not isinstance(node, nodes.section):
            node = node.parent
        title = node[0].astext() if node is not None else ""
        fold["search_title"] = f"{title} · {fold['label']}"


def judge_names(app: Sphinx, exception: Exception | None) -> None:
    """Complain of a name that stands on two pages."""
    seen: dict[str, str] = {}
    for page in reading_order(app.env) if exception is None else ():
        for name, line in NAMES.of(app.env).get(page, {}).items():
            if name in seen:
                place = f"{app.env.doc2path(page)}:{line}"
                logger.warning(
                    "question %s: the name is used on %s already", name, seen[name],
                    location=place, type="question",
                )  # fmt: skip
            seen.setdefault(name, page)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.add_node(AnswerFold, html=(visit_fold, depart_fold))
    app.add_node(QuestionData, html=(data.visit, data.depart))
    app.add_role("given", GivenRole())
    app.add_directive("revealed", RevealedDirective)
    app.add_directive("question", QuestionDirective)
    NAMES.connect(app)
    app.connect("doctree-read", name_folds, priority=940)  # before the search collects
    app.connect("build-finished", judge_names, priority=600)  # before strict_build judges
    return {"parallel_read_safe": True, "parallel_write_safe": True}
