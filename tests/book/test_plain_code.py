"""Code without marks that show nothing: the same text, the same marks for all that has a color."""

import re
from html import unescape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from website.slimming.plain_code import plain

CODE = 'def f(x: int) -> str:\n    """Say x."""\n    return f"{x + 1:>3}"  # < & >\n'
MARKS = re.compile(r'<span class="(\w+)">([^<]*)</span>')


def test_only_marks_of_plain_text_are_left_out() -> None:
    sparse = highlight(CODE, plain(PythonLexer)(), HtmlFormatter())
    marked = highlight(CODE, PythonLexer(), HtmlFormatter())
    kept = [m for m in MARKS.findall(marked) if m[0] not in ("n", "p", "w")]
    assert MARKS.findall(sparse) == kept
    assert len(kept) < len(MARKS.findall(marked))
    assert unescape(re.sub("<[^>]+>", "", sparse)).rstrip() == CODE.rstrip()
