"""What is made ahead of time is the same, and nothing is left behind, however it ends."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.foundations import strict
from attention_book.foundations.checks import is_strict
from attention_book.runs import prefetched


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


class Source:
    """Counts what was made of it, and knows whether it was closed."""

    def __init__(self, size, error=None):
        self.made, self.closed = 0, False
        self.size, self.error = size, error

    def __iter__(self):
        try:
            for number in range(self.size):
                self.made += 1
                yield number
            if self.error:
                raise self.error
        finally:
            self.closed = True


@given(st.lists(st.integers()), st.integers(1, 5))
def test_the_items_are_the_same_in_the_same_order(items, depth):
    assert list(prefetched(items, depth)) == items


def test_nothing_is_made_before_it_is_asked_for():
    source = Source(5)
    prefetched(source)
    assert source.made == 0


def test_no_more_is_made_ahead_than_was_said():
    source = Source(100)
    items = prefetched(source, 3)
    assert next(items) == 0
    deadline = time.monotonic() + 10
    while source.made < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert source.made == 5  # one is with us, three wait, and one waits to wait
    items.close()


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_breaking_off_ends_the_thread_and_closes_the_source(taken):
    source = Source(1000)
    items = prefetched(source, 2)
    for _, _number in zip(range(taken), items, strict=False):
        pass
    items.close()
    assert source.closed == (taken > 0)
    assert source.made <= taken + 4


def test_an_error_in_the_caller_s_loop_ends_the_thread():
    source = Source(1000)

    def loop():
        for number in prefetched(source, 2):
            if number == 5:
                raise RuntimeError("in the loop")

    with pytest.raises(RuntimeError, match="in the loop"):
        loop()
    deadline = time.monotonic() + 10  # the generator is closed when the traceback is let go
    while not source.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert source.closed


@pytest.mark.parametrize("error", [ValueError("in the source"), KeyboardInterrupt()])
def test_an_error_in_the_source_comes_in_its_place(error):
    source = Source(4, error)
    items = prefetched(source, 2)
    assert [next(items) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(type(error)) as caught:
        next(items)
    assert caught.value is error
    assert source.closed


def test_an_error_before_the_first_item_is_no_hang():
    class Broken:
        def __iter__(self):
            raise RuntimeError("cannot begin")

    with pytest.raises(RuntimeError, match="cannot begin"):
        next(prefetched(Broken()))


def test_the_thread_is_as_strict_as_the_caller():
    for wanted in (True, False):
        with strict(wanted):
            assert list(prefetched(is_strict() for _ in range(2))) == [wanted] * 2


def test_a_depth_below_one_is_refused_at_once():
    with pytest.raises(ValueError, match="depth: expected at least 1, got 0"):
        prefetched([], 0)
