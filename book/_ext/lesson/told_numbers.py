"""Numbers of the book in its prose, counted by the build.

``{minutes}`attention-cues` `` is how many a chapter's core takes; ``{count}`chapters` `` how many
there are, of chapters, claims and exercises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bilingual.environment import PerBook, PerPage
from docutils import nodes
from evidence.claims.chapters import CLAIMS
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from lesson.checks.counts import COUNTS
from lesson.checks.problems import chapters
from lesson.road import numbered

logger = logging.getLogger(__name__)

#: What each page asks for: the role and its text.
ASKED = PerPage[list[tuple[str, str]]]("lesson_told_numbers_asked")
#: What the pages were told when they were written last.
TOLD = PerBook[dict[str, str]]("lesson_told_numbers", {})


class NumberHere(nodes.General, nodes.Inline, nodes.Element):
    """The place of a number."""


class NumberRole(SphinxRole):
    """``{minutes}`` and ``{count}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        ASKED.of(self.env).setdefault(self.env.docname, []).append((self.name, self.text))
        here = NumberHere(role=self.name, of=self.text)
        self.set_source_info(here)
        return [here], []


def of_exercises(env: BuildEnvironment) -> int:
    registry: dict[str, dict[str, Any]] = getattr(env, "sphinx_exercise_registry", {})
    return sum(each.get("type") == "exercise" for each in registry.values())


COUNTED: dict[str, Callable[[BuildEnvironment], int]] = {
    "chapters": lambda env: len(numbered(env, chapters(env))),
    "claims": lambda env: sum(len(each) for each in CLAIMS.of(env).values()),
    "exercises": of_exercises,
}


def number(env: BuildEnvironment, role: str, of: str) -> int | None:
    """Return what a role asks for; None where there is no such thing."""
    if role == "minutes":
        return COUNTS.of(env)[of].minutes("core") if of in COUNTS.of(env) else None
    return COUNTED[of](env) if of in COUNTED else None


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write again the pages whose numbers have changed."""
    told = {
        page: repr([number(env, *each) for each in asked]) for page, asked in ASKED.of(env).items()
    }
    before = TOLD.of(env)
    TOLD.update(env, told)
    return sorted(page for page, said in told.items() if before.get(page) != said)


class TellNumbers(SphinxPostTransform):
    """Fill in the numbers."""

    default_priority = 2

    def run(self, **kwargs: Any) -> None:
        for here in list(self.document.findall(NumberHere)):
            found = number(self.env, here["role"], here["of"])
            if found is None:
                logger.warning(
                    "{%s}: expected a chapter, or one of %s, got %r",
                    here["role"], ", ".join(COUNTED), here["of"], location=here, type="lesson",
                )  # fmt: skip
            here.replace_self(nodes.Text(str(found)))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("lesson.checks.counts")
    app.add_node(NumberHere)
    app.add_role("minutes", NumberRole())
    app.add_role("count", NumberRole())
    app.add_post_transform(TellNumbers)
    ASKED.connect(app)
    app.connect("env-get-updated", pages_to_write, priority=960)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
