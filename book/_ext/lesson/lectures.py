"""``{lectures} 14``: a course in lectures, with all that its chapters offer for each.

::

    ```{lectures} 14
    :minutes: 60-100
    :beforehand: what-you-need
    :rest:
    - chapters: attention-cues nadaraya-watson
      zh: 注意力是加权平均
      en: attention is a weighted average
    ```

The build adds up the minutes of the cores, and lists of each lecture its chapters, their slides,
live figures, questions to ask before the text answers them, exercises marked ● and the optional
sections, which may be skipped. It complains of a lecture that is too short or too long, and of a
chapter that comes before what it needs. ``:beforehand:`` names what students read by themselves;
``:rest:`` lists the chapters that are in no lecture. Where the book is built without some chapters
(``evidence.some_chapters``), so is the course.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import yaml
from bilingual.environment import PerBook, PerPage, builder_of, reading_order
from docutils import nodes
from docutils.parsers.rst import directives
from evidence.nearest import nearest
from evidence.some_chapters import left_out
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

from lesson.chapter_lists import EXERCISE
from lesson.checks.counts import COUNTS
from lesson.checks.problems import chapters
from lesson.road import STATIONS, both, in_words, minutes, numbered, told

logger = logging.getLogger(__name__)

#: Marks an exercise that is to be done.
TO_DO = "●"
#: The place of links to a page's slides, which whoever has slides fills in.
SLIDES = "slides-of"
#: What a page with such places has, for whoever has to write it anew.
SHOWS_SLIDES = "shows-slides"

NAMES = {
    "chapter": ("章", "Chapters"),
    "live": ("动手的图", "Live figures"),
    "ask": ("讲之前先问", "Ask first"),
    "do": ("该做的练习", "Exercises to do"),
    "skip": ("可以跳过", "May be skipped"),
}


class Offer(NamedTuple):
    """Something of a chapter that a lecturer can use: what, where, its title, its minutes."""

    kind: str
    anchor: str
    title: str
    minutes: str = ""


class Lecture(NamedTuple):
    """One lecture: its line in the page, its chapters, what students take home."""

    line: int
    chapters: tuple[str, ...]
    takes: dict[str, str]


class Plan(NamedTuple):
    """A course: its line, how many lectures, their minutes, what is read before."""

    line: int
    number: int
    bounds: tuple[int, int]
    beforehand: tuple[str, ...]
    lectures: tuple[Lecture, ...]
    rest: bool


#: Of each chapter, in its order.
OFFERS = PerPage[list[Offer]]("lesson_offers")
#: Of each page with courses.
PLANS = PerPage[list[Plan]]("lesson_plans")
DIGEST = PerBook("lesson_plans_digest", "")


class PlanHere(nodes.General, nodes.Element):
    """The place of a course; ``place`` counts those of its page."""


class LectureFold(nodes.General, nodes.Element):
    """A lecture, folded: first the line that stays visible, then what it holds."""


class LectureTitle(nodes.General, nodes.Inline, nodes.TextElement):
    """The line that stays visible."""


# --- what stands in the source -------------------------------------------------------------------


class Lectures(SphinxDirective):
    """``{lectures} 14``."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "minutes": directives.unchanged_required,
        "beforehand": directives.unchanged,
        "rest": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        try:
            plan = self.read()
        except (ValueError, yaml.YAMLError) as error:
            place = (self.env.docname, self.lineno - 1)
            logger.warning("lectures: %s", error, location=place, type="lesson")
            return []
        plans = PLANS.of(self.env).setdefault(self.env.docname, [])
        plans.append(plan)
        return [PlanHere(place=len(plans) - 1, classes=[SHOWS_SLIDES])]

    def read(self) -> Plan:
        text = "\n".join(self.content)
        entries = yaml.safe_load(text)
        least, _, most = self.options.get("minutes", "").partition("-")
        if not (self.arguments[0].isdecimal() and least.isdecimal() and most.isdecimal()):
            raise ValueError("expected the number of lectures, and `:minutes: 60-100`")
        if not isinstance(entries, list):
            raise ValueError("expected a list, one entry a lecture")
        first = self.lineno + self.content_offset - 1  # MyST counts one too many
        tree = yaml.compose(text)
        lines = [first + each.start_mark.line for each in tree.value] if tree else []
        return Plan(
            line=self.lineno - 1,
            number=int(self.arguments[0]),
            bounds=(int(least), int(most)),
            beforehand=tuple(self.options.get("beforehand", "").split()),
            lectures=tuple(map(lecture, lines, entries)),
            rest="rest" in self.options,
        )


def lecture(line: int, entry: Any) -> Lecture:
    """Return a lecture as its entry says.

    >>> lecture(7, {"chapters": "masks scoring", "zh": "遮住", "en": "to hide"}).chapters
    ('masks', 'scoring')
    """
    if not isinstance(entry, dict) or set(entry) != {"chapters", "zh", "en"}:
        raise ValueError(f"expected `chapters:`, `zh:` and `en:` of each lecture, got {entry!r}")
    takes = {language: str(entry[language]) for language in ("zh", "en")}
    return Lecture(line, tuple(str(entry["chapters"]).split()), takes)


