"""`pytest --attention`: a test for each law, its report in the reader's language."""

import importlib
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

PLUGIN = "attention_book.pytest_plugin"
SOURCE = """
import torch

def sound(q, k, v, mask):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

def inverted(q, k, v, mask):
    return sound(q, k, v, None if mask is None else ~mask)
"""


@pytest.fixture
def run(pytester):
    pytester.makepyfile(of_somebody=SOURCE, test_other="def test_other():\n    pass\n")

    def call(*arguments):
        """In a process of its own: what torch imports on the way can't be imported twice."""
        return pytester.runpytest_subprocess(
            "-p", PLUGIN, "-p", "no:cacheprovider", "-rs", *arguments
        )

    return call


def test_a_sound_one_passes_and_nothing_else_is_collected(run):
    found = run("--attention", "of_somebody:sound empty_row=any compiles=no")
    counts = found.parseoutcomes()
    assert set(counts) == {"passed", "skipped"}
    assert counts["passed"] > 9
    found.stdout.fnmatch_lines(["*not promised*"])
    found.stdout.no_fnmatch_line("*test_other*")


def test_a_broken_one_fails_law_by_law_in_both_languages(run):
    name = "of_somebody:inverted empty_row=any compiles=no"
    found = run("--attention", name, "test_other.py")
    counts = found.parseoutcomes()
    assert counts["failed"] >= 2
    assert counts["passed"] > 5, "the other laws, and the other test"
    found.stdout.fnmatch_lines(["*of_somebody:inverted::mask*"])
    found.stdout.fnmatch_lines(["usual cause: mask-inverted: the mask is read the other way*"])
    found.stdout.no_fnmatch_line("*Traceback*")


def test_a_report_in_chinese_and_a_name_that_is_none(run):
    name = "of_somebody:inverted empty_row=any compiles=no"
    found = run("--attention", name, "--attention-lang", "zh")
    found.stdout.fnmatch_lines(["常见的原因：mask-inverted：掩码读反了*"])
    found = run("--attention", "of_somebody:nobody")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*there is no nobody in of_somebody*"])


def test_without_the_option_nothing_is_added(run):
    run().assert_outcomes(passed=1)


def test_the_entry_point_is_the_module():
    """Under its own name: then `-p` and the entry point are one plugin."""
    project = Path(__file__).parents[1] / "pyproject.toml"
    settings = tomllib.loads(project.read_text(encoding="utf8"))["project"]
    assert settings["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
    assert importlib.import_module(PLUGIN).pytest_addoption
