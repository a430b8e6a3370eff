"""Settings read from a file that may be older than some fields of their class."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any


def completed(kind: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings of a dataclass, with defaults for the fields added since.

    A field that is new since the settings were written has in them the meaning of its
    default: that is how the class behaved before.

    Args:
        kind: The dataclass.
        stored: Its fields as JSON returned them.

    Raises:
        ValueError: if they are no settings, a field is unknown, or one without a default is
            missing.

    >>> from attention_book.models import Seq2SeqConfig
    >>> stored = {"source_vocabulary": 10, "target_vocabulary": 12}
    >>> completed(Seq2SeqConfig, stored)["d_hidden"]
    32
    """
    if not isinstance(stored, Mapping):
        raise ValueError(f"{kind.__name__}: expected its settings, got {stored!r}")
    known = {each.name: each for each in fields(kind) if each.init}
    unknown = sorted(stored.keys() - known.keys())
    missing = sorted(name for name in known.keys() - stored.keys() if _required(known[name]))
    for problem, names in (("no setting", unknown), ("the setting", missing)):
        if names:
            got = "one" if problem == "no setting" else "none"
            raise ValueError(f"{kind.__name__}: expected {problem} {', '.join(names)}, got {got}")
    younger = {name: _default(known[name]) for name in known if name not in stored}
    plain: dict[str, Any] = json.loads(json.dumps(younger, default=dict))
    return {**stored, **plain}


def _required(each: "Field[Any]") -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _default(each: "Field[Any]") -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


__all__ = ["completed"]
