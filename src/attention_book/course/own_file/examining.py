"""A module is held to a step: names first, then laws; a slip is known by what it does."""

import ast
import contextlib
import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_book.course.own_file.core import Case, Law, Step, Trouble, same
from attention_book.course.own_file.hints import HINTS
from attention_book.course.own_file.loading import (
    SHAPES,
    error_hint,
    error_text,
    line_in,
    load,
)
from attention_book.foundations.bilingual import Bilingual

# --- names ---------------------------------------------------------------------------------------


def definitions(source: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes that a file defines, by name.

    >>> list(definitions("def f(x):\\n    return x"))
    ['f']
    """
    body = ast.parse(source).body
    return {each.name: each for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)}


def missing(module: Any, source: str, step: Step) -> Trouble | None:
    """Return what the file lacks of a step's names; None: nothing."""
    own = definitions(source)
    for name, arguments in step.names.items():
        found = _found(module, name)
        if not callable(found):
            word = "class" if name[0].isupper() and "." not in name else "def"
            near = difflib.get_close_matches(name, own, 1, cutoff=0.7)
            hint = None
            if near and near[0] not in step.names:
                zh, en = f"是不是写成了 `{near[0]}`？", f"You have `{near[0]}`: is it that?"
                hint = Bilingual(zh, en)
            what = Bilingual(
                f"文件里还没有 `{word} {name}({arguments})`",
                f"the file has no `{word} {name}({arguments})` yet",
            )
            return Trouble(step.number, what, law="missing", hint=hint, name=name)
        if problem := _other_arguments(found, arguments):
            line = _line_of(own, name)
            zh, en = (f"（第 {line} 行）", f" (line {line})") if line else ("", "")
            what = Bilingual(
                f"`{name}` 应当能这样调用：`{name}({arguments})`{zh}；{problem.zh}",
                f"`{name}` should take `{name}({arguments})`{en}; {problem.en}",
            )
            return Trouble(step.number, what, law="signature", name=name, line=line)
    return None


def _found(module: Any, name: str) -> Any:
    """Return a definition by its name; "TransformerLayer.forward" is a method."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def _line_of(own: Mapping[str, ast.FunctionDef | ast.ClassDef], name: str) -> int | None:
    outer, _, inner = name.partition(".")
    if outer not in own:
        return None
    for node in own[outer].body:
        if isinstance(node, ast.FunctionDef) and node.name == (inner or "__init__"):
            return node.lineno
    return own[outer].lineno


def _other_arguments(function: Any, arguments: str) -> Bilingual | None:
    parts = [part.strip() for part in arguments.split(",")]
    required = [part for part in parts if "=" not in part]
    optional = [part.split("=")[0] for part in parts if "=" in part]
    try:
        has = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        has.bind(*required)
    except TypeError:
        return Bilingual(f"现在它是 `{has}`", f"now it is `{has}`")
    for name in optional:
        try:
            has.bind(*required, **{name: None})
        except TypeError:
            return Bilingual(f"现在没有参数 `{name}`", f"it has no argument `{name}` now")
    return None


def partly(module: Any, step: Step, trouble: Trouble) -> Trouble:
    """Examine those laws of an unfinished step that need none of the missing names."""
    if trouble.name is None or "." in trouble.name:
        return trouble
    plain = [name for name in step.names if "." not in name]
    there = [n for n in plain if callable(_found(module, n)) and n != trouble.name]
    if not there:
        return trouble
    lacking = [name for name in plain if name not in there]
    ready = tuple(law for law in step.laws if not any(_asks_for(law, n) for n in lacking))
    _, other = tested(module, replace(step, laws=ready))
    if other is not None:
        return other
    if ready:
        zh, en = "、".join(f"`{n}`" for n in there), ", ".join(f"`{n}`" for n in there)
        trouble.what = Bilingual(
            f"{zh} 到这里都对；{trouble.what.zh}", f"{en}: right so far; {trouble.what.en}"
        )
    return trouble


def _asks_for(law: Law, name: str) -> bool:
    return bool(re.search(rf"\bmy\.{name}\b", inspect.getsource(law.cases)))


# --- laws ----------------------------------------------------------------------------------------


class _Tried:
    """A case with what the file makes of it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.got, self.error = _called(case.got)

    @property
    def is_right(self) -> bool:
        return self.error is None and same(self.got, self.case.want, self.case.tolerance)


def _called(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    torch.manual_seed(0)
    try:
        return function(), None
    except (Exception, SystemExit) as error:
        return None, error


def tested(module: Any, step: Step) -> tuple[int, Trouble | None]:
    """Hold the file to the laws of one step: how many checks were made, and the first trouble."""
    count = 0
    for law in step.laws:
        tried: list[_Tried] = []
        torch.manual_seed(0)
        try:
            for case in law.cases(module):
                tried.append(_Tried(case))
        except (
            Exception,
            SystemExit,
        ) as error:  # making the case failed: in the reader's __init__, mostly
            return count, _raised(step, law, {}, error, module)
        count += len(tried)
        bad = [each for each in tried if not each.is_right]
        if bad:
            return count, _broken(module, step, law, tried, bad)
    return count, None


def _broken(module: Any, step: Step, law: Law, tried: list[_Tried], bad: list[_Tried]) -> Trouble:
    first, slip = bad[0], _recognized(module, law, tried)
    if first.error is not None:
        trouble = _raised(step, law, first.case.given, first.error, module)
        if slip or (law.error_hint and trouble.hint in (None, SHAPES)):
            trouble.slip = slip or law.error_hint
            trouble.hint = HINTS.get(trouble.slip or "", trouble.hint)
        return trouble
    what = law.statement
    if about := first.case.about:
        what = Bilingual(f"{what.zh}（{about.zh}）", f"{what.en} ({about.en})")
    return Trouble(
        step.number,
        what,
        law.name,
        first.case.given,
        first.case.want,
        first.got,
        shown=True,
        slip=slip or law.hint,
        hint=HINTS[slip] if slip else _shape_hint(first) or HINTS.get(law.hint or ""),
    )


def _raised(
    step: Step, law: Law, given: Mapping[str, Any], error: BaseException, module: Any
) -> Trouble:
    line, text = line_in(error), error_text(error)
    zh, en = (f"第 {line} 行", f"line {line}") if line else ("你的代码", "your code")
    what = Bilingual(f"{zh}出错：{text.zh}", f"{en} raises {text.en}")
    hint = error_hint(error, module)
    name = error.name if type(error) is NameError else None
    return Trouble(
        step.number, what, law.name, given, slip="error", hint=hint, line=line, name=name
    )


def _recognized(module: Any, law: Law, tried: list[_Tried]) -> str | None:
    """Return the slip that explains most: it does what the file does where it shows.

    It must agree on half of these inputs at least, and once by its result: that both raise an
    error of one type tells little.
    """
    telling: dict[str, int] = {}
    alike: dict[str, int] = {}
    by_result: set[str] = set()
    torch.manual_seed(0)
    for case, ours in zip(law.cases(module), tried, strict=True):
        for name, function in case.slips.items():
            wrong, error = _called(function)
            if error is None and same(wrong, case.want, case.tolerance):
                continue
            telling[name] = telling.get(name, 0) + 1
            if error is not None:
                alike[name] = alike.get(name, 0) + (type(error) is type(ours.error))
            elif ours.error is None and same(wrong, ours.got, case.tolerance):
                alike[name] = alike.get(name, 0) + 1
                by_result.add(name)
    best, most = None, 0.0
    for name, count in telling.items():
        share = alike.get(name, 0) / count
        if name in by_result and share >= 0.5 and share > most:
            best, most = name.split("@")[0], share  # ways to make one slip share a name
    return best


def _shape_hint(tried: _Tried) -> Bilingual | None:
    got, want = tried.got, tried.case.want
    if got is None:
        return Bilingual(
            "什么也没有返回：是不是忘了 `return`？", "It returns nothing: is a `return` missing?"
        )
    if not (isinstance(got, Tensor) and isinstance(want, Tensor)):
        return None
    if got.shape != want.shape:
        a, b = tuple(want.shape), tuple(got.shape)
        return Bilingual(f"形状应当是 {a}，得到 {b}。", f"The shape should be {a}, not {b}.")
    if want.dtype == torch.bool != got.dtype:
        return Bilingual("应当是布尔张量。", "A boolean tensor is expected.")
    return None


# --- later edits ---------------------------------------------------------------------------------


def later_edit(old: str, new: str, step: Step) -> tuple[Bilingual, int | None] | None:
    """Say which edit since ``old`` broke a step, and on which line it stands.

    Each definition that was edited is put back, to see whether that cures it.
    """
    before, now = definitions(old), definitions(new)
    changed = [n for n in before if n in now and ast.dump(before[n]) != ast.dump(now[n])]
    if gone := [name for name in before if name not in now]:
        zh, en = "、".join(f"`{n}`" for n in gone), ", ".join(f"`{n}`" for n in gone)
        gone_text = Bilingual(
            f"第 {step.number} 步原来是对的，后来去掉了 {zh}。",
            f"Step {step.number} held before, but {en} has been deleted since.",
        )
        return gone_text, None
    if not changed:
        return None
    guilty = []
    for name in changed:
        with contextlib.suppress(Exception):
            module = load(_with_old(new, now[name], old, before[name]))
            if missing(module, new, step) is None and tested(module, step)[1] is None:
                guilty.append(name)
    lines = {name: now[name].lineno for name in guilty or changed}
    zh = "、".join(f"`{name}`（第 {line} 行）" for name, line in lines.items())
    en = ", ".join(f"`{name}` (line {line})" for name, line in lines.items())
    if guilty:
        text = Bilingual(
            f"第 {step.number} 步原来是对的，是后来改 {zh}时弄坏的：换回原来的那段，它就又对了。",
            f"Step {step.number} held before, and your later edit of {en} broke it: with the old"
            " one it holds again.",
        )
    else:
        text = Bilingual(
            f"第 {step.number} 步原来是对的；从那以后改过 {zh}。",
            f"Step {step.number} held before; since then you changed {en}.",
        )
    return text, next(iter(lines.values()))


def _with_old(
    new: str,
    node: ast.FunctionDef | ast.ClassDef,
    old: str,
    old_node: ast.FunctionDef | ast.ClassDef,
) -> str:
    lines, others = new.splitlines(), old.splitlines()
    (a, b), (c, d) = _span(node), _span(old_node)
    return "\n".join(lines[:a] + others[c:d] + lines[b:]) + "\n"


def _span(node: ast.FunctionDef | ast.ClassDef) -> tuple[int, int]:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return first - 1, node.end_lineno or node.lineno
