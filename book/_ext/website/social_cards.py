"""A picture of each page for whoever shares it: number, title in both languages, question, drawing.

Chromium draws the cards, twelve at a time, when all pages are written; each is kept by what it
shows, so a build draws those alone that have changed. Where there is no chromium there are no
cards, and pages name none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from bilingual.environment import PerBook
from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from website.figures.inline_svg import STATIC as FIGURE_STYLES
from website.metadata import number_of, title_of

logger = logging.getLogger(__name__)

WIDTH, HEIGHT = 1200, 630
FOLDER = "cards"
AT_ONCE = 12  # a picture of them all must fit the browser's longest one
COLORS = 96
LONGEST = 130  # a question that takes more room is left out
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-quic", "--disable-sync", "--disable-background-networking",
    "--disable-component-update", "--force-device-scale-factor=1", "--force-color-profile=srgb",
)  # fmt: skip
DRAWING = re.compile(r'<svg\b[^>]*class="[^"]*\b(?:diagram|figure)-svg\b.*?</svg>', re.S)
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf8")
#: Whether the pages were written with cards.
HAD_CARDS = PerBook("social_cards", False)


@cache
def browser() -> str | None:
    """Return the browser that also prints the book, if there is one."""
    path = Path(__file__).resolve().parents[3] / "scripts" / "browser.py"
    spec = importlib.util.spec_from_file_location("book_browser", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: str | None = module.chromium()
    return found


def can_draw(app: Sphinx) -> bool:
    return bool(browser() and app.config.html_baseurl and app.builder.name == "html")


def file_of(page: str) -> str:
    return f"{FOLDER}/{page}.png"


def name_card(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Name the page's card, and note beside the page what it says: pages are written apart."""
    shared = context.get("shared")
    if shared is None or not can_draw(app):
        return
    shared["image"] = f"{str(app.config.html_baseurl).rstrip('/')}/{file_of(page)}"
    note = notes(app) / f"{page}.txt"
    note.parent.mkdir(parents=True, exist_ok=True)
    said = context["description"]
    lines = [line if len(line) <= LONGEST else "" for line in (said["zh"], said["en"])]
    note.write_text("\n".join(" ".join(line.split()) for line in lines), encoding="utf8")


def notes(app: Sphinx) -> Path:
    return Path(app.doctreedir, "cards_say")


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write all pages again when they can have cards and had none, or the other way round."""
    return sorted(env.found_docs) if HAD_CARDS.update(env, can_draw(app)) else []


def card(app: Sphinx, page: str) -> str:
    """Return a page's card as markup."""
    zh, en = title_of(app, page, "zh"), title_of(app, page, "en")
    note = notes(app) / f"{page}.txt"
    said = note.read_text(encoding="utf8") if note.is_file() else ""
    question_zh, _, question_en = said.partition("\n")
    found = DRAWING.search(Path(app.outdir, f"{page}.html").read_text(encoding="utf8"))
    number = number_of(app, page)
    book = " · ".join(title_of(app, app.config.root_doc, each) for each in ("zh", "en"))
    lines = [
        f'<p class="number">{number}</p>' if number else "",
        f'<h1 lang="zh-Hans">{escape(zh)}</h1>',
        f'<h2 lang="en">{escape(en)}</h2>' if en != zh else "",
        f'<p class="question" lang="zh-Hans">{escape(question_zh)}</p>' if question_zh else "",
        f'<p class="question" lang="en">{escape(question_en)}</p>' if question_en else "",
    ]
    drawing = f'<div class="drawing">{found[0]}</div>' if found else ""
    kind = "card" if found else "card whole"
    return (
        f'<div class="{kind}"><div class="head"><div class="words">{"".join(lines)}</div>'
        f'{drawing}</div><p class="book">{escape(book)}</p></div>'
    )


def draw(app: Sphinx, exception: Exception | None) -> None:
    """Draw the cards that have changed, and put all of them into the site."""
    if exception is not None or not can_draw(app):
        return
    styles = STYLE + "".join(
        each.read_text(encoding="utf8") for each in sorted(FIGURE_STYLES.glob("*.css"))
    )
    kept = Path(app.doctreedir, "cards")
    kept.mkdir(parents=True, exist_ok=True)
    cards = {page: card(app, page) for page in sorted(app.env.found_docs)}
    files = {page: kept / f"{digest(styles + markup)}.png" for page, markup in cards.items()}
    new = [page for page in cards if not files[page].is_file()]
    for start in range(0, len(new), AT_ONCE):
        some = new[start : start + AT_ONCE]
        try:
            pictures = list(photographed([cards[page] for page in some], styles))
        except (OSError, subprocess.SubprocessError) as error:
            logger.info("no cards for those who share a page: %s", error)
            return
        for page, picture in zip(some, pictures, strict=True):
            part = files[page].with_suffix(".part")
            picture.save(part, "PNG", optimize=True)
            part.replace(files[page])
    shutil.rmtree(Path(app.outdir, FOLDER), ignore_errors=True)
    for page, file in files.items():
        target = Path(app.outdir, file_of(page))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    for old in set(kept.glob("*.png")) - set(files.values()):
        old.unlink()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def photographed(cards: list[str], styles: str) -> Iterator[Image.Image]:
    """Yield the pictures of some cards: one long picture of all, cut."""
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder, "cards.html"), Path(folder, "cards.png")
        page.write_text(
            '<!DOCTYPE html><html lang="en" data-theme="light" data-language="en">'
            f'<meta charset="utf-8"><style>{styles}</style><body>{"".join(cards)}</body></html>',
            encoding="utf8",
        )
        command = [
            str(browser()), *FLAGS, f"--user-data-dir={folder}/profile",
            f"--window-size={WIDTH},{HEIGHT * len(cards)}", f"--screenshot={picture}",
            page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=180)
        with Image.open(picture) as all_cards:
            whole = all_cards.convert("RGB")
    for number in range(len(cards)):
        box = (0, HEIGHT * number, WIDTH, HEIGHT * (number + 1))
        one = whole.crop(box)
        yield one.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("website.metadata")
    app.connect("html-page-context", name_card, priority=940)
    app.connect("env-get-updated", pages_to_write, priority=970)
    app.connect("build-finished", draw, priority=860)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
