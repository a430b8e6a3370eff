"""Readers get our scripts without comments and indentation: some fifth of what we write.

Pygments, which Sphinx needs in any case, tells comments from text that looks like one. Lines and
names stay, so that what a browser complains of can still be found.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pygments.lexers.javascript import JavascriptLexer
from pygments.token import Comment, Whitespace
from sphinx.application import Sphinx
from sphinx.config import Config

#: The extensions of the book; what others bring along stays as they wrote it.
HERE = Path(__file__).resolve()
OURS = HERE.parents[2]
#: Packed out of modules, and complete before a page is read.
PACKED = ("live_static", "questions_static")
#: Beside these no blank is needed. Not beside +, -, /, < or >: two of them can be one sign.
SIGNS = frozenset("{}()[];,:=")


def short(script: str) -> str:
    r"""Return the same script without comments and indentation.

    >>> short("/* Adds. */\nconst add = (a, b) => {\n  return a + b; // both\n};\nadd('/* */');")
    "const add=(a,b)=>{\nreturn a + b;\n};\nadd('/* */');\n"
    """
    return "".join(_shortened(script)).lstrip()


def _shortened(script: str) -> Iterator[str]:
    gap, last = "", ";"
    for _, kind, text in JavascriptLexer().get_tokens_unprocessed(script):
        if not text or kind in Comment or kind in Whitespace:
            gap += text
            continue
        if "\n" in gap:  # a line may end a statement
            yield "\n"
        elif gap and last not in SIGNS and text[0] not in SIGNS:
            yield " "
        gap, last = "", text[-1]
        yield text
    yield "\n"


def shorten(app: Sphinx, config: Config) -> None:
    """Have Sphinx copy our static files from folders whose scripts are short."""
    doctrees = Path(app.doctreedir)
    kept, target = doctrees / "short_scripts", doctrees / "short_static"
    kept.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)

    def copy(source: str, place: str) -> None:
        if not source.endswith(".js"):
            shutil.copy2(source, place)
            return
        text = Path(source).read_text(encoding="utf8")
        made = kept / hashlib.sha256(text.encode() + HERE.read_bytes()).hexdigest()
        if not made.is_file():
            made.write_text(short(text), encoding="utf8")
        shutil.copy(made, place)

    for number, folder in enumerate(config.html_static_path):
        source = Path(app.confdir, folder)
        if source.is_relative_to(OURS) or (source.parent == doctrees and source.name in PACKED):
            # Told from where conf.py stands: the settings are the same in any folder.
            config.html_static_path[number] = os.path.relpath(target / str(number), app.confdir)
            shutil.copytree(source, target / str(number), copy_function=copy)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", shorten, priority=990)  # when all folders are named
    return {"parallel_read_safe": True, "parallel_write_safe": True}
