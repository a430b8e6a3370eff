"""What this small torch lacks: one clear error, which says that the notebook has it.

The names of the real PyTorch tell it from a typing error, which is the `AttributeError` of every
module.
"""

import sys
from collections.abc import Callable
from typing import Any

#: Everything that was asked for and is lacking, since the page last emptied the list.
asked: list[str] = []
#: "zh" or "en": what the error says; None says both.
language: str | None = None


def _texts(what: str) -> dict[str, str]:
    return {
        "zh": f"网页里的 torch 是个小替身，没有 {what}；这一段请到笔记本里运行。",
        "en": f"The small torch of this page has no {what}: run this in the notebook.",
    }


class MissingInPage(AttributeError):
    """A part of PyTorch that the page's torch does not have.

    Attributes:
        what: its name, as one would write it in code.
        zh: what the error says in Chinese.
        en: what it says in English.
    """

    def __init__(self, what: str) -> None:
        self.what, texts = what, _texts(what)
        self.zh, self.en = texts["zh"], texts["en"]
        super().__init__(texts.get(language or "", f"{self.en} {self.zh}"))


class ModuleMissingInPage(ModuleNotFoundError):
    """A module of PyTorch that the page's torch does not have; else as `MissingInPage`."""

    def __init__(self, what: str) -> None:
        self.what, texts = what, _texts(what)
        self.zh, self.en = texts["zh"], texts["en"]
        super().__init__(texts.get(language or "", f"{self.en} {self.zh}"), name=what)


class _Modules:
    """Stands last among Python's finders: an import that only PyTorch could serve comes here."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        package = __name__.rpartition(".")[0]
        if name.startswith(f"{package}."):
            within = name.removeprefix(f"{package}.")
            space, _, module = within.rpartition(".")
            if module in known(space or "torch"):
                asked.append(f"torch.{within}")
                raise ModuleMissingInPage(f"torch.{within}")


sys.meta_path.append(_Modules())


def missing(what: str) -> MissingInPage:
    """Return the error that says so, and note it."""
    asked.append(what)
    return MissingInPage(what)


def known(kind: str) -> frozenset[str]:
    """Return the names that the real PyTorch has in one of its namespaces."""
    from ._names import NAMES

    return NAMES.get(kind, frozenset())


def lookup(kind: str, prefix: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``: it tells what only PyTorch has from what nobody has."""

    def __getattr__(name: str) -> Any:
        if not name.startswith("__") and name in known(kind):
            raise missing(f"{prefix}.{name}")
        raise AttributeError(f"module {prefix!r} has no attribute {name!r}")

    return __getattr__
