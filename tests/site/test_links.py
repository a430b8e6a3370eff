"""Every link leads somewhere: files, anchors, one id once, notebooks behind launch buttons."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from parsed import ids, tree

HOSTS_OF_LAUNCHES = ("colab.research.google.com", "mybinder.org")


def targets(path: Path) -> list[str]:
    root = tree(path)
    return [*root.xpath("//a/@href"), *root.xpath("//*/@src"), *root.xpath("//link/@href")]


def test_internal_links(site: Path, page_name: str) -> None:
    page = site / page_name
    broken = []
    for target in targets(page):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        other = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not other.is_file():
            broken.append(f"{target}: no such file")
        elif parts.fragment and other.suffix == ".html" and not ids(other)[unquote(parts.fragment)]:
            broken.append(f"{target}: no such anchor")
    assert not broken, "\n".join(broken)


def test_ids_are_unique(site: Path, page_name: str) -> None:
    repeated = [name for name, times in ids(site / page_name).items() if times > 1]
    assert not repeated, repeated


def test_references_inside_the_page(site: Path, page_name: str) -> None:
    page = site / page_name
    root = tree(page)
    for attribute in ("aria-labelledby", "aria-describedby", "aria-controls", "for"):
        for value in root.xpath(f"//*/@{attribute}"):
            for name in value.split():
                assert ids(page)[name], f"{attribute}={name}"


def test_launch_buttons_lead_to_notebooks(site: Path, page_name: str) -> None:
    for target in targets(site / page_name):
        if urlsplit(target).netloc in HOSTS_OF_LAUNCHES:
            path = unquote(target).rpartition("notebooks/")[2]
            assert path.endswith(".ipynb"), target
            assert (site / "_notebooks" / path).is_file(), target


def test_no_traceback_in_a_page(site: Path, page_name: str) -> None:
    """A failed cell would show one among its outputs; the reference may quote one."""
    outputs = tree(site / page_name).xpath("//*[contains(@class, 'cell_output')]")
    assert not [o for o in outputs if "Traceback (most recent call last)" in o.text_content()]


def test_pages_name_no_other_host(site: Path, page_name: str) -> None:
    """Nothing that a browser would fetch by itself comes from elsewhere."""
    root = tree(site / page_name)
    fetched = [
        *root.xpath("//*/@src"),
        *root.xpath("//link[@rel='stylesheet' or @rel='preload' or @rel='icon']/@href"),
    ]
    assert not [target for target in fetched if urlsplit(target).netloc]


@pytest.mark.parametrize(
    "planted", ['<a href="nowhere.html">', '<a href="#nowhere">', '<i id="main-content">']
)
def test_the_walk_finds_what_is_broken(site: Path, tmp_path: Path, planted: str) -> None:
    page = tmp_path / "masks.html"
    page.write_text(f'<html><body id="main-content">{planted}x</body></html>', "utf8")
    check = test_ids_are_unique if "id=" in planted else test_internal_links
    with pytest.raises(AssertionError):
        check(tmp_path, "masks.html")
