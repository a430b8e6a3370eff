"""A step of the reader's own file: the box says what the checker asks for, and shows its code."""

import difflib
import tomllib
from pathlib import Path

import pytest
from lesson import own_file
from lxml import html
from tiny_project import Project

ROOT = Path(__file__).resolve().parents[2]
STEPS = tomllib.loads(own_file.SOURCES[1].read_text(encoding="utf8"))["step"]
PAGES = {
    "index": "# Title\n\n```{toctree}\nown-file\nmasks\ninference\n```\n",
    "own-file": "# File\n\n```{own-file}\n:whole:\n```\n",
    "masks": "# Masks\n\n```{own-file} 3\n```\n\n{ref}`step 3 <own-file-3>`\n",
    "inference": "# Inference\n\n```{own-file} 16\n```\n",
}


def box_of(page: str, number: int) -> html.HtmlElement:
    return html.fromstring(page).get_element_by_id(f"own-file-{number}")


def texts(box: html.HtmlElement, language: str) -> list[str]:
    return [each.text_content() for each in box.find_class(f"bl-{language}")]


def test_a_box_has_the_task_the_command_and_the_code_in_a_fold(project: Project) -> None:
    project.write(**PAGES)
    log = project.build(fails=True)  # fourteen steps stand nowhere
    assert log.count("stands nowhere") == len(STEPS) - 2
    assert log.count("WARNING") == len(STEPS) - 2, log
    box = box_of(project.page("masks"), 3)
    zh, en = " ".join(texts(box, "zh")), " ".join(texts(box, "en"))
    assert "整行看不见，就整行是 0" in zh
    assert "a row that sees nothing is all 0" in en
    assert "attention-book course check --step 3" in zh
    assert "attention-book course check --step 3" in en
    (fold,) = box.find_class("own-file-code")
    code = [pre.text_content() for pre in fold.iter("pre")]
    assert code[0].rstrip() == own_file.SOURCE.changes(3, "zh").rstrip()
    assert code[1].rstrip() == own_file.SOURCE.changes(3, "en").rstrip()
    assert 'href="#own-file-3"' in project.page("masks")
    whole = list(html.fromstring(project.page("own-file")).iter("pre"))
    assert whole[1].text_content().rstrip() == own_file.SOURCE.file_at(16, "en").rstrip()


@pytest.mark.parametrize("step", range(1, own_file.SOURCE.LAST + 1))
def test_what_a_box_shows_leads_from_each_step_to_the_next(step: int) -> None:
    """The kind: a fold from which the file cannot be written."""
    old, new = (own_file.SOURCE.file_at(each).splitlines() for each in (step - 1, step))
    compared = [each for each in difflib.ndiff(old, new) if each[0] in "+-"]
    only_adds = all(each[0] == "+" for each in compared)
    shown = own_file.shown(step, "en", only_adds).splitlines()
    if only_adds:
        assert [each for each in shown if each] == [each[2:] for each in compared if each[2:]]
    else:
        assert {each for each in shown if each.startswith("-")} == {
            f"-{each[2:]}" for each in compared if each[0] == "-"
        }


@pytest.mark.parametrize(
    ("argument", "problem"),
    [("17", "expected a step from 1 to 16"), ("", "got ''"), ("4", "step 4 belongs to scoring")],
)
def test_a_step_that_is_none_or_stands_elsewhere_is_told(
    project: Project, argument: str, problem: str
) -> None:
    project.write(index=f"# Title\n\n```{{own-file}} {argument}\n```\n")
    assert problem in project.build(fails=True)


def test_every_step_stands_in_its_chapter_once() -> None:
    for number, row in enumerate(STEPS, start=1):
        text = (ROOT / f"book/{row['chapter']}.md").read_text(encoding="utf8")
        assert text.count(f"```{{own-file}} {number}\n") == 1
