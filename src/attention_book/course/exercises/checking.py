"""`check`: an answer against the solution, the laws and the mistakes of its exercise."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from attention_book.course.exercises.catalogue import (
    applications,
    blocks,
    choices,
    circuits,
    cost,
    experts,
    heads,
    inside,
    language,
    layers,
    long_texts,
    patterns,
    pooling,
    positions,
    practice,
    scores,
    seq2seq,
    serving,
    start,
    training,
    translating,
)
from attention_book.course.exercises.comparing import difference, slip_hint
from attention_book.course.exercises.core import Answer, Exercise, Law, Mistake
from attention_book.course.exercises.problems import (
    Problem,
    Tried,
    general,
    law_broken,
    not_callable,
    other_order,
    problem_of,
)
from attention_book.course.exercises.running import Outcome, accepts, called, copied, outcome_of
from attention_book.course.exercises.verdict import Finding, Verdict, checked
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.seed import own_random_numbers

#: The modules with exercises, in the order of the book; each lists its own.
SUBJECTS = (
    start,
    pooling,
    scores,
    seq2seq,
    translating,
    heads,
    positions,
    layers,
    training,
    language,
    inside,
    cost,
    serving,
    patterns,
    long_texts,
    blocks,
    experts,
    circuits,
    choices,
    applications,
    practice,
)
#: Every exercise that `check` knows, by name.
EXERCISES: Mapping[str, Exercise] = MappingProxyType(
    {exercise.name: exercise for subject in SUBJECTS for exercise in subject.EXERCISES}
)


def check(name: str, answer: Any, *, language: str | None = None) -> Verdict:
    """Check an answer to an exercise: is it right, and if not, what is wrong?

    The answer is called with small inputs, by position, compared with the solution, and held to
    the laws of the exercise. Where it does just what a well-known mistake does, the hint is about
    that mistake. It gets copies of the inputs, and your random numbers go on as if nothing had
    been drawn. What it raises is a finding, `sys.exit()` included, and so is a loop that does not
    end, in the main thread of Linux and macOS; elsewhere interrupt it yourself. What ends the
    process at once, such as `os._exit`, nothing can hold up here.

    Args:
        name: an exercise's name, a key of ``EXERCISES``.
        answer: your function; the value itself where the exercise asks for one.
        language: "zh" or "en"; None takes the notebook's language, that of the environment
            variable ``ATTENTION_BOOK_LANGUAGE``, or that of your computer.

    Returns:
        The verdict, which prints, and is true if the answer passed.

    >>> import torch
    >>> def mine(scores, mask):
    ...     return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    >>> verdict = check("masked-softmax", mine, language="en")
    >>> bool(verdict), verdict.mistake
    (False, 'minus-infinity')
    >>> print(verdict.statement.en)
    The result differs from the expected one. Here one query may see nothing.
    """
    if language is not None:
        checked("language", language)
    if not isinstance(name, str):
        raise ValueError(
            f"name: expected the name of an exercise, got {name!r}; the name comes first:"
            " check(name, answer)"
        )
    if name not in EXERCISES:
        near = get_close_matches(name, EXERCISES, n=3, cutoff=0.4) or sorted(EXERCISES)
        raise ValueError(f"name: no exercise {name!r}; did you mean {', '.join(near)}?")
    return verdict_drawn(EXERCISES[name], answer, 0, language)


def verdict_drawn(
    exercise: Exercise, answer: Any, seed: int, language: str | None = None
) -> Verdict:
    """Check an answer with inputs drawn with a seed; ``check`` takes 0."""
    with own_random_numbers(seed), _usual_torch():
        trial = _trial(exercise, torch.initial_seed())
        torch.set_rng_state(trial.drawn)
        return _verdict(trial, answer, language)


@contextmanager
def _usual_torch() -> Iterator[None]:
    """Check with gradients and float32, whatever the caller's torch is set to, or the answer sets.

    Laws take gradients, and inputs are drawn in the default precision.
    """
    precision = torch.get_default_dtype()
    with torch.inference_mode(False), torch.enable_grad():
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(precision)


def verdict_on(exercise: Exercise, answer: Any, language: str | None = None) -> Verdict:
    """Check an answer to any exercise, also one that is not registered.

    Draws from the global random numbers: ``check`` keeps them.
    """
    return _verdict(_Trial(exercise), answer, language)


class _Trial:
    """The inputs of an exercise, with what the solution and the known mistakes make of them.

    All of it is the same for every answer; ``check`` makes it once.

    Attributes:
        exercise: the exercise.
        probes: its inputs.
        right: what the solution makes of each.
        drawn: torch's random numbers after the inputs were drawn.
    """

    def __init__(self, exercise: Exercise) -> None:
        """Draw the inputs from the global random numbers."""
        self.exercise = exercise
        self.probes = list(exercise.probes())
        self.drawn = torch.get_rng_state()
        self.right = [outcome_of(exercise.solution, probe.arguments) for probe in self.probes]
        self._telling: dict[Mistake, list[tuple[int, Outcome]]] = {}

    def telling(self, mistake: Mistake) -> list[tuple[int, Outcome]]:
        """Return the inputs on which a mistake shows, by number, and what comes out there."""
        if mistake not in self._telling:
            made = [outcome_of(mistake.wrong, probe.arguments) for probe in self.probes]
            pairs = enumerate(zip(made, self.right, strict=True))
            self._telling[mistake] = [
                (i, wrong) for i, (wrong, right) in pairs if not _same(wrong, right)
            ]
        return self._telling[mistake]


@cache
def _trial(exercise: Exercise, seed: int) -> _Trial:
    return _Trial(exercise)


def _verdict(trial: _Trial, answer: Any, language: str | None) -> Verdict:
    exercise = trial.exercise
    function = _as_function(exercise, answer)
    checks = len(trial.probes) + len(exercise.laws)
    problem, mistake, hint = None, None, None
    if function is None or not accepts(function, trial.probes[0].arguments):
        problem = not_callable(exercise, answer)
    else:
        tried = _try(trial, function)
        problem = _find_problem(exercise, function, tried)
        if problem is not None and problem.law not in ALONE:
            mistake = _recognized(trial, tried)
            hint = mistake.hint if mistake else other_order(exercise, function) or _slip(tried)
    if problem is None:
        return Verdict(exercise.name, True, checks, language=language)
    return Verdict(
        exercise.name,
        False,
        checks,
        law=problem.law,
        statement=problem.statement,
        finding=problem.finding,
        mistake=mistake.name if mistake else None,
        hint=hint or problem.hint,
        language=language,
    )


def _as_function(exercise: Exercise, answer: Any) -> Answer | None:
    if callable(answer):
        return answer  # type: ignore[no-any-return]
    return None if exercise.parameters else lambda: answer


#: What needs no further explanation.
ALONE = ("endless", "state", "no-gradient")


def _try(trial: _Trial, function: Answer) -> list[Tried]:
    """Call the answer with each input, up to one with which it does not end."""
    tried = []
    for probe, right in zip(trial.probes, trial.right, strict=True):
        tried.append(Tried(probe, right, outcome_of(function, probe.arguments)))
        if tried[-1].problem == "endless":
            break
    return tried


def _find_problem(exercise: Exercise, function: Answer, tried: list[Tried]) -> Problem | None:
    """Return the first problem: no fit result, changed arguments, a broken law, a wrong value."""
    if tried[-1].problem == "endless":
        return problem_of(exercise, tried[-1])
    if problem := _another_result(exercise, function, tried[0]):
        return problem
    early = [one for one in tried if one.problem not in (None, "value", "input")]
    early += [one for one in tried if one.problem == "input"]
    if early:
        return problem_of(exercise, early[0])
    for law in exercise.laws:
        if problem := _broken(law, function, exercise):
            return problem
    wrong = [one for one in tried if one.problem]
    return problem_of(exercise, wrong[0]) if wrong else None


def _another_result(exercise: Exercise, function: Answer, first: Tried) -> Problem | None:
    """Call the answer with the first input again: whether something is kept between calls."""
    if first.problem in ("type", "device"):  # generators are never equal; without numbers, nothing
        return None
    again = outcome_of(function, first.probe.arguments)
    if again.endless:
        return problem_of(exercise, Tried(first.probe, first.right, again))
    if _same_result(first.answered, again):
        return None
    given = dict(zip(exercise.parameters, map(copied, first.probe.arguments), strict=False))
    return general("state", Finding(given, first.answered.happened(), again.happened()))


def _broken(law: Law, function: Answer, exercise: Exercise) -> Problem | None:
    """Test a law. An answer that fails in its hands, or can't be examined, has broken it."""
    last: list[tuple[tuple[Any, ...], Outcome]] = []

    def observed(*arguments: Any) -> Any:
        outcome = called(function, arguments)  # the law's own tensors: it may want gradients
        last[:] = [(arguments, outcome)]
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    finding, failed = None, False
    try:
        finding = law.test(observed)
    except KeyboardInterrupt:
        raise
    except BaseException:
        if not last:
            raise
        failed = True
    if finding is None and not failed:
        return None
    arguments, outcome = last[0]
    given = dict(zip(exercise.parameters, arguments, strict=False))
    if outcome.endless:
        return general("endless", Finding(given, law.statement, outcome.happened()))
    if _cut_off(arguments, outcome.value):
        wanted = Bilingual("传得过梯度的结果", "a result that gradients flow through")
        return general("no-gradient", Finding(given, wanted, outcome.value))
    return law_broken(law, finding or Finding(given, law.statement, outcome.happened()))


