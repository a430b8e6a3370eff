"""The values of a ``config.json``, each checked as it is read."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from attention_book.models.pretrained.model_folder import PretrainedError

T = TypeVar("T")
_MISSING = object()


class StoredConfig:
    """A ``config.json``, old or new; a value is asked for by its name and its kind.

    Args:
        values: What the file holds.
        place: What errors call it.

    >>> config = StoredConfig({"hidden_size": 64, "rope_scaling": None}, place="config.json")
    >>> config.whole("hidden_size"), config.whole("head_dim", 16), config.part("rope_scaling")
    (64, 16, None)
    >>> try:
    ...     config.whole("num_hidden_layers")
    ... except PretrainedError as error:
    ...     print(error)
    config.json: num_hidden_layers: expected a whole number from 1 to 2147483648, got none
    """

    def __init__(self, values: Mapping[str, Any], *, place: str) -> None:
        """Keep the values."""
        self.values, self.place = values, place

    def refuse(
        self, name: str, expected: str, got: object = _MISSING, *, cure: str = ""
    ) -> PretrainedError:
        """Return an error to raise."""
        said = "none" if got is _MISSING or got is None else repr(got)[:80]
        more = f"; {cure}" if cure else ""
        return PretrainedError(f"{self.place}: {name}: expected {expected}, got {said}{more}")

    def whole(
        self, name: str, default: int | None = None, *, least: int = 1, most: int = 2**31
    ) -> int:
        """Return a whole number; the default where it is missing or null."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.refuse(name, f"a whole number from {least} to {most}", value)
        return value

    def maybe_whole(self, name: str, default: int | None = None) -> int | None:
        """Return a whole number of 1 or more, or None where it is null, or missing without one."""
        if self.values.get(name, default) is None:
            return None
        return self.whole(name, default)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number above 0."""
        value = self._value(name, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and 0 < value < math.inf):
            raise self.refuse(name, "a number above 0", value)
        return float(value)

    def maybe_number(self, name: str) -> float | None:
        """Return a number above 0, or None where it is null or missing."""
        return None if self.values.get(name) is None else self.number(name)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers above 0."""
        value = self.values.get(name)
        good = isinstance(value, list) and all(
            isinstance(each, int | float) and not isinstance(each, bool) and 0 < each < math.inf
            for each in value
        )
        if not isinstance(value, list) or not good:
            raise self.refuse(name, "a list of numbers above 0", value)
        return tuple(float(each) for each in value)

    def flag(self, name: str, default: bool) -> bool:
        """Return a truth value."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false", value)
        return value

    def part(self, name: str) -> "StoredConfig | None":
        """Return an object within, or None where it is null, empty or missing."""
        value = self.values.get(name)
        if value is None or value == {}:
            return None
        if not isinstance(value, dict):
            raise self.refuse(name, "an object", value)
        return StoredConfig(value, place=f"{self.place}: {name}")

    def one_of(self, name: str, allowed: Mapping[str, T], default: str | None = None) -> T:
        """Return what an allowed text stands for."""
        value = self._value(name, default)
        if not isinstance(value, str) or value not in allowed:
            raise self.refuse(name, f"one of {', '.join(allowed)}", value)
        return allowed[value]

    def must_be(self, name: str, *allowed: object) -> None:
        """Refuse any other value than these, or none at all."""
        value = self.values.get(name)
        if value is not None and value not in allowed:
            raise self.refuse(name, " or ".join(map(repr, allowed or (None,))), value)

    def ids(self, name: str) -> tuple[int, ...]:
        """Return the numbers of tokens: one, several, or none."""
        value = self.values.get(name)
        found = [] if value is None else value if isinstance(value, list) else [value]
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in found):
            raise self.refuse(name, "numbers of tokens", value)
        return tuple(each for each in found if each >= 0)

    def _value(self, name: str, default: object) -> Any:
        value = self.values.get(name)
        return default if value is None else value
