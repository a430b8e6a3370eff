"""Checks that the parts of the settings share: one of several, and did you mean."""

import difflib
from collections.abc import Iterable
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin


def one_of(name: str, value: object, kinds: Iterable[str]) -> None:
    """Check that a setting is one of several.

    Raises:
        ValueError: if it is none of them.
    """
    known = tuple(kinds)
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {near(value, known)}")


def known_names(where: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that there is a setting of every name.

    Raises:
        ValueError: naming the first that there is none of, and the nearest that there is.
    """
    all_known = tuple(known)
    for name in names:
        if name not in all_known:
            raise ValueError(f"{where}: expected known settings, got {near(name, all_known)}")


def near(value: object, known: Iterable[str]) -> str:
    """Return the value in quotation marks, and what may have been meant.

    >>> near("learning_rat", ["warmup", "learning_rate"])
    "'learning_rat'; did you mean 'learning_rate'?"
    """
    close = difflib.get_close_matches(str(value), list(known), n=1)
    return f"{value!r}; did you mean {close[0]!r}?" if close else repr(value)


def check_type(name: str, value: object, annotation: Any) -> None:
    """Check what a file gives against the type that a setting has.

    Raises:
        ValueError: if it is of another type.

    >>> check_type("training.warmup", "many", int)
    Traceback (most recent call last):
    ValueError: training.warmup: expected int, got 'many'
    """
    if not _is(value, annotation):
        expected = getattr(annotation, "__name__", None) if not get_args(annotation) else None
        raise ValueError(f"{name}: expected {expected or _written(annotation)}, got {value!r}")


def _is(value: object, annotation: Any) -> bool:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return isinstance(value, str)  # whether it is one of them is asked elsewhere
    if origin in (Union, UnionType):
        return any(_is(value, each) for each in inner)
    if origin is tuple:
        kinds = inner[:1] * len(value) if isinstance(value, tuple) and inner[-1] is ... else inner
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_is, value, kinds))
    if annotation in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if annotation is float else origin or annotation)


def _written(annotation: Any) -> str:
    """Return a type as an error names it: "int or None", "a list of str"."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join("nothing" if each is type(None) else _written(each) for each in inner)
    if origin is tuple:
        return f"a list of {_written(inner[0])}"
    if origin is Literal:
        return "a word"
    return "a table" if origin is not None else str(annotation.__name__)
