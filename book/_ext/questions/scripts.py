"""The scripts of the questions: packed once a build, loaded by the pages that have questions.

Beside them stand ``index.js``, which says where each question is, and of each page a script with
its questions, so that other pages can ask them again: a page from a folder loads nothing else.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bilingual.environment import reading_order
from bilingual.marks import pick
from docutils import nodes
from live.bundler import bundler
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from questions.cards import card_of
from questions.data import NAMES, QuestionData
from questions.today import is_today

MODULES = Path(__file__).parent / "modules"
FOLDER = "questions"
#: Each script, and the modules that it is made of with all that they import; what the script of
#: all pages has, the others leave out.
SCRIPTS = {
    "contents": ("contents",),
    "core": ("chapter",),
    "reading": ("reading",),
    "today": ("today",),
}
#: A box as it stands in a page: it ends with its data. (One that was complained of has none.)
BOX = re.compile(
    r'<div class="admonition question [^>]*? id="question-(?P<name>[\w-]+)">'
    r'(?:(?!<div class="admonition question ).)*?'
    r'<script type="application/json">[^<]*</script>\s*'
    r'(?:<template class="question-variants">.*?</template>\s*)?</div>',
    re.S,
)


def write(app: Sphinx, config: Config) -> None:
    """Write the scripts into a folder of the build, from which Sphinx copies them."""
    folder = Path(app.doctreedir) / "questions_static"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / FOLDER).mkdir(parents=True)
    for name, modules in SCRIPTS.items():
        there = SCRIPTS["contents"] if name != "contents" else ()
        text = bundler(MODULES).script(in_folder(modules), without=in_folder(there))
        (folder / FOLDER / f"{name}.js").write_text(text, encoding="utf8")
    config.html_static_path.append(str(folder))


def in_folder(modules: tuple[str, ...]) -> list[str]:
    return [f"{FOLDER}/{each}" for each in modules]


def load(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load what a page needs: all show progress in the contents, chapters keep the place."""
    names = ["index", "contents"]
    if doctree is not None and any("badge" in each for each in doctree.findall(nodes.title)):
        names.append("reading")
    if doctree is not None and next(doctree.findall(QuestionData), None) is not None:
        names.append("core")
    if doctree is not None and is_today(doctree):
        names.append("today")
    for name in names:
        app.add_js_file(f"{FOLDER}/{name}.js", loading_method="defer")


def write_questions(app: Sphinx, exception: Exception | None) -> None:
    """Write the index, and the questions of each page as the page shows them."""
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir, "_static", FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    packed = {"index": f"globalThis.attentionBookQuestions = {as_json(index(app.env))};\n"}
    cards = []
    titles = index(app.env)["titles"]
    for page in with_questions(app.env):
        boxes = dict(boxes_of(Path(app.outdir, f"{page}.html").read_text("utf8"), page))
        packed[page] = f"attentionBookQuestions.arrived({as_json(page)}, {as_json(boxes)});\n"
        cards += [card_of(box, page, titles[page]) for box in boxes.values()]
    packed["cards"] = f"attentionBookQuestions.arrived({as_json('cards')}, {as_json(cards)});\n"
    for old in folder.glob("*.js"):
        if old.stem not in (*packed, *SCRIPTS):
            old.unlink()
    for name, text in packed.items():
        (folder / f"{name}.js").write_text(text, encoding="utf8")


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def boxes_of(html: str, page: str) -> Iterator[tuple[str, str]]:
    """Yield the questions of a page, with links that lead to it from anywhere."""
    for found in BOX.finditer(html):
        yield found["name"], found[0].replace(' href="#', f' href="{page}.html#')


def with_questions(env: BuildEnvironment) -> list[str]:
    """Return the pages that have questions, as the book lists them."""
    return [page for page in reading_order(env) if NAMES.of(env).get(page)]


def index(env: BuildEnvironment) -> dict[str, Any]:
    """Return the names of each page's questions, and the page's titles."""
    pages = with_questions(env)
    return {
        "pages": {page: list(NAMES.of(env)[page]) for page in pages},
        "titles": {page: in_languages(env.titles[page].astext()) for page in pages},
    }


def in_languages(text: str) -> list[str]:
    return [" ".join(pick(text, language).split()) for language in ("zh", "en")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write)
    app.connect("html-page-context", load)
    app.connect("build-finished", write_questions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
