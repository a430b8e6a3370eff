"""Subjects by name: ``my_package.model:Attention mask=blocked causal``."""

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_type_hints

import torch
from torch import Tensor, nn

from attention_book.conformance.adapters import adapted
from attention_book.conformance.cross import Cross
from attention_book.conformance.kernel import Kernel
from attention_book.conformance.report import words_of
from attention_book.conformance.sequence import Sequence
from attention_book.foundations.bilingual import Bilingual, chosen_language

#: Where a layer's padding mask gets its axes, by the name of these axes.
_AXES: dict[str, Callable[[Tensor], Tensor]] = {
    "bk": lambda mask: mask,
    "bqk": lambda mask: mask[:, None],
    "bhqk": lambda mask: mask[:, None, None],
}


class AddressError(ValueError):
    """What can't be examined under a name, and why, in both languages.

    >>> AddressError("没有这个名字。", "there is no such name").text.en
    'there is no such name'
    """

    def __init__(self, zh: str, en: str) -> None:
        self.text = Bilingual(zh, en)
        super().__init__(self.text.text(chosen_language() or "en"))


def subjects_at(name: str) -> list[Kernel | Sequence | Cross]:
    """Return what a name stands for, ready to be examined.

    The name is a module and what is in it, ``package.module:thing`` or ``file.py:thing``, and after
    it conventions in a few words: fields of :class:`Kernel`, :class:`Sequence` or :class:`Cross`,
    such as ``mask=blocked``, ``causal``, ``width=16``. The thing is one of

    - a `Kernel`, a `Sequence`, a `Cross`, or a list of them;
    - a function (q, k, v), or (q, k, v, mask): attention itself;
    - a function (x) or (x, mask), with ``width=`` or ``vocabulary=``: a layer or a model; with the
      word ``cross``, (x, memory) or (x, memory, mask);
    - a module of ``torch.nn``, transformers or x-transformers, or one whose ``forward`` is called
      like one of the functions above;
    - a class or a function that makes one of these without arguments.

    Raises:
        AddressError: if there is no such thing, or it is none of these.

    >>> [found] = subjects_at("torch.nn.functional:scaled_dot_product_attention empty_row=any")
    >>> found.name, found.empty_row
    ('torch.nn.functional:scaled_dot_product_attention', 'any')
    """
    address, *words = name.split() or [""]
    thing = _imported(address)
    asked = {key: value for key, _, value in (word.partition("=") for word in words)}
    return list(_subjects(thing, address, asked))


