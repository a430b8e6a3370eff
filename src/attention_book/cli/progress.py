"""How far a training is: a bar in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

from attention_book.cli.terminal import note, said, spoken
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.environment import from_extra
from attention_book.runs.log import StepReport

#: Seconds between two lines, where there is no terminal.
SECONDS = 5.0
#: What takes less than so many seconds is not announced.
WORTH_SAYING = 60.0
# After so many steps it is known how long one takes.
_MEASURED = 5
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
    unit = said("步", "step")
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


def with_estimate(items: Iterable[Item], total: int, name: str) -> Iterator[Item]:
    """Pass items on; after the first, say how long all will take, if that is a minute or more."""
    began = time.monotonic()
    for number, item in enumerate(items):
        yield item
        if number == 0:
            say_how_long((time.monotonic() - began) * (total - 1), name)


def with_forecast(
    reports: Iterable[StepReport], *, memory: Callable[[], int | None] | None = None
) -> Iterator[StepReport]:
    """Pass the reports on; after a few steps, say what the rest will take, if it takes a while.

    Args:
        reports: What the training yields.
        memory: Tells how many bytes were in use at most; None: what this process has used.
    """
    seconds: list[float] = []
    for report in reports:
        yield report
        if len(seconds) < _MEASURED:
            seconds.append(report.seconds)
            if len(seconds) == _MEASURED:
                # The first step is slower: it asks for memory that the others find.
                each = sum(seconds[1:]) / (_MEASURED - 1)
                used = (memory or peak_memory)()
                name = said(
                    f"其余 {report.num_steps - report.step} 步",
                    f"the other {report.num_steps - report.step} steps",
                )
                say_how_long(each * (report.num_steps - report.step), name, used)


def say_how_long(seconds: float, name: str, memory: int | None = None) -> None:
    """Say on standard error how long something will take, where that is worth a line."""
    if seconds < WORTH_SAYING:
        return
    zh, en = _length(seconds)
    if memory:
        zh += f"；到现在用了 {memory / 1e9:.1f} GB 内存"
        en += f"; {memory / 1e9:.1f} GB of memory so far"
    note(Bilingual(f"{name}大约要 {zh}", f"{name} will take about {en}"))


def _length(seconds: float) -> tuple[str, str]:
    """Return a length of time in Chinese and in English, to two digits or so.

    >>> _length(90.0), _length(7500.0)
    (('2 分钟', '2 min'), ('2 小时 5 分', '2 h 5 min'))
    """
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} 分钟", f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} 小时 {rest} 分", f"{hours} h {rest} min"


def peak_memory() -> int | None:
    """Return how many bytes this process, or its GPU, has held at most; None: nobody knows."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated()
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def bar_over(items: Iterable[Item], total: int, name: str) -> Iterator[Item]:
    """Pass items on, with a bar where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    with from_extra("training", "tqdm"):
        from tqdm import tqdm
    yield from tqdm(items, total=total, desc=name, leave=False)
