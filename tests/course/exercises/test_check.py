"""`check` names what is wrong with an answer, whatever the answer does."""

import contextlib
import random
import signal
import sys
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_book.course.exercises import (
    EXERCISES,
    Exercise,
    Finding,
    Law,
    Mistake,
    Probe,
    check,
)
from attention_book.course.exercises.checking import verdict_on
from attention_book.course.exercises.core import Answer
from attention_book.course.time_limit import DoesNotEnd, within
from attention_book.foundations.bilingual import Bilingual

INCREASING = Bilingual("结果随 x 增大。", "The result grows with x.")


def _grows(answer: Answer) -> Finding | None:
    low, high = answer(torch.zeros(2)), answer(torch.ones(2))
    if (high > low).all():
        return None
    return Finding({"x": torch.ones(2)}, Bilingual("更大", "more"), high)


def _doubled_in_place(x: Tensor) -> Tensor:
    return x.mul_(2)


def mistake(name, wrong):
    return Mistake(name, wrong, Bilingual(f"提示：{name}。", f"hint: {name}."))


DOUBLE = Exercise(
    name="double",
    task=Bilingual("写 `double(x)`。", "Write `double(x)`."),
    solution=lambda x: 2 * x,
    probes=lambda: [
        Probe((torch.arange(3.0),)),
        Probe((torch.randn(2, 3),)),
        Probe((torch.tensor([-1.0]),), Bilingual("有负数", "a number is negative")),
    ],
    mistakes=(
        mistake("squared", lambda x: x**2),
        mistake("negative", lambda x: 2 * x.abs()),
        mistake("raises", lambda x: 2 * x.reshape(3)),
        mistake("in-place", _doubled_in_place),
    ),
    laws=(Law("grows", INCREASING, _grows),),
)
HALF = Exercise(
    name="half",
    task=Bilingual("一半是多少？", "How much is a half?"),
    solution=lambda: 0.5,
    probes=lambda: [Probe(())],
    mistakes=(mistake("percent", lambda: 50.0),),
)


def test_the_solution_passes_all_checks():
    verdict = verdict_on(DOUBLE, lambda x: x + x)
    assert verdict.passed
    assert verdict.checks == 4
    assert (verdict.law, verdict.finding, verdict.mistake, verdict.hint) == (None,) * 4


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda x: x * x, "squared"),
        (lambda x: (2 * x).abs(), "negative"),
        (lambda x: torch.stack([x[0], x[1], x[2]]) * 2, None),  # an IndexError, not a RuntimeError
        (lambda x: x.view(3) * 2, "raises"),
        (lambda x: x.add_(x), "in-place"),
        (lambda x: 3 * x, None),
        (lambda x: None, None),
    ],
)
def test_a_mistake_is_recognized_by_what_it_does(answer, found):
    verdict = verdict_on(DOUBLE, answer)
    assert not verdict
    assert verdict.mistake == found
    if found:
        assert verdict.hint == Bilingual(f"提示：{found}。", f"hint: {found}.")


def test_a_mistake_that_shows_rarely_does_not_hide_one_that_shows_always():
    # on the last probe both do the same
    exercise = Exercise(
        name="identity",
        task=DOUBLE.task,
        solution=lambda x: x,
        probes=DOUBLE.probes,
        mistakes=(mistake("positive", torch.abs), mistake("flipped", torch.neg)),
    )
    assert verdict_on(exercise, lambda x: -x).mistake == "flipped"
    assert verdict_on(exercise, lambda x: x.abs()).mistake == "positive"


def test_who_is_right_where_the_mistake_shows_does_not_make_it():
    assert verdict_on(DOUBLE, lambda x: x * x if x.ndim > 1 else 2 * x + 1).mistake is None
    assert verdict_on(DOUBLE, lambda x: x * x if x.numel() > 1 else 2 * x).mistake is None


