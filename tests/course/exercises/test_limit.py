import contextlib
import signal
import threading
import time

import pytest

from attention_book.course.exercises.limit import DoesNotEnd, within


def for_ever():
    while True:
        with contextlib.suppress(Exception):  # a student's own: it swallows no interruption
            time.sleep(1e-3)


def test_a_loop_without_an_end_is_stopped():
    start = time.monotonic()
    with pytest.raises(DoesNotEnd):
        within(0.05, for_ever)
    assert time.monotonic() - start < 5


def test_a_sleep_is_stopped():
    with pytest.raises(DoesNotEnd):
        within(0.05, lambda: time.sleep(60))


def test_an_interruption_that_was_swallowed_comes_again(monkeypatch):
    monkeypatch.setattr("attention_book.course.exercises.limit.AGAIN", 0.05)

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
