"""Notebooks as they are handed in: found in a folder, and read, whatever they are."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attention_book.foundations.bilingual import Bilingual

#: A larger file is no homework.
MOST_BYTES = 20 * 2**20


class NotANotebook(Exception):
    """A file that can't be graded.

    Attributes:
        why: In a few words.
    """

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(en)
        self.why = Bilingual(zh, en)


def notebooks_in(folder: Path) -> Iterator[Path]:
    """Yield the notebooks below a folder in order, never going through a link."""
    for where, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where) / name for name in sorted(names) if name.endswith(".ipynb"))


def cells_of(path: Path) -> list[str]:
    """Return the code cells of a notebook, which may be anything at all.

    Raises:
        NotANotebook: if it is none.
    """
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise NotANotebook("不是普通文件（如链接、管道）", "not a plain file (a link, say)")
        if found.st_size > MOST_BYTES:
            most = MOST_BYTES >> 20
            raise NotANotebook(f"大于 {most} MB", f"larger than {most} MB")
        # A link put there meanwhile is not followed either.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NotANotebook(f"打不开：{reason}", f"cannot be opened: {reason}") from None
    return _sources(_json(data))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise NotANotebook("编码不是 UTF-8", "not in UTF-8") from None
    except (ValueError, RecursionError):
        raise NotANotebook(
            "不是 JSON，也许只下载了一半", "not JSON; perhaps cut off in a download"
        ) from None


def _sources(notebook: Any) -> list[str]:
    try:
        # Before version 4 cells were in worksheets, and their text was their input.
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        sources = []
        for cell in cells:
            if cell.get("cell_type") == "code":
                source = cell.get("source", cell.get("input", ""))
                sources.append(source if isinstance(source, str) else "".join(source))
    except (KeyError, TypeError, AttributeError, IndexError):
        raise NotANotebook(
            "JSON 里没有笔记本的单元格", "JSON without the cells of a notebook"
        ) from None
    return sources