def _cut_off(arguments: tuple[Any, ...], value: Any) -> bool:
    """Whether gradients were asked for of an argument, and none can come from the result."""
    asked = any(isinstance(each, Tensor) and each.requires_grad for each in arguments)
    return asked and isinstance(value, Tensor) and not value.requires_grad


def _recognized(trial: _Trial, tried: list[Tried]) -> Mistake | None:
    """Return the known mistake that explains best what the answer does.

    Only probes on which a mistake shows can tell. The answer must be right on none of them,
    and agree with the mistaken function on at least half: two mistakes may come together.
    Who returns nothing at all has forgotten a ``return``, whatever a mistaken function does.
    """
    if all(one.answered.error is None and one.answered.value is None for one in tried):
        return None
    best, most = None, 0
    for mistake in trial.exercise.mistakes:
        telling = [(tried[i], made) for i, made in trial.telling(mistake)]
        if not telling or any(one.problem is None for one, _ in telling):
            continue
        alike = sum(_alike(one, made) for one, made in telling)
        if alike >= len(telling) / 2 and alike > most:
            best, most = mistake, alike
    return best


def _slip(tried: list[Tried]) -> Bilingual | None:
    """Return the hint for a slip that explains all that is wrong; an error explains nothing."""
    wrong = [one for one in tried if one.problem not in (None, "input")]
    if any(one.answered.error for one in wrong):
        return None
    return slip_hint((one.right.value, one.answered.value) for one in wrong)


def _alike(one: Tried, made: Outcome) -> bool:
    """Whether the answer does on this probe what the mistaken function makes of it."""
    if _same_result(made, one.right):  # a mistake that only changes its arguments
        return made.changed == one.answered.changed
    return _same_result(made, one.answered)


def _same(a: Outcome, b: Outcome) -> bool:
    return _same_result(a, b) and a.changed == b.changed


def _same_result(a: Outcome, b: Outcome) -> bool:
    if a.error is not None or b.error is not None:
        return type(a.error) is type(b.error)
    return difference(a.value, b.value) is None
