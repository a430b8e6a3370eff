"""The reader's file becomes a module; what cannot be read is told in words, with its line."""

import ast
import contextlib
import difflib
import io
import re
import traceback
import types
from typing import Any

import torch
from torch import Tensor

from attention_book.course.own_file.core import Trouble
from attention_book.foundations.bilingual import Bilingual

#: What stands in the traceback where the file's own lines do.
FILE = "my_attention.py"


class Unreadable(Exception):
    """The file could not be run; the trouble says why."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.what.en)
        self.trouble = trouble


_FULL_WIDTH = dict(zip("，。（）：；“”‘’【】＝＋－＊／　", ",.():;\"\"''[]=+-*/ ", strict=True))


def load(source: str) -> types.ModuleType:
    """Run the file's text as a module of its own; what it prints is dropped.

    Raises:
        Unreadable: if it is no Python, or stops on the way.

    >>> load("PAD = 0").PAD
    0
    """
    load_tree(source)
    module = types.ModuleType("my_attention")
    module.__file__ = FILE
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, FILE, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        line, what = line_in(error, first=True), error_text(error)
        text = Bilingual(
            f"文件读到第 {line} 行就停了：{what.zh}", f"the file stops at line {line}: {what.en}"
        )
        raise Unreadable(Trouble(None, text, hint=error_hint(error, module), line=line)) from None
    return module


def load_tree(source: str) -> ast.Module:
    """Return the syntax tree of a text.

    Raises:
        Unreadable: if it is no Python.

    >>> len(load_tree("PAD = 0").body)
    1
    """
    try:
        return ast.parse(source, FILE)
    except (SyntaxError, ValueError) as error:  # a null byte is the latter
        raise Unreadable(_not_python(error, source)) from None


def _not_python(error: SyntaxError | ValueError, source: str) -> Trouble:
    lines = source.splitlines() or [""]
    line = min(getattr(error, "lineno", None) or 1, len(lines))
    text = lines[line - 1].strip()  # `error.text` may be a line of a file of this name
    message = getattr(error, "msg", str(error))
    what = Bilingual(
        f"第 {line} 行不是 Python：`{text}`（{message}）",
        f"line {line} is not Python: `{text}` ({message})",
    )
    hint = None
    if wide := [letter for letter in text.split("#")[0] if letter in _FULL_WIDTH]:
        letter = wide[0]
        hint = Bilingual(
            f"`{letter}` 是全角标点，要写成半角的 `{_FULL_WIDTH[letter]}`。",
            f"`{letter}` is a full-width character; type `{_FULL_WIDTH[letter]}`.",
        )
    elif "expected ':'" in message:
        hint = Bilingual(
            "`def`、`class`、`if`、`for` 那一行末尾要有冒号。",
            "A line with `def`, `class`, `if` or `for` ends with a colon.",
        )
    elif isinstance(error, IndentationError):
        hint = Bilingual(
            "看这一行和上一行的缩进：函数体比 `def` 多缩进四格，不混用 Tab。",
            "Look at the indentation of this line and the one above: four more blanks than `def`,"
            " no tabs.",
        )
    elif "never closed" in message:
        hint = Bilingual("有个括号没有合上。", "A bracket is not closed.")
    elif re.match(r"[+-](?![\d(])", text):
        hint = Bilingual(
            "行首的 ＋ 和 − 是对照的记号，不属于文件：去掉它。",
            "A + or − at the beginning is a mark of the comparison, not of the file: take it away.",
        )
    return Trouble(None, what, hint=hint, line=line)


def line_in(error: BaseException, *, first: bool = False) -> int | None:
    """Return the line of the file on which an error came up, or the first that led there."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == FILE]
    return lines[0 if first else -1] if lines else None


def error_text(error: BaseException) -> Bilingual:
    """Return an error as one line; those of the page's torch speak both languages.

    >>> error_text(ValueError("no")).en
    'ValueError: no'
    """
    texts = (str(getattr(error, name, error)) for name in ("zh", "en"))
    firsts = (text.splitlines()[0] if text else "" for text in texts)
    zh, en = (f"{type(error).__name__}: {text}".removesuffix(": ")[:200] for text in firsts)
    return Bilingual(zh, en)


