"""A time limit for one call: what never ends is stopped, where Python can do it alone."""

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

#: Seconds that one call may take. The inputs are small: a right answer takes milliseconds.
LIMIT = 10.0
#: A loop that catches everything may swallow the interruption: it comes again.
AGAIN = 1.0

T = TypeVar("T")


class DoesNotEnd(BaseException):
    """A call was stopped at its time limit. No `except Exception` of an answer swallows it."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return what the call returns; stop it where it takes longer.

    There is a limit only where Python offers one without a second process: in the main thread
    of Linux and macOS, which is where notebooks run. Elsewhere, and in a debugger, the call
    takes the time it takes. A single operation of a library is not interrupted, nor is a loop
    that catches and swallows every exception.

    Raises:
        DoesNotEnd: if the call took longer.

    >>> within(5.0, lambda: 2 + 3)
    5
    """
    if not _possible():
        return call()
    running, start = True, time.monotonic()

    def stop(number: int, frame: FrameType | None) -> None:
        if running and sys.gettrace() is None:
            raise DoesNotEnd

    handler = signal.signal(signal.SIGALRM, stop)
    rest, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        return call()
    finally:
        running = False
        left = max(rest - (time.monotonic() - start), 1e-3) if rest else 0.0
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, left, interval)  # somebody else's, if there was one


def _possible() -> bool:
    return (
        sys.platform != "win32"
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is not None  # one set in C could not be set again
    )
