"""The straight road through the book, and what the roads beside it are for.

The front matter of each chapter says where it stands, and what it is for in one line a language::

    road: straight
    invitation:
      zh: 桌上什么都没变，结果会变吗？
      en: nothing on the desk changes. Can the answer change?

``road: side`` is a chapter that may be left out. Its opening shows the chapter's place, and at its
end stands the next stop of the straight road, where that is not the next page;
``{chapters-by-part}`` lists the whole book, each part folded, with these lines and the minutes of
the cores, which the build adds up. It holds the straight road to its bounds, and each chapter to
the order of the contents: what a chapter needs comes before it, and what the straight road needs
lies on it or on the on-ramp, which has no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import yaml
from bilingual.environment import PerBook, PerPage, builder_of, reading_order
from bilingual.marks import Bilingual, split_pair
from bilingual.nodes import LanguageInline
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from lesson.checks.counts import COUNTS, OTHERS
from lesson.checks.problems import PROBLEMS, Problem, chapters, is_chapter

logger = logging.getLogger(__name__)

STRAIGHT, SIDE = "straight", "side"
#: The straight road at the most: chapters, minutes of their cores, and minutes until this page.
CHAPTERS, MINUTES = 14, 600
HALFWAY, MINUTES_UNTIL = "self-attention", 300

FRONT_MATTER = re.compile(r"\A---\n(.*?)^---$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r'<a class="((?:current )?reference internal)" href="([^"]*)"')


class Station(NamedTuple):
    """A chapter's place: its road, its line in each language, the labels that it needs."""

    road: str
    invitation: dict[str, str]
    needs: tuple[str, ...]


#: Of each chapter that says its road.
STATIONS = PerPage[Station]("lesson_stations")
#: The pages with a list of the roads.
LISTS = PerPage[bool]("lesson_roads_lists")
#: What each page said of the roads when it was written last.
SAID = PerBook[dict[str, str]]("lesson_roads_said", {})


class RoadHere(nodes.General, nodes.Element):
    """A place for what the roads tell: of ``all`` chapters, or of one, ``short`` or a ``line``."""


class RoadDirective(SphinxDirective):
    """``{chapters-by-part}``: the whole book, each chapter with its line and minutes."""

    def run(self) -> list[nodes.Node]:
        LISTS.of(self.env)[self.env.docname] = True
        return [RoadHere(tells="all")]


def register(app: Sphinx, doctree: nodes.document) -> None:
    """Note a chapter's place, and give its opening a line about it."""
    env, page = app.env, app.env.docname
    if not is_chapter(env, page) or page in app.config[OTHERS]:
        return
    found = FRONT_MATTER.match(Path(env.doc2path(page)).read_text(encoding="utf8"))
    front = yaml.safe_load(found[1]) if found else {}
    road, invitation = front.get("road"), front.get("invitation")
    if road not in (STRAIGHT, SIDE):
        complain(app, page, "the front matter says neither `road: straight` nor `road: side`")
    elif not isinstance(invitation, dict) or set(invitation) != {"zh", "en"}:
        complain(app, page, "the front matter has no `invitation:` with one line `zh:` and `en:`")
    else:
        boxes = [each for each in doctree.findall(nodes.container) if "opening" in each["classes"]]
        needs = [
            target["reftarget"]
            for box in boxes
            for part in box.findall(nodes.container)
            if "opening-need" in part["classes"]
            for target in part.findall(addnodes.pending_xref)
        ]
        STATIONS.of(env)[page] = Station(road, invitation, tuple(dict.fromkeys(needs)))
        for box in boxes:
            box.insert(1, RoadHere(tells="short"))  # after the minutes
            box.insert(-1, RoadHere(tells="line"))  # last in the fold


def complain(app: Sphinx, page: str, message: str) -> None:
    PROBLEMS.of(app.env)[page].append(Problem(1, message))


# --- the roads -----------------------------------------------------------------------------------