_ERRORS: tuple[tuple[str, Bilingual], ...] = (
    (
        r"unary ~: 'NoneType'|'NoneType' object has no attribute"
        r"|masked_fill.*(NoneType|got \(bool)",
        Bilingual(
            "没给 `mask` 时它是 None：先分开这种情形。",
            "Without `mask` it is None: treat that case first.",
        ),
    ),
    (
        r"cannot access local variable|referenced before assignment",
        Bilingual(
            "函数里有个变量跟要调用的函数同名：给变量换个名字，比如 `w`。",
            "Inside the function a variable has the name of the function it calls: rename the"
            " variable, to `w` say.",
        ),
    ),
    (
        r"Boolean value of Tensor",
        Bilingual(
            "`if mask:` 问的是整张表真不真：写 `if mask is not None:`。",
            "`if mask:` asks whether a whole table is true: write `if mask is not None:`.",
        ),
    ),
    (
        r"cannot assign .* before Module.__init__|has no attribute '_modules'",
        Bilingual(
            "`__init__` 的第一行要写 `super().__init__()`。",
            "The first line of `__init__` is `super().__init__()`.",
        ),
    ),
    (
        r"name '(math|nn|F|torch)' is not defined",
        Bilingual(
            "文件开头少了 import：`import math`、`import torch`、`from torch import nn`。",
            "An import is missing at the top: `import math`, `import torch`,"
            " `from torch import nn`.",
        ),
    ),
    (
        r"mat1 and mat2|must match the size|size mismatch|must match at non-singleton|Expected"
        r" size for first two",
        Bilingual(
            "形状对不上：把两边的 `.shape` 打印出来，跟注释里的形状比一比。批量的转置用 `.mT`，"
            "它只换最后两个轴。",
            "The shapes don't fit: print both `.shape`s and compare them with the comments. To"
            " transpose in a batch use `.mT`, which swaps the last two axes only.",
        ),
    ),
    (
        r"only supported on matrices|T.* is only|The use of `x.T`|dimensions other than 2",
        Bilingual(
            "成批时不能用 `.T`，用 `.mT`：它只换最后两个轴。",
            "In a batch `.T` won't do; `.mT` swaps the last two axes only.",
        ),
    ),
    (
        r"bitwise_not|mask.*bool|expected .*BoolTensor|masked_fill.*bool|unary ~",
        Bilingual(
            "掩码要是布尔张量：`dtype=torch.bool`，或者一个比较的结果。",
            "A mask is a boolean tensor: `dtype=torch.bool`, or the result of a comparison.",
        ),
    ),
    (
        r"unexpected keyword argument|positional argument",
        Bilingual(
            "参数的名字、个数或次序跟任务里写的不一样。",
            "Names, number or order of the arguments are not those of the task.",
        ),
    ),
    (
        r"view size is not compatible",
        Bilingual(
            "转置之后不能 `view`，用 `flatten` 或 `reshape`。",
            "After a transpose use `flatten` or `reshape`, not `view`.",
        ),
    ),
    (
        r"expected m1 and m2 to have the same dtype|Float but found|same dtype|dtype.*Double",
        Bilingual(
            "有个张量的类型写死了：新造的张量要跟输入同类型，比如 `torch.zeros_like(x)`、"
            "`.to(x)`。",
            "A tensor's type is fixed: make new tensors of the input's type, as in"
            " `torch.zeros_like(x)`, `.to(x)`.",
        ),
    ),
    (
        r"does not require grad",
        Bilingual(
            "计算图断了：别在训练里用 `.detach()`、`.item()`、`.data`。",
            "The graph is cut: no `.detach()`, `.item()`, `.data` while training.",
        ),
    ),
)


#: Hints that name the cause itself, wherever the error comes up; and what is said of shapes, to
#: which any other hint is preferred.
CERTAIN, SHAPES = tuple(hint for _, hint in _ERRORS[:5]), _ERRORS[5][1]


def error_hint(error: BaseException, module: Any) -> Bilingual | None:
    """Return what helps with an error, where it is a usual one, or a name is misspelt."""
    if isinstance(error, SystemExit):
        return Bilingual(
            "`exit()` 会结束整个程序：去掉它。", "`exit()` ends the program: take it away."
        )
    text = str(error)
    for pattern, hint in _ERRORS:
        if re.search(pattern, text):
            return hint
    if found := re.search(r"name '(\w+)' is not defined|no attribute '(\w+)'", text):
        wrong = found[1] or found[2]
        names = list(vars(module))
        if "'Tensor' object" in text:
            names = dir(Tensor)
        elif "'torch'" in text:
            names = dir(torch)
        if near := difflib.get_close_matches(wrong, names, 1):
            return Bilingual(f"是不是想写 `{near[0]}`？", f"Did you mean `{near[0]}`?")
    return None
