"""The environment, files, stored settings, and seeds."""

import os
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.foundations.environment import from_extra
from attention_book.foundations.files import remove_parts, write_whole
from attention_book.foundations.seed import own_random_numbers
from attention_book.foundations.stored_settings import completed

# --- the environment ---------------------------------------------------------------------------


def test_a_missing_library_names_the_extra() -> None:
    message = r'nowhere: expected it installed, got none; pip install "attention-book\[plot\] @ git'
    with pytest.raises(ImportError, match=message) as caught, from_extra("plot", "nowhere"):
        import nowhere_to_be_found  # noqa: F401
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), from_extra("plot", "matplotlib"):
        raise KeyError("something else")


# --- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_writing_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(*{"fsync": (os, "fsync", fail), "replace": (Path, "replace", fail)}[where])
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_only_parts_are_removed(tmp_path: Path) -> None:
    names = (".a.1.part", "a.part", ".a.1.parts", "a")
    for name in names:
        (tmp_path / name).write_text("")
    remove_parts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])


# --- stored settings ---------------------------------------------------------------------------


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


# --- seeds -------------------------------------------------------------------------------------


def draw() -> list[float]:
    """One number from each library."""
    return [random.random(), np.random.random(), torch.rand(1).item()]


@given(seed=st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_numbers_in_every_library(seed: int) -> None:
    set_seed(seed)
    first = draw()
    set_seed(seed)
    assert draw() == first


def test_another_seed_gives_other_numbers_in_every_library() -> None:
    set_seed(0)
    first = draw()
    set_seed(1)
    assert all(a != b for a, b in zip(first, draw(), strict=True))


def test_the_order_of_the_draws_is_part_of_the_seed() -> None:
    set_seed(42)
    first = torch.rand(2)
    set_seed(42)
    torch.rand(1)
    assert not torch.equal(torch.rand(2), first)


def test_the_default_seed_is_42() -> None:
    set_seed()
    assert torch.rand(2).tolist() == pytest.approx([0.8823, 0.9150], abs=5e-5)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_numpy_would_refuse_is_named(seed: int) -> None:
    with pytest.raises(ValueError, match=f"seed={seed} is outside"):
        set_seed(seed)


def test_without_numpy_the_others_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    set_seed(3)
    python, _, tensor = draw()
    monkeypatch.setitem(sys.modules, "numpy", None)  # as where it is not installed
    set_seed(3)
    assert [random.random(), torch.rand(1).item()] == [python, tensor]
    with own_random_numbers(5):
        inside = torch.rand(1)
    with own_random_numbers(5):
        assert torch.equal(torch.rand(1), inside)


def test_a_block_with_numbers_of_its_own_leaves_every_library_where_it_was() -> None:
    set_seed(3)
    expected = draw()
    set_seed(3)
    with own_random_numbers(5):
        draw()
    assert draw() == expected
