"""What every exercise owes its reader; right answers pass, and wrong ones are told what is wrong.

The answers stand in tables: ``answers/scores_and_choices.py`` has those to the exercises of
``catalogue/scores.py`` and ``catalogue/choices.py``, each exercise under its name.

- ``RIGHT``: two other ways at least to write what is asked, which pass.
- ``WRONG``: answers that a student might write, under what the verdict calls them: a mistake of
  the exercise that is written in another way or shows differently (``"wrong-axis"``), a law or
  what can go wrong anywhere (``"finite-gradients"``, ``"no-gradient"``, ``"state"``,
  ``"shape"``), or ``"rejected"`` where no name is promised.

The mistakes of an exercise are wrong answers themselves and stand in no table again. An answer
that passes needs a probe at the edge that it gets wrong; a common one deserves a name, a `Mistake`
with its hint.
"""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch

from attention_book.course.exercises import EXERCISES, check
from attention_book.course.exercises.checking import SUBJECTS
from attention_book.course.exercises.running import outcome_of

ROOT = Path(__file__).parents[3]
CHINESE = re.compile("[\u4e00-\u9fff]")


def _table(path):
    spec = spec_from_file_location(f"answers_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = {path.stem: _table(path) for path in (Path(__file__).parent / "answers").glob("*.py")}
RIGHT = {name: answers for table in TABLES.values() for name, answers in table.RIGHT.items()}
WRONG = {name: answers for table in TABLES.values() for name, answers in table.WRONG.items()}

every_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


def offenders(bad):
    """Return the names of the exercises of which something is true that should not be."""
    return [exercise.name for exercise in EXERCISES.values() if bad(exercise)]


# --- answers -----------------------------------------------------------------------------------


@every_exercise
def test_the_solution_passes(exercise):
    verdict = check(exercise.name, exercise.solution)
    assert verdict.passed, verdict


@every_exercise
def test_the_registrys_own_mistakes_are_told_apart(exercise):
    told = [(each.name, check(exercise.name, each.wrong).mistake) for each in exercise.mistakes]
    assert [(name, found) for name, found in told if name != found] == []


@every_exercise
def test_wrong_answers_are_rejected_by_their_names(exercise):
    for called, answers in WRONG[exercise.name].items():
        for number, answer in enumerate(answers, start=1):
            verdict = check(exercise.name, answer)
            names = (verdict.mistake, verdict.law, None if verdict.passed else "rejected")
            assert called in names, f"{called}, answer {number}: {verdict}"


@every_exercise
def test_other_right_answers_pass(exercise):
    for number, answer in enumerate(RIGHT[exercise.name], start=1):
        verdict = check(exercise.name, answer)
        assert verdict.passed, f"right answer {number}: {verdict}"


def in_double(argument):
    if isinstance(argument, torch.Tensor):
        return argument.double() if argument.dtype == torch.float32 else argument
    return type(argument)(map(in_double, argument)) if type(argument) is list else argument


def relative_difference(one, other):
    """Return how far two results are apart, in parts of what `check` allows."""
    if type(one) in (tuple, list):
        return max(map(relative_difference, one, other), default=0.0)
    if not isinstance(one, torch.Tensor) or one.dtype != torch.float32:
        return 0.0
    allowed = 1e-5 + 1e-4 * other.double().abs()
    apart = ((one.double() - other.double()).abs() / allowed).nan_to_num(0, posinf=0)
    return apart.max().item() if apart.numel() else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_no_input_makes_roundings_large(seed):
    """A right answer that adds in another order is still within what `check` allows."""
    torch.manual_seed(seed)
    worst = {}
    for exercise in EXERCISES.values():
        if exercise.name == "post-norm":  # is given modules, which have a precision of their own
            continue
        for probe in exercise.probes():
            single = outcome_of(exercise.solution, probe.arguments)
            double = outcome_of(exercise.solution, tuple(map(in_double, probe.arguments)))
            if single.error is None and double.error is None:
                apart = relative_difference(single.value, double.value)
                worst[exercise.name] = max(apart, worst.get(exercise.name, 0.0))
    assert len(worst) > 0.9 * len(EXERCISES)
    assert {name: apart for name, apart in worst.items() if apart > 0.1} == {}


def test_where_scores_are_large_inputs_are_whole_numbers():
    """Then all sums of products are exact. With drawn ones, one seed in some hundreds brings two
    scores so close together that a right answer rounds to other weights."""
    large = ("the scores are large", "scores are far apart")
    found = [
        (exercise.name, torch.equal(argument, argument.round()))
        for exercise in EXERCISES.values()
        for probe in exercise.probes()
        if probe.about and probe.about.en in large
        for argument in probe.arguments
        if isinstance(argument, torch.Tensor) and argument.is_floating_point()
        if argument.abs().max() > 10
    ]
    assert len({name for name, _ in found}) >= 5
    assert [name for name, whole in found if not whole] == []


def test_every_exercise_has_answers_of_both_kinds():
    assert set(RIGHT) == set(WRONG) == set(EXERCISES)
    written = {
        name: [answer for answers in table.values() for answer in answers]
        for name, table in WRONG.items()
    }
    assert [name for name, answers in RIGHT.items() if len(answers) < 2] == []
    assert offenders(lambda each: len(written[each.name]) + len(each.mistakes) < 10) == []
    assert [n for n, all_ in written.items() if len(set(map(id, all_))) != len(all_)] == []


def test_two_mistakes_at_least_are_also_written_in_another_way():
    def named(exercise):
        return WRONG[exercise.name].keys() & {mistake.name for mistake in exercise.mistakes}

    assert offenders(lambda exercise: len(named(exercise)) < 2) == []


# --- texts -------------------------------------------------------------------------------------


def test_two_mistakes_at_least_have_hints_of_their_own():
    def shared(exercise):
        hints = {mistake.name: mistake.hint for mistake in exercise.mistakes}
        return len(hints) < 2 or len(set(hints.values())) != len(hints)

    assert offenders(shared) == []


def every_text(exercise):
    yield exercise.task
    for mistake in exercise.mistakes:
        yield mistake.hint
    for law in exercise.laws:
        yield from filter(None, (law.statement, law.hint))
    yield from (probe.about for probe in exercise.probes() if probe.about)


def test_texts_are_in_the_language_they_say():
    def mixed(words):
        return (
            not CHINESE.search(words.zh)
            or CHINESE.search(words.en)
            or words.zh.count("`") % 2
            or words.en.count("`") % 2
        )

    assert [
        words for each in EXERCISES.values() for words in every_text(each) if mixed(words)
    ] == []


def test_sentences_end_and_remarks_do_not():
    wrong = []
    for exercise in EXERCISES.values():
        abouts = [probe.about for probe in exercise.probes() if probe.about]
        for words in every_text(exercise):
            ends = words.zh[-1] in "。？！" and words.en[-1] in ".?!"
            if ends == (words in abouts):
                wrong.append(words)
    assert wrong == []


def test_the_solution_has_the_arguments_that_the_task_names():
    """A verdict shows them: ``f(logits, targets)``, not what torch calls them."""

    def other(exercise):
        given = ", ".join(exercise.parameters)
        tasks = (exercise.task.zh, exercise.task.en)
        return any(re.search(r"`\w+\((.*?)\)`", words)[1] != given for words in tasks)

    assert offenders(other) == []


def test_a_name_is_short_and_an_address_and_given_once():
    assert [name for name in EXERCISES if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert len(EXERCISES) == sum(len(part.EXERCISES) for part in SUBJECTS)
    assert len(EXERCISES) >= 30


# --- chapters ----------------------------------------------------------------------------------


def test_chapters_set_every_exercise_and_check_only_what_there_is():
    text = "".join(path.read_text(encoding="utf8") for path in ROOT.glob("book/*.md"))
    assert set(re.findall(r"""\bcheck\(\s*["']([\w-]+)["']""", text)) == set(EXERCISES)