def note_offers(app: Sphinx, doctree: nodes.document) -> None:
    """Remember what a page offers a lecturer."""
    found: list[Offer] = []
    for node in doctree.findall(nodes.Element):
        classes, ids = node["classes"], node["ids"]
        if isinstance(node, nodes.title) and is_optional(node):
            found.append(Offer("skip", node.parent["ids"][0], node.astext(), node["badge"][1]))
        elif "live-figure" in classes and ids:
            found.append(Offer("live", ids[0], section_of(node)))
        elif "question-predict" in classes and not in_optional(node):
            found.append(Offer("ask", ids[0], section_of(node)))
        elif EXERCISE & set(classes):
            title = "".join(each.astext() for each in node.findall(nodes.subtitle))
            if TO_DO in title:
                found.append(Offer("do", ids[0], title.strip("() ")))
    if found:
        OFFERS.of(app.env)[app.env.docname] = found


def sections_of(node: nodes.Element) -> Iterator[nodes.title]:
    """Yield the titles of the sections that something stands in, from within."""
    around: nodes.Element | None = node.parent
    while around is not None:
        if isinstance(around, nodes.section) and isinstance(around[0], nodes.title):
            yield around[0]
        around = around.parent


def section_of(node: nodes.Element) -> str:
    return next((title.astext() for title in sections_of(node)), "")


def in_optional(node: nodes.Element) -> bool:
    return any(map(is_optional, sections_of(node)))


def is_optional(title: nodes.title) -> bool:
    return "badge" in title and title["badge"][0] == "optional"


# --- what is wrong -------------------------------------------------------------------------------


def wrong(env: BuildEnvironment, plan: Plan) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with a course, each with its line."""
    if left_out(env).pages:
        return  # the course is cut with the book
    if len(plan.lectures) != plan.number:
        yield plan.line, f"expected {plan.number} lectures, got {len(plan.lectures)}"
    known, stations, labels = COUNTS.of(env), STATIONS.of(env), env.domaindata["std"]["anonlabels"]
    for page in plan.beforehand:
        if page not in known:
            yield plan.line, f"there is no chapter {page}{nearest(page, known)}"
    heard = set(plan.beforehand)
    for number, each in enumerate(plan.lectures, start=1):
        for page in each.chapters:
            if page not in known:
                yield each.line, f"there is no chapter {page}{nearest(page, known)}"
            elif page in heard:
                yield each.line, f"lecture {number}: {page} comes a second time"
            for label in stations[page].needs if page in stations else ():
                needed = labels[label][0] if label in labels else page
                if needed not in heard and needed != page:
                    yield each.line, f"lecture {number}: {page} needs {needed}, not heard before it"
            heard.add(page)
        total = length(env, each)
        if not plan.bounds[0] <= total <= plan.bounds[1]:
            least, most = plan.bounds
            yield each.line, f"lecture {number} takes {total} minutes, not {least} to {most}"


def length(env: BuildEnvironment, lecture: Lecture) -> int:
    """Return the minutes of a lecture: its chapters' cores."""
    return sum(minutes(env, page) for page in lecture.chapters if page in COUNTS.of(env))


def judge(app: Sphinx, exception: Exception | None) -> None:
    """Complain of what is wrong in the courses."""
    if exception is not None:
        return
    for page, plans in PLANS.of(app.env).items():
        for plan in plans:
            for line, message in wrong(app.env, plan):
                place = f"{app.env.doc2path(page)}:{line}"
                logger.warning("lectures: %s", message, location=place, type="lesson")


# --- what is shown -------------------------------------------------------------------------------


