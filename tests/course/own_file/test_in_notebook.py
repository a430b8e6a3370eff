"""``%%own_file``: a cell comes into the file, and nothing of the reader's is lost."""

import ast
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from attention_book.course.own_file import STEPS, changes, file_at, in_notebook, reached
from attention_book.course.own_file.loading import Unreadable
from attention_book.course.own_file.source import LAST

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "book" / "_ext"))
from bilingual.marks import pick  # noqa: E402
from website.notebooks import OWN_MAGIC, OWN_STUB  # noqa: E402

FILE, BEFORE = Path("my_attention.py"), Path(in_notebook.BEFORE)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTENTION_BOOK_LANGUAGE", "en")


def stub(language: str) -> str:
    return getattr(in_notebook.STUB, language)


def new_definitions(step: int) -> str:
    """What a reader writes at a step: whole definitions, with those that change."""
    old = _parts(file_at(step - 1))
    return "\n\n\n".join(part for part in _parts(file_at(step)) if part not in old)


def _parts(text: str) -> list[str]:
    return [ast.unparse(node) for node in ast.parse(text).body] if text else []


def test_the_file_grows_through_all_steps_by_cells() -> None:
    for step in STEPS:
        verdict = in_notebook.own_file(str(step.number), new_definitions(step.number))
        assert verdict, verdict
        assert verdict.step == step.number
    assert sorted(_parts(FILE.read_text())) == sorted(_parts(file_at(LAST)))


@pytest.mark.parametrize("step", [1, 3, 9, 16])
def test_a_cell_that_runs_twice_changes_nothing(step: int, capsys: Any) -> None:
    FILE.write_text(file_at(step - 1), encoding="utf8")
    in_notebook.own_file(str(step), new_definitions(step))
    first = FILE.read_bytes()
    assert in_notebook.own_file(str(step), new_definitions(step))
    assert FILE.read_bytes() == first


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("step", range(1, LAST + 1))
def test_a_chapter_that_runs_again_leaves_a_longer_file_alone(step: int, language: str) -> None:
    """As it is exported, with what the reader wrote in it then, or with a slip in it."""
    longer = file_at(LAST)
    FILE.write_text(longer, encoding="utf8")
    slip = new_definitions(step).replace("return ", "return 1 + ") if step < LAST else ""
    for cell in (stub(language), "", new_definitions(step), slip):
        assert in_notebook.own_file(str(step), cell)
        assert FILE.read_text(encoding="utf8") == longer
    assert not BEFORE.exists()


def test_what_is_replaced_is_kept_beside_and_said(capsys: Any) -> None:
    own = file_at(2).replace("    w = scores.softmax(-1)", "    w = scores.softmax(-2)")
    FILE.write_text(own, encoding="utf8")
    in_notebook.own_file("1", "def attention_pooling(scores, v):\n    return scores @ v")
    said = capsys.readouterr().out
    assert "has reached step 2" in said
    assert "`%%own_file 1 --replace`" in said
    assert FILE.read_text(encoding="utf8") == own
    verdict = in_notebook.own_file("1 --replace", "def attention_pooling(scores, v):\n    return 1")
    assert verdict is not None
    assert not verdict
    assert "Replaced: `attention_pooling`" in capsys.readouterr().out
    assert "return 1" in FILE.read_text(encoding="utf8")
    assert "def kernel_regression" in FILE.read_text(encoding="utf8")
    assert BEFORE.read_text(encoding="utf8") == own


def test_an_empty_cell_without_a_file_says_how_to_begin(capsys: Any) -> None:
    assert in_notebook.own_file("7", stub("en")) is None
    assert "attention-book course step 6 --out my_attention.py" in capsys.readouterr().out
    assert not FILE.exists()


def test_a_cell_or_a_file_that_is_no_python_changes_nothing() -> None:
    FILE.write_text(file_at(1), encoding="utf8")
    verdict = in_notebook.own_file("2", "def f(x:\n    return x")
    assert "%%own_file 2: line 1 is not Python" in str(verdict)
    assert "mark of the comparison" in str(in_notebook.own_file("3", changes(3)))
    assert FILE.read_text(encoding="utf8") == file_at(1)
    FILE.write_text("def broken(:\n", encoding="utf8")
    verdict = in_notebook.own_file("2", "def f(x):\n    return x")
    assert "my_attention.py: line 1 is not Python" in str(verdict)
    assert FILE.read_text(encoding="utf8") == "def broken(:\n"
    with pytest.raises(Unreadable):
        in_notebook.merge("", "x = (")


def test_imports_come_first_comments_along_and_the_rest_stays_in_the_cell() -> None:
    cell = (
        "import math\n# the last n of m\n@torch.no_grad()\ndef f(n):\n    return n\n\nprint(f(3))\n"
    )
    found = in_notebook.merge("# mine\nimport torch\n\na = 1\n", cell).text
    assert found == (
        "# mine\nimport torch\nimport math\n\na = 1\n\n\n"
        "# the last n of m\n@torch.no_grad()\ndef f(n):\n    return n\n"
    )
    again = in_notebook.merge(found, "def f(n):\n    return -n\n\na = 2")
    assert again.replaced == ["f", "a"]
    assert again.text.count("def f") == again.text.count("a = ") == 1
    assert in_notebook.merge("def f(n):\n    return n\n", "import math").text.startswith(
        "import math\n\n\ndef f"
    )


@pytest.mark.parametrize("line", ["", "17", "0", "seven", "3 --force"])
def test_a_line_that_names_no_step_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expected a step from 1 to 16"):
        in_notebook.own_file(line, "x = 1")


def test_a_notebook_has_the_magic_as_the_book_exports_it(capsys: Any) -> None:
    assert {language: pick(OWN_STUB, language) for language in ("zh", "en")} == {
        language: stub(language) for language in ("zh", "en")
    }
    shell = InteractiveShell.instance()
    for _ in range(2):
        shell.run_cell(OWN_MAGIC)
        done = shell.run_cell("%%own_file 1\n" + file_at(1))
        assert done.success
        assert done.result
    assert reached(FILE.read_text(encoding="utf8")) == 1
    assert isinstance(sys.stdout, io.TextIOBase)
