"""Settings on file: younger fields have their defaults, and nothing else is guessed."""

from dataclasses import dataclass, field

import pytest

from attention_book.foundations.stored_settings import completed


@dataclass(frozen=True)
class Settings:
    size: int
    names: tuple[str, ...] = ("a",)
    more: dict[str, int] = field(default_factory=dict)
    made: int = field(default=7, init=False)


def test_what_is_missing_has_its_default_as_json_returns_it() -> None:
    assert completed(Settings, {"size": 3}) == {"size": 3, "names": ["a"], "more": {}}
    assert completed(Settings, {"size": 3, "names": []})["names"] == []


def test_what_cannot_be_known_is_named() -> None:
    with pytest.raises(ValueError, match="Settings: expected no setting color, made, got one"):
        completed(Settings, {"size": 3, "color": 1, "made": 2})
    with pytest.raises(ValueError, match="Settings: expected the setting size, got none"):
        completed(Settings, {})
