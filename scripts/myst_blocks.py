"""Cut a MyST page into blocks: text, code, directives, targets, labeled equations.

The page is read by the parser that Sphinx uses (markdown-it with MyST's plugins), so that a
fence or a dollar sign means here what it means in the book.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

DIRECTIVE = re.compile(r"^\{([\w:-]+)\}\s*(.*)$", re.S)
OPTION = re.compile(r"^:([\w-]+):(?:\s+(.*))?$")


class ExportError(Exception):
    """A page holds something that has no place in a notebook; says where."""

    def __init__(self, page: str, line: int, problem: str) -> None:
        super().__init__(f"book/{page}.md:{line}: {problem}")


@dataclass
class Block:
    """One piece of a page.

    ``kind`` is "text" (Markdown), "verbatim" (a plain code fence), "directive", "target"
    (``(label)=``) or "equation" (with a label).
    """

    kind: str
    text: str
    line: int
    name: str = ""
    argument: str = ""
    options: dict[str, Any] = field(default_factory=dict)


@cache
def parser(extensions: tuple[str, ...]) -> Any:
    config = MdParserConfig(enable_extensions=set(extensions))
    return create_md_parser(config, RendererHTML)


def book_extensions(book: Path) -> tuple[str, ...]:
    """Return the MyST extensions that the book's settings switch on."""
    settings = yaml.safe_load((book / "_config.yml").read_text(encoding="utf8"))
    return tuple(settings["parse"]["myst_enable_extensions"])


def cut(text: str, page: str, extensions: tuple[str, ...], first_line: int = 1) -> Iterator[Block]:
    """Yield the blocks of a page or of a directive's content, in order."""
    lines = text.split("\n")
    done = 0

    def plain(upto: int) -> Iterator[Block]:
        piece = "\n".join(lines[done:upto])
        if piece.strip():
            yield Block("text", piece.strip("\n"), first_line + done)

    for token in parser(extensions).parse(text):
        block = special_block(token, lines, page, first_line)
        if block is not None:
            yield from plain(token.map[0])
            done = token.map[1]
            if block.kind != "nothing":
                yield block
    yield from plain(len(lines))


def special_block(token: Any, lines: list[str], page: str, first_line: int) -> Block | None:
    """Return the block of a token that is more than text; None for text."""
    line = first_line + token.map[0] if token.map else first_line
    is_directive = token.type in ("fence", "colon_fence") and DIRECTIVE.match(token.info.strip())
    if is_directive and token.level:
        raise ExportError(page, line, "a directive inside a list or a quotation")
    if token.level:
        return None
    if token.type in ("front_matter", "myst_line_comment"):
        return Block("nothing", "", line)
    if is_directive:
        return directive(is_directive, token, page, line)
    if token.type in ("fence", "amsmath"):
        return Block("verbatim", "\n".join(lines[slice(*token.map)]).strip("\n"), line)
    if token.type == "colon_fence":
        raise ExportError(page, line, f"':::' without a directive: {token.info!r}")
    if token.type == "myst_target":
        return Block("target", token.content, line)
    if token.type == "math_block_label":
        return Block("equation", token.content.strip("\n"), line, options={"label": token.info})
    return None


def directive(match: re.Match[str], token: Any, page: str, line: int) -> Block:
    name, argument = match.groups()
    body = token.content.rstrip("\n").split("\n")
    options: dict[str, Any] = {}
    start = 0
    if body[0].strip() == "---":
        try:
            start = body.index("---", 1) + 1
        except ValueError:
            raise ExportError(page, line, "'---' opens options that nothing closes") from None
        options = yaml.safe_load("\n".join(body[1 : start - 1])) or {}
    else:
        while start < len(body) and (found := OPTION.match(body[start])):
            options[found[1]] = found[2] or ""
            start += 1
    text = "\n".join(body[start:])
    return Block("directive", text, line + 1 + start, name, argument.strip(), options)
