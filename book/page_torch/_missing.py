"""What this small torch lacks: one clear error, which says that the notebook has it.

The names of the real PyTorch tell it from a typing error, which is the `AttributeError` of every
module.
"""

from collections.abc import Callable
from typing import Any

#: Everything that was asked for and is lacking, since the page last emptied the list.
asked: list[str] = []
#: "zh" or "en": what the error says; None says both.
language: str | None = None


class MissingInPage(AttributeError):
    """A part of PyTorch that the page's torch does not have.

    Attributes:
        what: its name, as one would write it in code.
        zh: what the error says in Chinese.
        en: what it says in English.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.zh = f"网页里的 torch 是个小替身，没有 {what}；这一段请到笔记本里运行。"
        self.en = f"The small torch of this page has no {what}: run this in the notebook."
        super().__init__({"zh": self.zh, "en": self.en}.get(language or "", f"{self.en} {self.zh}"))


def missing(what: str) -> MissingInPage:
    """Return the error that says so, and note it."""
    asked.append(what)
    return MissingInPage(what)


def known(kind: str) -> frozenset[str]:
    """Return the names that the real PyTorch has in one of its namespaces."""
    from ._names import NAMES

    return NAMES[kind]


def lookup(kind: str, prefix: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``: it tells what only PyTorch has from what nobody has."""

    def __getattr__(name: str) -> Any:
        if not name.startswith("__") and name in known(kind):
            raise missing(f"{prefix}.{name}")
        raise AttributeError(f"module {prefix!r} has no attribute {name!r}")

    return __getattr__