def on_road(env: BuildEnvironment, road: str) -> list[str]:
    """Return the chapters of a road in reading order."""
    stations = STATIONS.of(env)
    return [page for page in chapters(env) if page in stations and stations[page].road == road]


def next_station(env: BuildEnvironment, page: str) -> str | None:
    """Return the first chapter of the straight road that comes after a page."""
    straight, after = set(on_road(env, STRAIGHT)), reading_order(env)
    later = after[after.index(page) + 1 :]
    return next((each for each in later if each in straight), None)


def minutes(env: BuildEnvironment, page: str) -> int:
    """Return the minutes of a chapter's core."""
    return COUNTS.of(env)[page].minutes("core")


def numbered(env: BuildEnvironment, pages: list[str]) -> list[str]:
    """Return those that have a number in the contents: the on-ramp before them has none."""
    return [page for page in pages if env.toc_secnumbers.get(page, {}).get("")]


def by_part(env: BuildEnvironment) -> Iterator[tuple[str, list[str]]]:
    """Yield the captions of the contents' parts, each with the pages that it holds."""
    for toctree in env.tocs[env.config.root_doc].findall(addnodes.toctree):
        inside = [page for _, page in toctree["entries"] if page in env.titles]
        if inside:
            yield split_pair(toctree.get("caption") or ""), inside


def in_words(total: int, language: str) -> str:
    """Return minutes as hours and minutes.

    >>> in_words(593, "en"), in_words(593, "zh"), in_words(120, "en")
    ('9 h 53 min', '9 小时 53 分钟', '2 h')
    """
    hours, rest = divmod(total, 60)
    h, m = ("h", "min") if language == "en" else ("小时", "分钟")
    return " ".join(f"{number} {unit}" for number, unit in ((hours, h), (rest, m)) if number)


# --- what is wrong -------------------------------------------------------------------------------


def too_long(env: BuildEnvironment, straight: list[str]) -> Iterator[str]:
    """Yield how the straight road exceeds its bounds."""
    before = list(takewhile(lambda page: page != HALFWAY, straight))
    total, half = (sum(minutes(env, page) for page in some) for some in (straight, before))
    if len(straight) > CHAPTERS:
        yield f"it has {len(straight)} chapters, more than {CHAPTERS}"
    if total > MINUTES:
        yield f"its cores take {total} minutes, more than {MINUTES}"
    if HALFWAY in straight and half > MINUTES_UNTIL:
        yield f"{HALFWAY} comes after {half} minutes, more than {MINUTES_UNTIL}"


def out_of_order(env: BuildEnvironment) -> Iterator[tuple[str, str]]:
    """Yield the chapters that need what comes after them, or what their road leaves out."""
    places = {page: number for number, page in enumerate(reading_order(env))}
    labels = env.domaindata["std"]["anonlabels"]
    aside = numbered(env, on_road(env, SIDE))
    for page, station in STATIONS.of(env).items():
        for label in station.needs:
            needed = labels[label][0] if label in labels else page  # unknown: Sphinx complains
            if places[needed] > places[page]:
                yield page, f"the chapter needs {needed}, which comes after it"
            elif station.road == STRAIGHT and needed in aside:
                yield page, f"the straight road needs {needed}, which does not lie on it"


