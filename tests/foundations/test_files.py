"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from attention_book.foundations.files import remove_parts, write_whole


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
