"""``attention-book course``: a file is checked and run, and never overwritten unasked."""

from pathlib import Path

import pytest

from attention_book.cli import course
from attention_book.cli.errors import ExitCode
from attention_book.course.own_file import STEPS, Grammar, changes, file_at

FILE = Path("my_attention.py")


def test_a_file_is_checked_up_to_the_step_that_it_has_reached(say, alone):
    FILE.write_text(file_at(4, "zh"), encoding="utf8")
    found = say("course check my_attention.py")
    assert found.code == 0, found.err
    assert "steps 1 to 4 hold" in found.out
    assert f"Next, step 5, Gradients by hand: {STEPS[4].task.en[:20]}" in found.err
    assert "第 1–4 步都对" in say("course check --lang zh").out
    assert "steps 1 to 2 hold" in say("course check --step 2").out


def test_a_file_that_does_not_hold_has_a_code_of_its_own(say, alone):
    FILE.write_text(file_at(3).replace("~mask, -math.inf", "mask, -math.inf"), encoding="utf8")
    found = say("course check --step 3")
    assert found.code == ExitCode.OWN_FILE
    assert "read the other way round" in found.out
    assert found.err.startswith("attention-book: my_attention.py: step 3 does not hold yet")
    assert "no such file" in say("course check other.py").out
    assert say("course check other.py").code == ExitCode.OWN_FILE


def test_a_loop_without_end_ends(say, alone):
    FILE.write_text("while True:\n    pass\n", encoding="utf8")
    found = say("course check --time-limit 1")
    assert found.code == ExitCode.OWN_FILE
    assert "stopped at line" in found.out


def test_a_step_is_written_and_no_file_is_overwritten_unasked(say, alone):
    assert say("course step 5").out == file_at(5)
    assert say("course step 5 --lang zh").out == file_at(5, "zh")
    assert say("course step 9 --changes").out == changes(9) + "\n"
    assert say("course step 5 --out my_attention.py").code == 0
    assert FILE.read_text(encoding="utf8") == file_at(5)
    found = say("course step 6 --out my_attention.py")
    assert found.code == ExitCode.WRONG_LINE
    assert "left alone" in found.err
    assert FILE.read_text(encoding="utf8") == file_at(5)
    assert say("course step 6 --out my_attention.py --overwrite").code == 0
    assert FILE.read_text(encoding="utf8") == file_at(6)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("course step", "expected a number from 1 to 16"),
        ("course step 17", "expected a number from 1 to 16, got 17"),
        ("course step seven", "got 'seven'"),
        ("course check --out a.py", "--out"),
        ("course learn", "learn"),
        ("course check --step 0", "--step"),
        ("course check --time-limit nan", "not a finite number"),
    ],
)
def test_a_line_that_means_nothing_is_refused(say, alone, line, reason):
    found = say(line)
    assert found.code == ExitCode.WRONG_LINE
    assert reason in found.err


def test_a_file_is_trained_translates_and_is_held_to_the_laws(say, alone, monkeypatch):
    class Small(Grammar):
        def __init__(self) -> None:
            super().__init__(num_train=256)
            self.pairs["random"] = self.pairs["random"][:8]
            self._data["random"] = self._numbered(self.pairs["random"])

        def batches(self, epochs=1, size=32):
            return super().batches(epochs, size)

    monkeypatch.setattr(course, "Grammar", Small)
    FILE.write_text(file_at(16), encoding="utf8")
    found = say("course run")
    assert found.code == 0, found.err
    for expected in ("trained in ", "8 sentences that it has not seen: BLEU ", "all laws hold"):
        assert expected in found.out
    assert "✓ Cached steps give what the whole text gives." in found.out
    assert "training for 8 steps takes about " in found.err
    FILE.write_text(file_at(9), encoding="utf8")
    found = say("course run")
    assert found.code == ExitCode.OWN_FILE
    assert "from step 14 on; the file has reached step 9" in found.err