def judge(app: Sphinx, exception: Exception | None) -> None:
    """Complain of roads that are too long or go in circles."""
    if exception is not None:
        return
    straight = on_road(app.env, STRAIGHT)
    complaints = list(out_of_order(app.env))
    for message in too_long(app.env, straight):
        complaints.append((straight[-1], f"the straight road is too long: {message}"))
    for page, message in complaints:
        logger.warning("%s", message, location=f"{app.env.doc2path(page)}:1", type="lesson")


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write again what says something else of the roads than it did."""
    straight, side = on_road(env, STRAIGHT), on_road(env, SIDE)
    stations = STATIONS.of(env)
    listed = [page for _, pages in by_part(env) for page in pages]
    titles = {page: env.titles[page].pformat() for page in (*straight, *side, *listed)}
    every = [(stations[page], minutes(env, page)) for page in (*straight, *side)]
    numbers = [env.toc_secnumbers.get(page, {}).get("") for page in listed]
    told = repr((list(by_part(env)), titles, every, numbers))
    says = dict.fromkeys(LISTS.of(env), told)
    for page in (*straight, *side):
        following = next_station(env, page)
        here = straight.index(page) if page in straight else stations[page].invitation
        says[page] = repr((here, len(straight), following, following and titles[following]))
    for page, after in pairwise(reading_order(env)):
        if after in stations:  # its question stands beside the link to it
            says[page] = f"{says.get(page)} {stations[after].invitation}"
    before = SAID.of(env)
    SAID.update(env, says)
    return sorted(page for page, said in says.items() if before.get(page) != said)


# --- what is shown -------------------------------------------------------------------------------


def both(zh: str, en: str) -> list[nodes.Node]:
    return [LanguageInline("", zh, language="zh"), LanguageInline("", en, language="en")]


def told(time: int | str) -> list[nodes.Node]:
    """Return how long something takes, in parentheses that no line breaks."""
    words = both(f"（{time}\N{NO-BREAK SPACE}分钟）", f"({time}\N{NO-BREAK SPACE}min)")
    return [nodes.inline("", "", *words, classes=["minutes-told"])]


class ShowRoads(SphinxPostTransform):
    """Fill in the list, and the line of an opening."""

    default_priority = 2

    def run(self, **kwargs: Any) -> None:
        for here in list(self.document.findall(RoadHere)):
            if here["tells"] == "all":
                here.replace_self(self.contents())
            elif here["tells"] == "short":
                here.replace_self(self.short(self.env.docname))
            else:
                line = nodes.paragraph("", "", *self.line(self.env.docname))
                here.replace_self(
                    nodes.container("", line, classes=["opening-part", "opening-road"])
                )

    def contents(self) -> list[nodes.Node]:
        straight = on_road(self.env, STRAIGHT)
        total = sum(minutes(self.env, page) for page in straight)
        sums = both(
            f"主线上的 {len(straight)} 章带一个圆点，必读部分一共 {in_words(total, 'zh')}。",
            f"A dot marks the {len(straight)} chapters of the straight road, whose cores take "
            f"{in_words(total, 'en')} in all.",
        )
        found: list[nodes.Node] = [nodes.paragraph("", "", *sums, classes=["road-sum"])]
        for caption, pages in by_part(self.env):
            items = nodes.bullet_list("", *map(self.item, pages), classes=["book-part-pages"])
            found += [
                nodes.raw("", '<details class="book-part"><summary>', format="html"),
                nodes.Text(caption),
                *self.extent(pages),
                nodes.raw("", "</summary>", format="html"),
                items,
                nodes.raw("", "</details>", format="html"),
            ]
        return found

    def extent(self, pages: list[str]) -> list[nodes.Node]:
        """Return how many chapters a part has, and how long their cores take."""
        count = [page for page in numbered(self.env, pages) if page in STATIONS.of(self.env)]
        if not count:
            return []
        total = sum(minutes(self.env, page) for page in count)
        plural = "s" if len(count) > 1 else ""
        words = both(
            f"{len(count)} 章，必读 {in_words(total, 'zh')}",
            f"{len(count)} chapter{plural}, {in_words(total, 'en')}",
        )
        return [nodes.inline("", "", *words, classes=["book-part-extent"])]

    def item(self, page: str) -> nodes.list_item:
        link = self.link(page)
        if number := self.env.toc_secnumbers.get(page, {}).get(""):
            link["secnumber"] = number
        station = STATIONS.of(self.env).get(page)
        if station is None:
            return nodes.list_item("", nodes.paragraph("", "", link))
        if station.road == STRAIGHT:
            link["classes"].append("on-the-road")
        time = minutes(self.env, page)
        words = both(station.invitation["zh"], f"{station.invitation['en']} ")
        question = nodes.inline("", "", *words, *told(time), classes=["chapter-question"])
        return nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(" "), question))

    def short(self, page: str) -> nodes.raw:
        straight = on_road(self.env, STRAIGHT)
        words = Bilingual(" · 支线", " · a side road")
        if page in straight:
            place, count = straight.index(page) + 1, len(straight)
            words = Bilingual(f" · 主线第 {place} 站", f" · stop {place} of {count}")
        return nodes.raw("", words, format="html")  # as the line around it

    def line(self, page: str) -> list[nodes.Node]:
        invitation = STATIONS.of(self.env)[page].invitation
        straight = on_road(self.env, STRAIGHT)
        if page not in straight:
            return both(f"支线：{invitation['zh']}", f"A side road: {invitation['en']}")
        place, count = straight.index(page) + 1, len(straight)
        here = both(
            f"主线第 {place} 站，共 {count} 站",
            f"Stop {place} of {count} on the straight road",
        )
        if place == count:
            return [*here, *both("，也是最后一站。", ", the last one.")]
        return [*here, *both("；下一站：", "; the next is "), self.link(straight[place]),
                *both("。", ".")]  # fmt: skip

    def link(self, page: str) -> nodes.reference:
        words = [child.deepcopy() for child in self.env.titles[page].children]
        inside = nodes.inline("", "", *words)
        return make_refnode(builder_of(self.env), self.env.docname, page, "", inside)


def mark_in_sidebar(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the links of the sidebar that lead along the straight road a class."""
    generate = context.get("generate_toctree_html")
    if generate is None:
        return
    addresses = {app.builder.get_target_uri(each) for each in on_road(app.env, STRAIGHT)}
    here = app.builder.get_target_uri(page)

    def marked(found: re.Match[str]) -> str:
        road = " on-the-road" if urljoin(here, found[2]).partition("#")[0] in addresses else ""
        return f'<a class="{found[1]}{road}" href="{found[2]}"'

    context["generate_toctree_html"] = lambda *args, **options: LINK.sub(
        marked, str(generate(*args, **options))
    )