@pytest.mark.parametrize(
    ("answer", "law"),
    [
        (lambda x: x[9], "raises"),
        (lambda x: 1 / 0, "raises"),
        (lambda x: None, "type"),
        (lambda x: x.tolist(), "type"),
        (lambda x: x[None] * 2, "shape"),
        (lambda x: (2 * x).int(), "dtype"),
        (lambda x: (2 * x).to("meta"), "device"),
        (lambda x: x.mul_(2), "input"),
        (lambda x: -x, "grows"),
        (lambda x: 3 * x, "value"),
        (lambda x, y: x, "signature"),
        (torch.ones(3), "function"),
        (None, "function"),
    ],
)
def test_what_is_wrong_has_a_name(answer, law):
    verdict = verdict_on(DOUBLE, answer)
    assert not verdict
    assert verdict.law == law
    assert verdict.statement.zh
    assert verdict.statement.en


def _quits(x):
    if len(x) < 3:
        sys.exit(0)
    return 2 * x


class _OwnExit(BaseException):
    pass


def _raises_its_own(x):
    raise _OwnExit


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (lambda x: sys.exit(0), "SystemExit: 0"),
        (lambda x: sys.exit("bye"), "SystemExit: bye"),
        (lambda x: exit(), "SystemExit"),
        (_quits, "SystemExit"),
        (_raises_its_own, "_OwnExit"),
        (lambda x: pytest.fail("no"), "Failed: no"),
    ],
)
def test_an_exit_is_an_error_of_the_answer(answer, word):
    verdict = verdict_on(DOUBLE, answer)
    assert verdict.law == "raises"
    assert word in verdict.finding.got.en


def test_an_exit_in_the_hands_of_a_law_breaks_it():
    verdict = verdict_on(DOUBLE, lambda x: sys.exit() if x.shape == (2,) else 2 * x)
    assert verdict.law == "grows"
    assert "SystemExit" in verdict.finding.got.en


def _loops(x):
    while x.numel():
        time.sleep(1e-3)
    return 2 * x


def _loops_in_the_law(x):
    while x.shape == (2,):
        time.sleep(1e-3)
    return 2 * x


def _loops_when_called_again():
    calls = []

    def answer(x):
        calls.append(x)
        while len(calls) > 3:
            time.sleep(1e-3)
        return 2 * x

    return answer


@pytest.mark.parametrize("answer", [_loops, _loops_in_the_law, _loops_when_called_again()])
def test_an_answer_that_does_not_end_is_stopped_and_told(monkeypatch, answer):
    monkeypatch.setattr("attention_book.course.exercises.running.LIMIT", 0.05)
    verdict = verdict_on(DOUBLE, answer)
    assert (verdict.law, verdict.mistake) == ("endless", None)
    assert "does not come to an end" in str(verdict.statement.en)
    assert "nothing within 0.05 seconds" in verdict.finding.got.en
    assert "0.05 秒内没有结果" in verdict.finding.got.zh
    assert "loop" in verdict.hint.en


def _counts_calls():
    calls = []

    def answer(x):
        calls.append(x)
        return 2 * x + (len(calls) > 2)

    return answer


def _appends(x, seen=[]):  # noqa: B006
    seen.append(x)
    return 2 * x * (len(seen) < 4)


@pytest.mark.parametrize("answer", [_counts_calls(), _appends, lambda x: 2 * x + torch.randn(1)])
def test_what_is_kept_between_calls_is_named(answer):
    verdict = verdict_on(DOUBLE, answer)
    assert verdict.law == "state"
    assert "between calls" in verdict.hint.en


def test_a_buffer_that_is_written_again_holds_what_it_held_when_it_was_returned():
    buffer = torch.empty(6)

    def answer(x):
        out = buffer[: x.numel()].view(x.shape)
        return torch.mul(x, 2, out=out)

    assert verdict_on(replace(DOUBLE, laws=()), answer)


def test_a_function_that_prints_or_warns_is_judged_by_what_it_returns(capsys):
    def talks(x):
        print("here")
        warnings.warn("soft", stacklevel=2)
        return x * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert verdict_on(DOUBLE, talks)
    verdict = verdict_on(DOUBLE, lambda x: print(2 * x))
    assert "`print` only shows" in verdict.hint.en
    assert "here" in capsys.readouterr().out