def unheard(env: BuildEnvironment, plan: Plan) -> list[str]:
    """Return the chapters that are in no lecture, in reading order."""
    heard = {*plan.beforehand, *(page for each in plan.lectures for page in each.chapters)}
    stations = STATIONS.of(env)
    return [page for page in numbered(env, chapters(env)) if page in stations and page not in heard]


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the courses again if anything that they show has changed."""
    pages = PLANS.of(env)
    counted = COUNTS.of(env)
    shown = [
        (page, env.titles[page].pformat(), env.toc_secnumbers.get(page, {}).get(""),
         counted[page].minutes("core"), OFFERS.of(env).get(page))
        for page in reading_order(env) if page in counted
    ]  # fmt: skip
    digest = hashlib.sha256(repr((sorted(pages.items()), shown)).encode()).hexdigest()
    return sorted(pages) if DIGEST.update(env, digest) else []


class ShowPlans(SphinxPostTransform):
    """Fill in the courses."""

    default_priority = 2

    def run(self, **kwargs: Any) -> None:
        for here in list(self.document.findall(PlanHere)):
            here.replace_self(self.plan(PLANS.of(self.env)[self.env.docname][here["place"]]))

    def plan(self, plan: Plan) -> list[nodes.Node]:
        there = COUNTS.of(self.env)
        lectures = [each for each in plan.lectures if there.keys() & set(each.chapters)]
        plan = plan._replace(
            lectures=tuple(lectures), beforehand=tuple(p for p in plan.beforehand if p in there)
        )
        total = sum(length(self.env, each) for each in plan.lectures)
        sums = nodes.paragraph("", "", classes=["road-sum"])
        sums += both(
            f"共 {len(plan.lectures)} 讲，{in_words(total, 'zh')}，只算各章的必读部分。",
            f"{len(plan.lectures)} lectures, {in_words(total, 'en')}, counting cores alone.",
        )
        if plan.beforehand:
            sums += [*both("学生事先自己读：", " To be read beforehand: "),
                     *self.listed(list(plan.beforehand)), *both("。", ".")]  # fmt: skip
        found: list[nodes.Node] = [sums]
        for number, each in enumerate(plan.lectures, start=1):
            found.append(self.lecture(number, each))
        if plan.rest and (rest := unheard(self.env, plan)):
            words = [*both("没有排进去的章：", "In none of these lectures: "),
                     *self.listed(rest), *both("。", ".")]  # fmt: skip
            found.append(nodes.paragraph("", "", *words, classes=["lectures-rest"]))
        return found

    def listed(self, pages: list[str]) -> list[nodes.Node]:
        """Return links to pages, one after the other."""
        words: list[nodes.Node] = []
        for page in pages:
            words += both("、", ", ") if words else []
            words.append(self.link(page))
        return words

    def lecture(self, number: int, lecture: Lecture) -> LectureFold:
        total = length(self.env, lecture)
        title = LectureTitle()
        title += both(f"第 {number} 讲　{lecture.takes['zh']}", f"{number}. {lecture.takes['en']}")
        time = both(f"{total}\N{NO-BREAK SPACE}分钟", f"{total}\N{NO-BREAK SPACE}min")
        extent = nodes.inline("", "", *time, classes=["book-part-extent"])
        title += [nodes.Text(" "), extent]
        items = nodes.bullet_list(classes=["book-part-pages"])
        for kind in NAMES:
            words = self.chapters(lecture) if kind == "chapter" else self.offers(kind, lecture)
            if words:
                name = nodes.strong("", "", *both(f"{NAMES[kind][0]}：", f"{NAMES[kind][1]}: "))
                items += nodes.list_item("", nodes.paragraph("", "", name, *words))
        return LectureFold("", title, items)

    def chapters(self, lecture: Lecture) -> list[nodes.Node]:
        words: list[nodes.Node] = []
        for page in lecture.chapters:
            if page in COUNTS.of(self.env):
                time = minutes(self.env, page)
                words += both("；", "; ") if words else []
                words += [
                    self.link(page),
                    *both("", " "),
                    *told(time),
                    nodes.inline(classes=[SLIDES], page=page),
                ]
        return words

    def offers(self, kind: str, lecture: Lecture) -> list[nodes.Node]:
        words: list[nodes.Node] = []
        for page in lecture.chapters:
            for each in OFFERS.of(self.env).get(page, []):
                if each.kind == kind:
                    words += both("；", "; ") if words else []
                    words.append(self.link(page, each.anchor, each.title))
                    if each.minutes:
                        words += [*both("", " "), *told(each.minutes)]
        return words

    def link(self, page: str, anchor: str = "", title: str = "") -> nodes.reference:
        words: list[nodes.Node] = [nodes.Text(title)]
        if not title:
            words = [child.deepcopy() for child in self.env.titles[page].children]
        here, inside = self.env.docname, nodes.inline("", "", *words)
        return make_refnode(builder_of(self.env), here, page, anchor, inside)


def visit_fold(translator: HTML5Translator, node: LectureFold) -> None:
    translator.body.append('<details class="book-part lecture">')


def depart_fold(translator: HTML5Translator, node: LectureFold) -> None:
    translator.body.append("</details>\n")


def visit_title(translator: HTML5Translator, node: LectureTitle) -> None:
    translator.body.append("<summary>")


def depart_title(translator: HTML5Translator, node: LectureTitle) -> None:
    translator.body.append("</summary>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.setup_extension("evidence.some_chapters")
    app.setup_extension("lesson.road")
    app.add_node(LectureFold, html=(visit_fold, depart_fold))
    app.add_node(LectureTitle, html=(visit_title, depart_title))
    app.add_directive("lectures", Lectures)
    app.add_post_transform(ShowPlans)
    OFFERS.connect(app)
    PLANS.connect(app)
    app.connect("doctree-read", note_offers)
    app.connect("build-finished", judge, priority=600)  # before strict_build judges
    app.connect("env-get-updated", pages_to_write, priority=960)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
