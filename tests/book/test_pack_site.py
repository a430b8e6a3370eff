"""The archive of the site: the same bytes for the same site, and nothing that no reader needs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pack_site import FOLDER, pack

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "pack_site.py"
FILES = {
    "index.html": "<a href='中文/页.html'>中文</a>",
    "中文/页.html": "<p>页</p>",
    "_static/book.css": "p {}",
    "_sources/页.md": "# 页",
}


def write_site(folder: Path, names: list[str]) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name], encoding="utf8")
    return folder


def test_two_packs_are_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the clock, the rights and the order in which the files were written."""
    first = write_site(tmp_path / "first", list(FILES))
    second = write_site(tmp_path / "second", list(reversed(FILES)))
    os.utime(second / "index.html", (1e9, 1e9))
    (second / "index.html").chmod(0o600)
    pack(first, tmp_path / "first.zip")
    pack(second, tmp_path / "second.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()
    (second / "index.html").write_text("other", encoding="utf8")
    pack(second, tmp_path / "second.zip")
    assert (tmp_path / "first.zip").read_bytes() != (tmp_path / "second.zip").read_bytes()


def test_unpacked_it_is_the_site(tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", list(FILES))
    for unneeded in (".buildinfo", "objects.inv", ".doctrees/page.doctree", "downloads/book.pdf"):
        (site / unneeded).parent.mkdir(exist_ok=True)
        (site / unneeded).write_text("not for readers", encoding="utf8")
    pack(site, tmp_path / "site.zip")
    with zipfile.ZipFile(tmp_path / "site.zip") as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / FOLDER
    found = {
        path.relative_to(unpacked).as_posix(): path.read_text(encoding="utf8")
        for path in unpacked.rglob("*")
        if path.is_file()
    }
    assert found == FILES
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("site", ["nowhere", "."])
def test_without_a_site_it_says_what_to_do(tmp_path: Path, site: str) -> None:
    command = [sys.executable, str(SCRIPT), "--site", str(tmp_path / site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make book" in done.stderr
