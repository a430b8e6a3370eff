"""What every exercise owes its reader."""

import re
from pathlib import Path

import pytest

import attention_book.course.exercises
from attention_book.course.exercises import EXERCISES, check
from attention_book.course.exercises.registry import TOPICS

ROOT = Path(__file__).parents[3]
CHINESE = re.compile("[\u4e00-\u9fff]")

every_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
every_mistake = pytest.mark.parametrize(
    ("name", "mistake"),
    [
        pytest.param(name, mistake, id=f"{name}-{mistake.name}")
        for name, exercise in EXERCISES.items()
        for mistake in exercise.mistakes
    ],
)


@every_exercise
def test_the_solution_passes(exercise):
    verdict = check(exercise.name, exercise.solution)
    assert verdict.passed, verdict


@every_mistake
def test_the_registrys_own_mistakes_are_told_apart(name, mistake):
    assert check(name, mistake.wrong).mistake == mistake.name


@every_exercise
def test_two_mistakes_at_least_have_hints_of_their_own(exercise):
    hints = {mistake.name: mistake.hint for mistake in exercise.mistakes}
    assert len(hints) >= 2
    assert len(set(hints.values())) == len(hints)


def every_text(exercise):
    yield exercise.task
    for mistake in exercise.mistakes:
        yield mistake.hint
    for law in exercise.laws:
        yield from filter(None, (law.statement, law.hint))
    yield from (probe.about for probe in exercise.probes() if probe.about)


@every_exercise
def test_texts_are_in_the_language_they_say(exercise):
    for words in every_text(exercise):
        assert CHINESE.search(words.zh)
        assert not CHINESE.search(words.en)
        assert words.zh.count("`") % 2 == words.en.count("`") % 2 == 0


@every_exercise
def test_sentences_end_and_remarks_do_not(exercise):
    abouts = [probe.about for probe in exercise.probes() if probe.about]
    for words in every_text(exercise):
        ends = words.zh[-1] in "。？！" and words.en[-1] in ".?!"
        assert ends != (words in abouts), words


@every_exercise
def test_the_solution_has_the_arguments_that_the_task_names(exercise):
    """A verdict shows them: ``f(logits, targets)``, not what torch calls them."""
    for words in (exercise.task.zh, exercise.task.en):
        written = re.search(r"`\w+\((.*?)\)`", words)
        assert written[1] == ", ".join(exercise.parameters)


@every_exercise
def test_a_name_is_short_and_an_address(exercise):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", exercise.name)


def test_there_are_many():
    assert len(EXERCISES) >= 30


def test_no_name_is_given_twice():
    assert len(EXERCISES) == sum(len(topic.EXERCISES) for topic in TOPICS)


def test_every_topic_is_registered():
    folder = Path(attention_book.course.exercises.__file__).parent / "topics"
    files = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    assert files == {topic.__name__.rpartition(".")[2] for topic in TOPICS}


def checked_in_chapters():
    text = "".join(path.read_text(encoding="utf8") for path in ROOT.glob("book/*.md"))
    return set(re.findall(r"""\bcheck\(\s*["']([\w-]+)["']""", text))


@every_exercise
def test_a_chapter_sets_it(exercise):
    assert exercise.name in checked_in_chapters()


def test_chapters_check_only_what_there_is():
    assert checked_in_chapters() <= set(EXERCISES)


@every_exercise
def test_hints_are_tested_with_wrong_answers_written_there(exercise):
    """Two of the mistakes at least are named in a test of the topic's."""
    tests = "".join(path.read_text(encoding="utf8") for path in Path(__file__).parent.rglob("*.py"))
    assert f'"{exercise.name}"' in tests
    named = {mistake.name for mistake in exercise.mistakes if f'"{mistake.name}"' in tests}
    assert len(named) >= 2
