"""The reader's file as it stands after any step, cut from one source in either language.

``my_attention.txt`` is the whole file with marks: what follows ``#@ a..b`` stands there from step
a to step b, ``#% 中文 % English`` is a comment, ``#= k % 中文 % English`` the title of a part. The
site's build reads this module by its path, without the package and without torch.
"""

import difflib
import re
from pathlib import Path
from typing import Any

_LOADER: Any = __spec__.loader
#: How many steps there are.
LAST = 16


def beside(name: str) -> str:
    """Return the text of a file beside this module; a page has the package in an archive."""
    data: bytes = _LOADER.get_data(str(Path(__file__).with_name(name)))
    return data.decode("utf8")


def file_at(step: int, language: str = "en") -> str:
    """Return the file as it stands after a step; after step 0 it is empty.

    Args:
        step: 0 to 16.
        language: "zh" or "en": that of the comments. The code is the same.

    Raises:
        ValueError: if there is no such step.

    >>> print(file_at(1).splitlines()[-3])
    def attention_pooling(scores, v):  # (n, m), (m, d) -> (n, d)
    """
    if not 0 <= step <= LAST:
        raise ValueError(f"step: expected 0 to {LAST}, got {step}")
    lines, stands = [], True
    for line in beside("my_attention.txt").splitlines():
        if mark := re.fullmatch(r"#@ (\d+)(\.\.)?(\d+)?", line):
            first, dots, last = int(mark[1]), mark[2], mark[3]
            stands = first <= step <= (int(last) if last else LAST if dots else first)
        elif stands and line != "#":
            lines.append(_in_language(line, language))
    text = "\n".join(lines).strip() + "\n"
    text = re.sub(r"\n+(?=# \d+(, \d+)? ·)", "\n\n\n", text)  # two blank lines before a part
    text = re.sub(r"\n+(?=import torch|PAD)", "\n\n", text)
    return text if step else ""


def _in_language(line: str, language: str) -> str:
    mark = re.match(r"(.*?)#([%=]) (.*)", line)
    if mark is None:
        return line
    before, kind, rest = mark.groups()
    *number, zh, en = (part.strip() for part in rest.split(" % "))
    words = zh if language == "zh" else en
    return f"{before}# {number[0]} · {words}" if kind == "=" else f"{before}# {words}"


def changes(step: int, language: str = "en", around: int = 1) -> str:
    """Return what a step changes: lines that come begin with +, those that go with −.

    Args:
        step: 1 to 16.
        language: That of the comments.
        around: How many unchanged lines to show before and after each change.

    >>> changes(3).splitlines()[9]
    '-def attention_pooling(scores, v):  # (n, m), (m, d) -> (n, d)'
    """
    if not 1 <= step <= LAST:
        raise ValueError(f"step: expected 1 to {LAST}, got {step}")
    old, new = (file_at(each, language).splitlines() for each in (step - 1, step))
    lines: list[str] = []
    for line in list(difflib.unified_diff(old, new, lineterm="", n=around))[2:]:
        lines.append("" if line.startswith("@@") else line)
    return re.sub(r"\A\s*\n", "", "\n".join(lines)).rstrip()
