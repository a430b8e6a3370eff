"""Ctrl-C: noticed at once, answered between two steps."""

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """Notes Ctrl-C (SIGINT) in its block instead of breaking off in the middle of a step.

    A second one breaks off at once, as ever, where one process trains alone. Among several it is
    only noted again: whoever started them sends them one more when the terminal has done so.
    Outside the main thread, where no signal arrives, nothing is changed.

    Args:
        several: Whether several processes train together.

    Attributes:
        asked: Whether there was one.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.asked
    True
    """

    def __init__(self, *, several: bool = False) -> None:
        """Nothing was asked yet."""
        self.asked, self._several = False, several
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        """Listen."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave Ctrl-C to whoever had it before."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked and not self._several:
            raise KeyboardInterrupt
        self.asked = True
