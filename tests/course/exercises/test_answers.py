"""Right answers pass, and wrong ones are told what is wrong.

The answers stand in tables, one file a topic: ``answers/weights/masks.py`` has those to the
exercises of ``topics/weights/masks.py``, each exercise under its name.

- ``RIGHT``: two other ways at least to write what is asked, which pass.
- ``WRONG``: ten answers at least that a student might write, each with what the verdict calls it:
  a mistake of the exercise (``"wrong-axis"``), a law or what can go wrong anywhere
  (``"finite-gradients"``, ``"no-gradient"``, ``"state"``, ``"shape"``), or ``"rejected"`` where
  no name is promised. An answer that passes needs a probe at the edge that it gets wrong; a
  common one deserves a name, a `Mistake` with its hint.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from attention_book.course.exercises import check
from attention_book.course.exercises.registry import TOPICS

TABLES = Path(__file__).parent / "answers"


def _table(path):
    spec = spec_from_file_location(f"answers_{path.parent.name}_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILES = {f"{path.parent.name}.{path.stem}": _table(path) for path in TABLES.glob("*/*.py")}
RIGHT = {name: answers for table in FILES.values() for name, answers in table.RIGHT.items()}
WRONG = {name: answers for table in FILES.values() for name, answers in table.WRONG.items()}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_by_their_names(name):
    for number, (answer, called) in enumerate(WRONG[name], start=1):
        verdict = check(name, answer)
        names = (verdict.mistake, verdict.law, None if verdict.passed else "rejected")
        assert called in names, f"{name}, wrong answer {number}: {verdict}"


@pytest.mark.parametrize("name", RIGHT)
def test_other_right_answers_pass(name):
    for number, answer in enumerate(RIGHT[name], start=1):
        verdict = check(name, answer)
        assert verdict.passed, f"{name}, right answer {number}: {verdict}"


def test_every_exercise_has_answers_of_both_kinds():
    for topic in TOPICS:
        folder, module = topic.__name__.split(".")[-2:]
        table = FILES[f"{folder}.{module}"]
        names = {exercise.name for exercise in topic.EXERCISES}
        assert set(table.RIGHT) == set(table.WRONG) == names
        for name in names:
            assert len(table.RIGHT[name]) >= 2, name
            assert len(table.WRONG[name]) >= 10, name
            assert len({id(answer) for answer, _ in table.WRONG[name]}) == len(table.WRONG[name])