def test_arguments_in_another_order_are_named():
    exercise = Exercise(
        name="difference",
        task=DOUBLE.task,
        solution=lambda a, b: a - b,
        probes=lambda: [Probe((torch.arange(3.0), torch.ones(3)))],
        mistakes=(),
    )
    verdict = verdict_on(exercise, lambda b, a: a - b)
    assert "in the order `a, b`" in verdict.hint.en
    assert "`a, b`" in verdict.hint.zh
    assert verdict_on(exercise, lambda b, a: b - a)  # odd, but right
    assert verdict_on(exercise, lambda first, second, third=None: first - second)
    verdict = verdict_on(exercise, lambda *, a, b: a - b)
    assert (verdict.law, verdict.finding.got.en) == ("signature", "`f(*, a, b)`")


def _slope(answer: Answer) -> Finding | None:
    x = torch.ones(2).requires_grad_()
    answer(x).sum().backward()
    return None if x.grad.eq(2).all() else Finding({"x": x}, 2, x.grad)


WITH_GRADIENTS = Exercise(
    name="double",
    task=DOUBLE.task,
    solution=lambda x: 2 * x,
    probes=DOUBLE.probes,
    mistakes=(),
    laws=(Law("slope", INCREASING, _slope, Bilingual("提示。", "NaN!")),),
)


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: (2 * x).detach(),
        lambda x: 2 * x.data,
        lambda x: torch.tensor((2 * x).tolist()),
        lambda x: torch.from_numpy(2 * x.detach().numpy()),
        torch.no_grad()(lambda x: 2 * x),
    ],
)
def test_a_result_that_no_gradient_flows_through_is_named(answer):
    verdict = verdict_on(WITH_GRADIENTS, answer)
    assert verdict.law == "no-gradient"
    assert "cut the result off" in verdict.hint.en
    assert verdict_on(WITH_GRADIENTS, lambda x: x + x.detach()).law == "slope"


def test_how_torch_is_set_changes_no_verdict():
    right = EXERCISES["masked-softmax"].solution
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            assert check("masked-softmax", right)
            assert not torch.is_grad_enabled()
        with torch.inference_mode():
            assert check("masked-softmax", right)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)

    def meddles(scores, mask):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return scores

    assert not check("masked-softmax", meddles)
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_of_a_result_elsewhere_the_device_is_shown():
    verdict = verdict_on(DOUBLE, lambda x: (2 * x).to("meta"))
    assert (verdict.finding.expected, verdict.finding.got) == ("cpu", "meta")
    assert "on another device" in verdict.statement.en
    assert "另一个设备" in verdict.statement.zh
    assert "device=x.device" in str(verdict)


def test_a_verdict_says_what_is_special_about_the_input_and_what_is_broken():
    verdict = verdict_on(DOUBLE, lambda x: 2 * x if x.numel() > 1 else x)
    assert verdict.statement.en.endswith("Here a number is negative.")
    assert verdict.statement.zh.endswith("在这个输入里，有负数。")
    verdict = verdict_on(DOUBLE, lambda x: -x)
    assert verdict.statement.en == "This law is broken: The result grows with x."
    assert verdict.statement.zh == "不满足这条性质：结果随 x 增大。"
    finding = verdict_on(DOUBLE, lambda x: 3 * x).finding
    assert list(finding.given) == ["x"]
    found = finding.given["x"], finding.expected, finding.got
    assert [each.tolist() for each in found] == [[0, 1, 2], [0, 2, 4], [0, 3, 6]]
    finding = verdict_on(DOUBLE, lambda x, y: x).finding
    assert (finding.expected.en, finding.got.en) == ("`f(x)`", "`f(x, y)`")
    assert "还不对" in str(check("masked-softmax", None, language="zh"))
    assert "not yet" in str(check("masked-softmax", None, language="en"))


