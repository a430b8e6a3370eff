"""How far a training is: a bar in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.environment import from_extra
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.terminal import note
from attention_book.runs.engine.reports import StepReport

#: Seconds between two lines, where there is no terminal.
SECONDS = 5.0
# How much of the loss that is shown comes from the latest step.
_NEWEST = 0.05

Item = TypeVar("Item")


class Pace:
    """The loss and the speed of a training, smoothed: each step counts less than the next.

    >>> pace = Pace()
    >>> report = StepReport(
    ...     step=1, num_steps=3, epoch=1, loss=2.5, num_tokens=40, seconds=0.5,
    ...     learning_rate=0.001, gradient_norm=1.5,
    ... )
    >>> pace.take(report)
    >>> round(pace.loss, 6), round(pace.tokens_per_second, 6), round(pace.seconds_left, 6)
    (2.5, 80.0, 1.0)
    """

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._loss = self._tokens = self._seconds = self._weight = 0.0
        self._steps_left = 0

    def take(self, report: StepReport) -> None:
        """Take a step in."""
        for name, value in (
            ("_loss", report.loss),
            ("_tokens", report.num_tokens),
            ("_seconds", report.seconds),
            ("_weight", 1.0),
        ):
            setattr(self, name, (1 - _NEWEST) * getattr(self, name) + _NEWEST * value)
        self._steps_left = report.num_steps - report.step

    @property
    def loss(self) -> float:
        """The loss per token of the latest steps."""
        return self._loss / max(self._weight, 1e-9)

    @property
    def tokens_per_second(self) -> float:
        """Target tokens a second."""
        return self._tokens / max(self._seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """How long the rest will take at this speed."""
        return self._steps_left * self._seconds / max(self._weight, 1e-9)


def shown(
    reports: Iterable[StepReport],
    *,
    clock: Callable[[], float] = time.monotonic,
    terminal: bool | None = None,
) -> Iterator[StepReport]:
    """Pass the reports on, and show on standard error how far the training is.

    Args:
        reports: What the training yields.
        clock: Tells the seconds.
        terminal: Whether to draw a bar. None: if standard error is a terminal.
    """
    on_terminal = sys.stderr.isatty() if terminal is None else terminal
    return _with_bar(reports) if on_terminal else _with_lines(reports, clock)


def _with_bar(reports: Iterable[StepReport]) -> Iterator[StepReport]:
    with from_extra("training", "tqdm"):
        from tqdm import tqdm
    pace = Pace()
    unit = spoken(Bilingual("步", "step"))
    with tqdm(unit=unit, dynamic_ncols=True, leave=True) as bar:
        for report in reports:
            if bar.total is None:
                bar.total, bar.initial, bar.n = report.num_steps, report.step - 1, report.step - 1
            pace.take(report)
            bar.set_postfix_str(_state(pace), refresh=False)
            bar.update(report.step - bar.n)
            yield report


def _with_lines(reports: Iterable[StepReport], clock: Callable[[], float]) -> Iterator[StepReport]:
    pace, told = Pace(), -SECONDS
    started = clock()
    for report in reports:
        pace.take(report)
        now = clock() - started
        if now - told >= SECONDS or report.step == report.num_steps:
            told = now
            note(_line(report, pace))
        yield report


def _line(report: StepReport, pace: Pace) -> str:
    left = _clock_time(pace.seconds_left)
    place = Bilingual(
        f"第 {report.step}/{report.num_steps} 步（第 {report.epoch} 轮）",
        f"step {report.step} of {report.num_steps} (epoch {report.epoch})",
    )
    rest = Bilingual(f"还要 {left}", f"{left} left")
    return " · ".join((spoken(place), _state(pace), spoken(rest)))


def _state(pace: Pace) -> str:
    speed = f"{pace.tokens_per_second:,.0f}"
    text = Bilingual(
        f"损失 {pace.loss:.3f} · 每秒 {speed} 个词元", f"loss {pace.loss:.3f} · {speed} tokens/s"
    )
    return spoken(text)


def _clock_time(seconds: float) -> str:
    """Return a length of time as minutes and seconds, or with hours.

    >>> _clock_time(75.2), _clock_time(3723.0)
    ('1:15', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def bar_over(items: Iterable[Item], total: int, name: str) -> Iterator[Item]:
    """Pass items on, with a bar where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    with from_extra("training", "tqdm"):
        from tqdm import tqdm
    yield from tqdm(items, total=total, desc=name, leave=False)


__all__ = ["SECONDS", "Pace", "bar_over", "shown"]
