"""`check`: an answer against the solution, the laws and the mistakes of its exercise."""

from difflib import get_close_matches
from typing import Any

from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake
from attention_book.course.exercises.language import checked
from attention_book.course.exercises.outcome import Outcome, accepts, difference, outcome_of
from attention_book.course.exercises.problems import (
    Problem,
    Tried,
    law_broken,
    not_callable,
    problem_of,
)
from attention_book.course.exercises.registry import EXERCISES
from attention_book.course.exercises.slips import slip_hint
from attention_book.course.exercises.verdict import Finding, Verdict
from attention_book.foundations.bilingual import Bilingual, Language
from attention_book.foundations.seed import own_random_numbers


def check(name: str, answer: Any, *, language: Language | None = None) -> Verdict:
    """Check an answer to an exercise: is it right, and if not, what is wrong?

    The answer is called with small inputs, compared with the solution, and held to the laws
    of the exercise. Where it does just what a well-known mistake does, the hint is about that
    mistake. It gets copies of the inputs, and your random numbers go on as if nothing had been
    drawn.

    Args:
        name: an exercise's name, a key of ``EXERCISES``.
        answer: your function; the value itself where the exercise asks for one.
        language: "zh" or "en"; None takes the notebook's language, that of the environment
            variable ``ATTENTION_BOOK_LANGUAGE``, or that of your computer.

    Returns:
        The verdict, which prints, and is true if the answer passed.

    Raises:
        ValueError: if there is no such exercise or no such language.

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
    if name not in EXERCISES:
        near = get_close_matches(name, EXERCISES, n=3, cutoff=0.4) or sorted(EXERCISES)
        raise ValueError(f"name: no exercise {name!r}; did you mean {', '.join(near)}?")
    with own_random_numbers():
        return verdict_on(EXERCISES[name], answer, language)


def verdict_on(exercise: Exercise, answer: Any, language: Language | None = None) -> Verdict:
    """Check an answer to any exercise, also one that is not registered.

    Draws from the global random numbers: ``check`` keeps them.
    """
    function = _as_function(exercise, answer)
    probes = list(exercise.probes())
    checks = len(probes) + len(exercise.laws)
    problem, mistake, hint = None, None, None
    if function is None or not accepts(function, probes[0].arguments):
        problem = not_callable(exercise, answer)
    else:
        tried = [
            Tried(p, outcome_of(exercise.solution, p.arguments), outcome_of(function, p.arguments))
            for p in probes
        ]
        problem = _find_problem(exercise, function, tried)
        if problem is not None:
            mistake = _recognized(exercise, tried)
            hint = mistake.hint if mistake else _slip(tried)
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


def _find_problem(exercise: Exercise, function: Answer, tried: list[Tried]) -> Problem | None:
    """Return the first problem: no fit result, changed arguments, a broken law, a wrong value."""
    early = [one for one in tried if one.problem not in (None, "value", "input")]
    early += [one for one in tried if one.problem == "input"]
    if early:
        return problem_of(exercise, early[0])
    for law in exercise.laws:
        if finding := _finding(law, function, exercise):
            return law_broken(law, finding)
    wrong = [one for one in tried if one.problem]
    return problem_of(exercise, wrong[0]) if wrong else None


def _finding(law: Law, function: Answer, exercise: Exercise) -> Finding | None:
    """Test a law. An answer that fails in its hands, or can't be examined, has broken it."""
    last: list[tuple[tuple[Any, ...], Outcome]] = []

    def observed(*arguments: Any) -> Any:
        outcome = _called_once(function, arguments)
        last[:] = [(arguments, outcome)]
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    try:
        return law.test(observed)
    except Exception:
        if not last:
            raise
        arguments, outcome = last[0]
        given = dict(zip(exercise.parameters, arguments, strict=False))
        return Finding(given, law.statement, outcome.happened())


def _called_once(function: Answer, arguments: tuple[Any, ...]) -> Outcome:
    """Call with the law's own tensors: it may want gradients through them."""
    try:
        return Outcome(function(*arguments))
    except Exception as error:
        return Outcome(error=error)


def _recognized(exercise: Exercise, tried: list[Tried]) -> Mistake | None:
    """Return the known mistake that explains best what the answer does.

    Only probes on which a mistake shows can tell. The answer must be right on none of them,
    and agree with the mistaken function on at least half: two mistakes may come together.
    Who returns nothing at all has forgotten a ``return``, whatever a mistaken function does.
    """
    if all(one.answered.error is None and one.answered.value is None for one in tried):
        return None
    best, most = None, 0
    for mistake in exercise.mistakes:
        wrong = [(one, outcome_of(mistake.wrong, one.probe.arguments)) for one in tried]
        telling = [(one, made) for one, made in wrong if not _same(made, one.right)]
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


__all__ = ["check", "verdict_on"]
