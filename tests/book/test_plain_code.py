"""Code without marks that show nothing: the same text, the same marks for all that has a color."""

import re
from html import unescape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from website.slimming.plain_code import PlainNames

CODE = 'def f(x: int) -> str:\n    """Say x."""\n    return f"{x + 1:>3}"  # < & >\n'
MARKS = re.compile(r'<span class="(\w+)">([^<]*)</span>')


def test_only_marks_of_plain_text_are_left_out() -> None:
    plain = highlight(CODE, PythonLexer(), PlainNames())
    marked = highlight(CODE, PythonLexer(), HtmlFormatter())
    assert MARKS.findall(plain) == [m for m in MARKS.findall(marked) if m[0] not in ("n", "p", "w")]
    assert len(MARKS.findall(plain)) < len(MARKS.findall(marked))
    assert unescape(re.sub("<[^>]+>", "", plain)).rstrip() == CODE.rstrip()
