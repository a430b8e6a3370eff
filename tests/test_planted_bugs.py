"""The list of planted bugs fits the package, and the hunt tells what it finds.

Here no bug is planted in the package: `make bugs` does that.
"""

import ast
import functools
import sys
from pathlib import Path

import pytest
from offenders import no_offenders

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))  # in the processes that it starts, too

import plant_bugs  # noqa: E402

BUGS = plant_bugs.read_bugs(ROOT / plant_bugs.BUGS)


def planted(bug):
    return bug.planted(bug.path(ROOT).read_text(encoding="utf8"))


def test_a_bug_applies_and_changes_what_the_code_does():
    @functools.cache
    def parsed(path):
        return ast.dump(ast.parse(path.read_text(encoding="utf8")))

    def check(bug):
        path = bug.path(ROOT)
        assert path.is_file(), f"no file {bug.file}"
        try:
            changed = planted(bug)
        except ValueError as error:
            raise AssertionError(error) from None
        if bug.file.endswith(".py"):
            compile(changed, bug.file, "exec")
            assert ast.dump(ast.parse(changed)) != parsed(path), "it changes nothing"
        assert changed != path.read_text(encoding="utf8"), "it changes nothing"
        assert bug.what[0].isupper(), "`what` begins with a capital"
        assert bug.what.endswith("."), "`what` is a sentence"

    no_offenders(check, BUGS)


def test_a_bug_names_tests_that_exist():
    def check(bug):
        assert bug.tests, "it names no test"
        for test in bug.tests:
            file, _, name = test.partition("::")
            path = ROOT / "tests" / file
            assert path.is_file(), f"no file tests/{file}"
            assert not name or f"def {name}(" in path.read_text(encoding="utf8"), f"no {test}"
        assert (ROOT / "tests" / bug.folder).is_dir(), f"no folder tests/{bug.folder}"

    no_offenders(check, BUGS)


def test_the_bugs_are_many_and_different():
    assert len(BUGS) >= 40
    assert len({str(bug) for bug in BUGS}) == len(BUGS)
    assert len({(bug.file, planted(bug)) for bug in BUGS}) == len(BUGS)
    assert len({bug.what for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize(("source", "times"), [("c = b - a", 0), ("c = a - b\nd = a - b", 2)])
def test_a_text_that_does_not_stand_there_once_is_an_error(source, times):
    bug = plant_bugs.Bug("swapped", "x.py", "It is swapped.", (("a - b", "b - a"),), ())
    assert bug.planted("c = a - b") == "c = b - a"
    with pytest.raises(ValueError, match=f"x.py: swapped: .* found it {times} times: a - b"):
        bug.planted(source)


def test_an_unknown_key_is_named(tmp_path):
    (tmp_path / "a.toml").write_text('["x.py".swapped]\nwhat = "A."\nnow = "a"\n')
    with pytest.raises(ValueError, match=r"x.py: swapped: .* got now"):
        plant_bugs.read_bugs(tmp_path)


SOURCE = """
def difference(a, b):
    return a - b

def double(a):
    return 2 * a

def untested(a):
    return a + 1
"""
TESTS = {
    "test_numbers.py": "def test_difference(): assert numbers.difference(3, 2) == 1",
    "test_more.py": "def test_double(): assert numbers.double(3) == 6",
}
TOY_BUGS = """
["sums/numbers.py".swapped]
what = "The difference | has the wrong sign."
old = "a - b"
new = "b - a"

["sums/numbers.py".tripled]
what = "Doubling triples."
old = "2 * a"
new = "3 * a"

["sums/numbers.py".unseen]
what = "What no test looks at is wrong."
old = "a + 1"
new = "a + 2"

["sums/numbers.py".gone]
what = "A name that the tests import is missing."
old = "def double"
new = "def twice"
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A repository of one module, two files of tests and four bugs."""
    package, tests = tmp_path / plant_bugs.PACKAGE, tmp_path / "tests/sums"
    for folder in (package / "sums", tests, tmp_path / plant_bugs.BUGS):
        folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sums/__init__.py").touch()
    (package / "sums/numbers.py").write_text(SOURCE)
    for name, text in TESTS.items():
        (tests / name).write_text(
            "from attention_book.sums import numbers\n"
            "from attention_book.sums.numbers import double\n\n\n" + text + "\n"
        )
    (tmp_path / plant_bugs.BUGS / "sums.toml").write_text(TOY_BUGS)
    monkeypatch.setattr(plant_bugs, "ROOT", tmp_path)
    return tmp_path


def test_the_hunt_tells_caught_from_survived(toy, capsys):
    report = toy / "report.md"
    assert plant_bugs.main(["--write", str(report), "--jobs", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.out == report.read_text(encoding="utf8")
    assert "2 of 4 bugs are caught." in printed.out
    assert "| swapped | The difference \\| has the wrong sign. |" in printed.out
    assert "| `sums/test_numbers.py::test_difference` |" in printed.out
    assert "| **sums/test_more.py::test_double (not named for it)** |" in printed.out
    assert "| **SURVIVED** |" in printed.out
    assert "**the tests do not run: " in printed.out
    assert "[4/4]" in printed.err
    assert (toy / plant_bugs.PACKAGE / "sums/numbers.py").read_text() == SOURCE


def test_caught_bugs_are_success(toy, capsys):
    assert plant_bugs.main(["swapped"]) == 0
    assert "1 of 1 bugs are caught." in capsys.readouterr().out


def test_tests_that_fail_without_a_bug_prove_nothing(toy):
    (toy / "tests/sums/test_numbers.py").write_text("def test_broken(): assert False\n")
    with pytest.raises(SystemExit, match=r"Without any bug: sums/test_numbers.py::test_broken"):
        plant_bugs.main(["swapped"])


def test_a_list_that_no_longer_fits_stops_the_hunt(toy):
    (toy / plant_bugs.PACKAGE / "sums/numbers.py").write_text(SOURCE.replace("a - b", "-b + a"))
    with pytest.raises(ValueError, match=r"sums/numbers.py: swapped: expected this text once"):
        plant_bugs.main(["tripled"])


def test_a_word_that_no_bug_has_is_an_error(toy):
    with pytest.raises(SystemExit, match="no bug has nonsense in its file or name"):
        plant_bugs.main(["nonsense"])