def test_a_wrong_type_is_not_explained_by_the_input():
    verdict = verdict_on(HALF, lambda: [0.5])
    assert verdict.hint.en == "A number is expected, not a list."
    assert (
        verdict_on(DOUBLE, lambda x: x.tolist()).statement.en == "The result is of the wrong type."
    )


def test_a_law_that_meets_an_error_or_nonsense_is_broken_not_raised():
    def fails_on_pairs(x):
        if len(x) == 2 and x.ndim == 1:
            raise ValueError("two")
        return 2 * x

    verdict = verdict_on(DOUBLE, fails_on_pairs)
    assert verdict.law == "grows"
    assert "ValueError: two" in verdict.finding.got.en
    nothing = verdict_on(DOUBLE, lambda x: None if x.shape == (2,) else 2 * x)
    assert nothing.law == "grows"


def test_an_exercise_without_arguments_asks_for_a_value():
    assert verdict_on(HALF, 0.5)
    assert verdict_on(HALF, lambda: torch.tensor(0.5))
    assert verdict_on(HALF, 50.0).mistake == "percent"
    assert verdict_on(HALF, 0.4).law == "value"


def test_the_answer_can_not_change_what_the_checker_compares_with():
    seen = []

    def spoils_everything(x):
        result = 2 * x
        seen.append(x)
        for old in seen:
            old.zero_()
        return result

    verdict = verdict_on(DOUBLE, spoils_everything)
    assert verdict.law == "input"
    assert verdict.finding.given["x"].tolist() == [0, 1, 2]
    assert verdict_on(DOUBLE, lambda x: 2 * x)


def test_random_numbers_go_on_as_if_nothing_had_been_drawn():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    def seeded(seed=1):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)

    seeded()
    expected = draw()
    seeded()
    check("masked-softmax", lambda scores, mask: (draw(), seeded(7), scores)[2])
    assert draw() == expected
    seeded()

    def interrupted(scores, mask):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("masked-softmax", interrupted)
    assert draw() == expected
    first, second = (str(check("masked-softmax", lambda s, m: s.sigmoid())) for _ in range(2))
    assert first == second


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_name_or_language_is_refused():
    with pytest.raises(
        ValueError, match=r"no exercise 'mask-softmax'; did you mean masked-softmax"
    ):
        check("mask-softmax", max)
    with pytest.raises(ValueError, match="name: no exercise"):
        check("qqqq", max)
    with pytest.raises(ValueError, match=r"the name comes first: check\(name, answer\)"):
        check(max, "masked-softmax")
    with pytest.raises(ValueError, match="language: expected 'zh' or 'en', got 'fr'"):
        check("masked-softmax", max, language="fr")


# --- the time limit -----------------------------------------------------------------------------


def for_ever():
    while True:
        with contextlib.suppress(Exception):  # a student's own: it swallows no interruption
            time.sleep(1e-3)


def test_a_loop_without_an_end_is_stopped():
    start = time.monotonic()
    with pytest.raises(DoesNotEnd):
        within(0.05, for_ever)
    assert time.monotonic() - start < 5


def test_an_interruption_that_was_swallowed_comes_again(monkeypatch):
    monkeypatch.setattr("attention_book.course.time_limit.AGAIN", 0.05)

    def swallows_one():
        try:
            time.sleep(60)
        except BaseException:
            time.sleep(60)

    with pytest.raises(DoesNotEnd):
        within(0.05, swallows_one)


def test_results_and_errors_come_through():
    assert within(5.0, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 / 0)


def test_somebody_elses_timer_goes_on():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        within(5.0, lambda: time.sleep(0.2))
        time.sleep(0.05)
        assert seen == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_nothing_comes_after_the_call():
    assert within(0.05, lambda: 1) == 1
    time.sleep(0.1)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_another_thread_there_is_no_limit():
    got = []
    thread = threading.Thread(target=lambda: got.append(within(0.01, lambda: time.sleep(0.05))))
    thread.start()
    thread.join()
    assert got == [None]
