"""What click itself says, in Chinese: headings of the help, and errors on the command line.

Click asks ``gettext`` for each of its texts, under the name ``_`` of each of its modules. While
:func:`speaking` lasts, it asks here. A text that is not in the table stays as click wrote it.
"""

import gettext
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType

import click

from attention_book.foundations.bilingual import Language, chosen_language, set_language

#: Each text of click that a user of this command can meet, to the same in Chinese.
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "Usage:": "用法：",
        "Options": "选项",
        "Commands": "命令",
        "Positional arguments": "参数",
        "env var: {var}": "环境变量：{var}",
        "default: {default}": "默认：{default}",
        "required": "必填",
        "(dynamic)": "（视情况而定）",
        "Aborted!": "已中止。",
        "Error: {message}": "错误：{message}",
        "Try '{command} {option}' for help.": "用法见 {command} {option}",
        "Missing command.": "缺少命令。",
        "Missing argument": "缺少参数",
        "Missing option": "缺少选项",
        "Missing parameter": "缺少参数",
        "Missing {param_type}": "缺少 {param_type}",
        "Missing parameter: {param_name}": "缺少参数：{param_name}",
        "No such option {name!r}.": "没有 {name!r} 这个选项。",
        "No such option: {name}": "没有 {name} 这个选项",
        "No such command {name!r}.": "没有 {name!r} 这个命令。",
        "Did you mean {possibility}?": "是不是想写 {possibility}？",
        "(Did you mean one of: {possibilities}?)": "是不是想写其中一个：{possibilities}？",
        "(Possible options: {possibilities})": "是不是想写其中一个：{possibilities}？",
        "Invalid value: {message}": "这个值不能用：{message}",
        "Invalid value for {param_hint}: {message}": "{param_hint} 的值不能用：{message}",
        "Got unexpected extra argument ({args})": "多了一个参数：{args}",
        "Got unexpected extra arguments ({args})": "多了几个参数：{args}",
        "Takes {nargs} values but 1 was given.": "需要 {nargs} 个值，只给了 1 个。",
        "Takes {nargs} values but {len} were given.": "需要 {nargs} 个值，给了 {len} 个。",
        "Argument {name!r} takes {nargs} values.": "参数 {name!r} 需要 {nargs} 个值。",
        "Option {name!r} does not take a value.": "选项 {name!r} 后面不带值。",
        "Option {name!r} requires an argument.": "选项 {name!r} 后面缺一个值。",
        "Option {name!r} requires {nargs} arguments.": "选项 {name!r} 后面要有 {nargs} 个值。",
        "Choose from:\n\t{choices}": "可选：\n\t{choices}",
        "{value!r} is not {choice}.": "只能是 {choice}，不能是 {value!r}。",
        "{value!r} is not one of {choices}.": "只能是 {choices} 之一，不能是 {value!r}。",
        "{value!r} is not a valid {number_type}.": "{value!r} 不是{number_type}。",
        "{value} is not in the range {range}.": "{value} 超出了范围 {range}。",
        "{value!r} is not a valid boolean. Recognized values: {states}": (
            "{value!r} 不是“是”或“否”。可以写：{states}"
        ),
        "Could not open file {filename!r}: {message}": "打不开文件 {filename!r}：{message}",
        "unknown error": "原因不明",
        "{len_type} values are required, but {len_value} was given.": (
            "需要 {len_type} 个值，给了 {len_value} 个。"
        ),
        "{len_type} values are required, but {len_value} were given.": (
            "需要 {len_type} 个值，给了 {len_value} 个。"
        ),
    }
)


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Speak one language in this block: click, and what is written in two languages."""
    before = chosen_language()
    set_language(language)
    replaced = list(_asked_of_gettext()) if language == "zh" else []
    try:
        for module, name, word in replaced:
            setattr(module, name, word)
        yield
    finally:
        for module, name, _ in replaced:
            setattr(module, name, _GETTEXT[name])
        set_language(before)


def _asked_of_gettext() -> Iterator[tuple[object, str, object]]:
    """Yield each of click's modules, the name by which it asks gettext, and who answers instead."""
    for module in _modules():
        for name, word in (("_", _word), ("ngettext", _words)):
            if vars(module).get(name) is _GETTEXT[name]:
                yield module, name, word


def _modules() -> list[object]:
    """Return click's modules that have been imported."""
    for module in ("core", "exceptions", "formatting", "parser", "types"):
        import_module(f"click.{module}")
    names = (f"click.{each.name}" for each in pkgutil.iter_modules(click.__path__))
    return [sys.modules[name] for name in names if name in sys.modules]


_GETTEXT = {"_": gettext.gettext, "ngettext": gettext.ngettext}


def _word(text: str) -> str:
    return WORDS.get(text) or gettext.gettext(text)


def _words(one: str, several: str, number: int) -> str:
    return _word(one if number == 1 else several)


__all__ = ["WORDS", "speaking"]