def _imported(address: str) -> Any:
    where, colon, inside = address.partition(":")
    if not colon or not where or not inside:
        raise AddressError(
            f"{address}：要写成 模块:名字，如 my_package.model:Attention。",
            f"{address}: expected module:name, such as my_package.model:Attention",
        )
    try:
        with _working_folder():
            found = _module(where)
    except Exception as error:  # whatever a module does while it is imported
        why = f"{type(error).__name__}: {error}"
        raise AddressError(
            f"{address}：导入不了 {where}（{why}）。", f"{address}: can't import {where}: {why}"
        ) from error
    for part in inside.split("."):
        if not hasattr(found, part):
            raise AddressError(
                f"{address}：{where} 里没有 {inside}。",
                f"{address}: there is no {inside} in {where}",
            )
        found = getattr(found, part)
    return found


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    spec = importlib.util.spec_from_file_location(Path(where).stem, where)
    if spec is None or spec.loader is None or not Path(where).is_file():
        raise ImportError(f"no file {where}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _working_folder() -> Iterator[None]:
    """Let modules of the working folder be imported, as ``python -m`` does."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _subjects(thing: Any, name: str, asked: dict[str, str]) -> Iterator[Kernel | Sequence | Cross]:
    if isinstance(thing, Kernel | Sequence | Cross):
        if asked:
            kind = type(thing).__name__
            raise AddressError(
                f"{name} 是 {kind}，约定都在里面；后面不要再写 {' '.join(asked)}。",
                f"{name}: it is a {kind}, and brings its conventions; expected no others, got "
                f"{' '.join(asked)}",
            )
        yield thing
    elif isinstance(thing, list | tuple):
        for each in thing:
            yield from _subjects(each, name, asked)
    elif isinstance(thing, nn.Module):
        yield _of_module(thing, name, asked)
    elif not callable(thing):
        raise AddressError(
            f"{name}：要一个函数、模块，或 Kernel、Sequence、Cross，得到的是 "
            f"{type(thing).__name__}。",
            f"{name}: expected a function, a module, or a Kernel, Sequence or Cross, got "
            f"{type(thing).__name__}",
        )
    elif not (needed := _needed(thing, name)):
        try:
            made = thing()
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise AddressError(
                f"{name}：做不出来（{why}）。", f"{name}: calling it failed: {why}"
            ) from error
        yield from _subjects(made, name, asked)
    elif isinstance(thing, type):
        raise AddressError(
            f"{name} 要参数（{'、'.join(needed)}）；写一个不要参数的函数，返回做好的模块，"
            "再给出这个函数的名字。",
            f"{name}: it takes arguments ({', '.join(needed)}); write a function without any that "
            "returns the module, and give its name",
        )
    else:
        yield _of_call(thing, len(needed), None, name, asked)


def _needed(thing: Callable[..., Any], name: str) -> list[str]:
    """Return the names of what a call must be given, and of a mask if it may have one."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        text = getattr(thing, "__doc__", "") or ""  # built-in functions say it there alone
        return ["query", "key", "value"] if "query, key, value" in text else ["?"]
    needed = [each.name for each in parameters if each.default is each.empty]
    kinds = {each.name: each.kind for each in parameters}
    named = [each for each in needed if kinds[each] in (0, 1)]
    return named


def _of_module(module: nn.Module, name: str, asked: dict[str, str]) -> Kernel | Sequence | Cross:
    try:
        ready = adapted(module)
    except TypeError:  # another part of one of these libraries
        ready = None
    of_torch = isinstance(module, nn.MultiheadAttention)
    if ready is not None and ("cross" not in asked or of_torch):
        how = {} if asked.pop("cross", None) is None else {"cross": True}
        ready = adapted(module, **how)
        told = _conventions(type(ready), asked, name)
        made = adapted(module, **({"name": name} | how | told))
        assert made is not None
        return made
    return _of_call(module, len(_needed(module.forward, name)), module, name, asked)


def _of_call(
    call: Callable[..., Any],
    needed: int,
    module: nn.Module | None,
    name: str,
    asked: dict[str, str],
) -> Kernel | Sequence | Cross:
    """Make a subject of what is called with so many arguments."""
    cross = asked.pop("cross", None) is not None
    learned = module is not None and next(module.parameters(), None) is not None
    if needed >= 3 and not learned and not cross:
        told = _conventions(Kernel, asked, name)
        if needed == 3 and "mask" not in told and not _takes_a_mask(call):
            told["mask"] = "none"
        return Kernel(call, **({"name": name} | told))
    kind: type[Sequence] | type[Cross] = Cross if cross else Sequence
    if not {"width", "vocabulary"} & set(asked):
        raise AddressError(
            f"{name}：还要知道输入是什么：特征写 width=特征数，词元编号写 vocabulary=词表大小。",
            f"{name}: expected what its inputs are, width=FEATURES or vocabulary=IDS, got neither",
        )
    axes = _AXES.get(asked.pop("mask_axes", "bk"), _AXES["bk"])
    told = _conventions(kind, asked, name)
    if not _takes_a_mask(call if module is None else module.forward):
        told.setdefault("mask", "none")
    own = {"name": name, "module": module} | told
    if own.get("module") is None:
        own.pop("module")
    with_mask = own.get("mask") != "none"

    def masked(mask: Tensor | None) -> tuple[Tensor | None, ...]:
        return ((None if mask is None else axes(mask)),) if with_mask else ()

    if cross:
        each = 2 if needed >= 3 and learned else 1
        return Cross(lambda x, y, m: call(x, *[y] * each, *masked(m)), **own)
    each = 3 if needed >= 3 else 1
    return Sequence(lambda x, m: call(*[x] * each, *masked(m)), **own)


def _takes_a_mask(call: Callable[..., Any]) -> bool:
    try:
        names = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return True
    return any("mask" in each or each in ("real", "padding", "m", "see") for each in names)


def _conventions(kind: type, asked: dict[str, str], name: str) -> dict[str, Any]:
    """Return the fields of a subject that words stand for."""
    hints, told = get_type_hints(kind), {}
    for word, text in asked.items():
        if word not in hints or word == "call":
            names = [each for each in hints if each not in ("call", "name")]
            known = ", ".join(get_close_matches(word, names, n=3) or names)
            raise AddressError(
                f"{name}：没有叫 {word} 的约定；{kind.__name__} 有：{known}。",
                f"{name}: expected a convention of a {kind.__name__} ({known}), got {word}",
            )
        try:
            told[word] = _value(text, hints[word])
        except ValueError as error:
            raise AddressError(
                f"{name}：{word} 应为 {_kinds(hints[word], ' 或 ')}，得到 {text!r}。",
                f"{name}: {word}: expected {_kinds(hints[word], ' or ')}, got {text!r}",
            ) from error
    return told


def _kinds(hint: Any, word_between: str) -> str:
    """Say what may be written for a field."""
    numbers = {int: "int", float: "float", torch.dtype: "dtype"}
    found = [*words_of(hint), *(numbers[each] for each in _types(hint) if each in numbers)]
    return word_between.join(found + (["yes", "no"] if bool in _types(hint) else []))


def _types(hint: Any) -> tuple[Any, ...]:
    parts = get_args(hint)
    return tuple(each for part in parts for each in _types(part)) if parts else (hint,)


def _value(text: str, hint: Any) -> Any:
    """Return what a word says, by the type of its field."""
    types, words = _types(hint), words_of(hint)
    if str(hint).startswith("tuple"):
        parts = [] if text == "none" else text.split(",")
        return tuple(_one(part, types, words) for part in parts)
    return _one(text, types, words)


def _one(text: str, types: tuple[Any, ...], words: tuple[str, ...]) -> Any:
    if text in words:
        return text
    if text == "none" and type(None) in types:
        return None
    if bool in types and text in ("", "yes", "no"):
        return text != "no"
    if torch.dtype in types and isinstance(found := getattr(torch, text, None), torch.dtype):
        return found
    for kind in (int, float):
        if kind in types:
            return kind(text)
    if str in types and text:
        return text
    raise ValueError(text)


__all__ = ["AddressError", "subjects_at"]
