"""Whatever a model or a training is built from says its whole numbers as whole numbers."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from types import ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import attention_book
from attention_book.attention import positions

# What the fields without a default are, one by one.
GIVEN: dict[str, Any] = {
    "source_vocabulary": 9,
    "target_vocabulary": 9,
    "vocabulary": 9,
    "name": "a",
    "trained_length": 8,
    "length": 16,
    "factor": 2.0,
    "epochs": 1,
}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(attention_book.__path__, "attention_book."):
        if found.name.startswith(("attention_book.models", "attention_book.runs.settings")):
            yield importlib.import_module(found.name)
    yield importlib.import_module("attention_book.course.recipes.recipe")
    yield positions


def configs() -> list[type]:
    """Every dataclass of settings that there is: one that is added is among them."""
    kinds = {
        kind
        for module in modules()
        for name, kind in vars(module).items()
        if is_dataclass(kind) and name.endswith(("Config", "Settings", "Recipe", "SpecialIds"))
        if name not in ("StoredConfig", "DataSettings")
    }
    return sorted(kinds, key=lambda kind: kind.__qualname__)


def whole_numbers(kind: type) -> list[str]:
    def is_whole(annotation: Any) -> bool:
        inner = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
        return annotation is int or set(inner) == {int, NoneType}

    return [name for name, hint in get_type_hints(kind).items() if is_whole(hint)]


def test_there_are_configs_of_every_kind() -> None:
    names = {kind.__name__ for kind in configs()}
    assert names >= {
        "LanguageConfig", "ForecasterConfig", "LayerConfig", "Recipe",
        "Seq2SeqConfig", "TextSettings", "TrainingSettings", "TransformerConfig",
        "VisionTransformerConfig",
    }  # fmt: skip


@pytest.mark.parametrize("kind", configs(), ids=lambda kind: kind.__name__)
def test_no_config_takes_a_part_of_a_number(kind: type) -> None:
    """The kind: every whole number of every config, given as 10.5, as 10.0, as True or as text."""
    needed = {each.name for each in fields(kind) if each.default is each.default_factory is MISSING}
    given = {name: GIVEN[name] for name in needed}
    for name in whole_numbers(kind):
        for wrong in (10.5, 10.0, True, "10"):
            with pytest.raises((ValueError, TypeError), match=name):
                kind(**{**given, name: wrong})
