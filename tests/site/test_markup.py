"""Pages are HTML, and their formulas MathML, as the standards have them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from parsed import tree
from website.katex.mathml import MATH, faults


def validated(root: Path, pages: list[Path]) -> list[list[str]]:
    """What is wrong with pages: page, line, rule, message."""
    if shutil.which("node") is None or not (root / "audit/node_modules/html-validate").is_dir():
        pytest.skip("html-validate is not installed: npm ci --prefix audit")
    command = ["node", str(root / "audit" / "validate.mjs"), *map(str, pages)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: list[list[str]] = json.loads(answer.stdout)
    return found


def test_pages_are_valid(root: Path, site: Path) -> None:
    assert (
        validated(root, sorted(site.glob("*.html")) + sorted((site / "api").glob("*.html"))) == []
    )


def test_the_validator_finds_what_is_wrong(root: Path, site: Path, tmp_path: Path) -> None:
    page = tmp_path / "masks.html"
    text = (site / "masks.html").read_text(encoding="utf8")
    page.write_text(text.replace("</article>", "<span><div>x</div></span></article>"), "utf8")
    assert [rule for _, _, rule, _ in validated(root, [page])] == ["element-permitted-content"]


def test_formulas_are_sound_mathml(site: Path) -> None:
    found = {}
    for path in site.rglob("*.html"):
        for math in set(MATH.findall(path.read_text(encoding="utf8"))):
            if wrong := faults(math):
                found[math] = (path.name, wrong)
    assert not found


def test_no_list_within_a_term(site: Path, page_name: str) -> None:
    page = tree(site / page_name)
    assert not page.xpath("//dt//dl | //dt//dd | //dl[@role='presentation']")


def test_no_link_to_a_file_of_nobody(site: Path, page_name: str) -> None:
    assert not tree(site / page_name).xpath("//a[starts-with(@href, 'file:')]")