def tell_questions(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Describe a chapter by its question; beside the link to the next one stands that one's."""
    stations = STATIONS.of(app.env)
    relations = getattr(app.builder, "relations", {}).get(page)
    if relations and relations[2] in stations:
        context["next_question"] = Bilingual(**as_sentences(stations[relations[2]]))
    station = next_station(app.env, page) if page in stations else None
    if (
        relations
        and station not in (None, relations[2])
        and isinstance(app.builder, StandaloneHTMLBuilder)
    ):
        context["next_station"] = {
            "words": Bilingual("主线下一站：", "The straight road goes on with "),
            "link": app.builder.get_relative_uri(page, station),
            "title": app.builder.render_partial(app.env.titles[station])["title"],
        }
    if page in stations:
        context["description"] = as_sentences(stations[page])


def as_sentences(station: Station) -> dict[str, str]:
    """Return a chapter's line, which goes on after a dash elsewhere, as a sentence of its own."""
    return {language: line[:1].upper() + line[1:] for language, line in station.invitation.items()}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("bilingual.environment")
    app.setup_extension("lesson.checks.counts")
    app.add_node(RoadHere)
    app.add_directive("chapters-by-part", RoadDirective)
    app.add_post_transform(ShowRoads)
    STATIONS.connect(app)
    LISTS.connect(app)
    app.connect("doctree-read", register)
    app.connect("build-finished", judge, priority=600)  # before strict_build judges
    app.connect("env-get-updated", pages_to_write, priority=960)
    app.connect("html-page-context", mark_in_sidebar, priority=910)
    app.connect("html-page-context", tell_questions, priority=910)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
