"""One notebook, graded: it runs in a confined child, and what it hands over is judged here.

A cell or an answer that ends the child, or holds it up, costs its own points: the notebook runs
again without it, and what was decided before stays.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attention_book.course.exercises import EXERCISES, Exercise
from attention_book.course.grading.jail import KEPT_OUTPUT, Child, Ended, Server, Settings, TooSlow
from attention_book.course.grading.notebooks import NotANotebook, cells_of
from attention_book.course.grading.peer import Distant, Failed, Peer
from attention_book.course.grading.remote import Guard, RemoteAnswer, judged
from attention_book.course.grading.wire import WireError
from attention_book.foundations.bilingual import Bilingual

MOST_ATTEMPTS = 6
MOST_CHECKS = 500
#: Where an answer stands: its cell, and the how manieth call of `check` it is there.
Place = tuple[int, int]


@dataclass(frozen=True)
class Clock:
    """Seconds of wall time.

    Attributes:
        cell: For one cell, without its answers.
        check: For one answer, on all its inputs.
        notebook: In all.
    """

    cell: float = 60.0
    check: float = 30.0
    notebook: float = 300.0


@dataclass(frozen=True)
class Terms:
    """What all notebooks of a run have in common."""

    language: str
    clock: Clock
    seeds: tuple[int, ...]
    private: tuple[Exercise, ...]

    def exercises(self, name: str) -> list[Exercise]:
        """Return the exercise of the book, and the private one, of this name."""
        public = [EXERCISES[name]] if name in EXERCISES else []
        return public + [each for each in self.private if each.name == name]


@dataclass(frozen=True)
class Result:
    """What became of one answer.

    Attributes:
        name: The exercise.
        passed: Whether it is right.
        text: The verdict as `check` prints it, in the language of the report.
        mistake: The known mistake that explains it; None: none.
        law: What does not hold; None: all does.
        used: The book's own functions that it calls.
    """

    name: str
    passed: bool
    text: str
    mistake: str | None = None
    law: str | None = None
    used: tuple[str, ...] = ()


@dataclass
class Report:
    """What became of one notebook.

    Attributes:
        notebook: Its path in the folder.
        results: The answers that it handed over.
        errors: What cells raised, by their number from 0.
        remarks: What a person should look at.
        output: What it printed.
        seconds: Of wall time.
        cpu: Seconds of processor time, as the child tells.
        confined: The layers that took effect.
    """

    notebook: str
    results: dict[Place, Result] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    output: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    confined: dict[str, str] = field(default_factory=dict)

    def last(self) -> dict[str, Result]:
        """Return, for each exercise, what was handed over last."""
        return {result.name: result for _, result in sorted(self.results.items())}


class Grader:
    """Grades notebooks, one after the other.

    Args:
        settings: How their children are started.
        clock: How long they may take.
        seeds: With which seeds inputs are drawn; the first is the notebook's own, 0.
        private: Exercises of the lecturer's own; one with the name of an exercise of the book is
            tried besides that one.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        seeds: Sequence[int] = (0,),
        private: Iterable[Exercise] = (),
    ) -> None:
        self._settings = settings
        self._terms = Terms(settings.language, clock or Clock(), tuple(seeds), tuple(private))
        self._server = Server(settings) if settings.way == "fork" else None

    def close(self) -> None:
        """End the fork server, if there is one."""
        if self._server is not None:
            self._server.close()

    def grade(self, path: Path, name: str | None = None) -> Report:
        """Grade a file, which may be anything.

        Args:
            path: The notebook.
            name: What the report calls it.
        """
        try:
            cells = cells_of(path)
        except NotANotebook as error:
            why = error.why
            text = self._said(f"读不了：{why.zh}", f"cannot be read: {why.en}")
            return Report(name or path.name, remarks=[text])
        return self.grade_cells(cells, name or path.name)

    def grade_cells(self, cells: list[str], name: str) -> Report:
        """Grade code cells."""
        report = Report(name)
        if not cells:
            report.remarks.append(self._said("没有代码单元格", "no code cells"))
            return report
        start = time.monotonic()
        end = start + self._terms.clock.notebook
        skipped: list[int] = []
        for _ in range(MOST_ATTEMPTS):
            attempt = _Attempt(self._settings, self._terms, report, end)
            why = attempt.run(cells, skipped, self._server)
            if why is None:
                break
            self._blame(attempt, report, skipped, why)
            if report.remarks and not attempt.begun:
                break
            if time.monotonic() > end:
                most = f"{self._terms.clock.notebook:.0f}"
                text = self._said(f"总共超过 {most} 秒，停下了", f"stopped after {most} s in all")
                report.remarks.append(text)
                break
        else:
            text = self._said(
                f"试了 {MOST_ATTEMPTS} 遍，停下了", f"given up after {MOST_ATTEMPTS} attempts"
            )
            report.remarks.append(text)
        report.seconds = time.monotonic() - start
        return report

    def _blame(
        self, attempt: "_Attempt", report: Report, skipped: list[int], why: Bilingual
    ) -> None:
        """Write down what ended an attempt: an answer, a cell, or the start."""
        text = why.text(self._terms.language)
        if attempt.judging is not None:
            place, name = attempt.judging
            report.results.setdefault(place, Result(name, False, f"✗ {name}: {text}"))
        elif attempt.cell >= 0:
            skipped.append(attempt.cell)
            report.errors[attempt.cell] = text
        else:
            printed = report.output.strip()[-300:]
            report.remarks.append(
                self._said(f"没能启动：{text}；{printed}", f"did not start: {text}; {printed}")
            )

    def _said(self, zh: str, en: str) -> str:
        return Bilingual(zh, en).text(self._terms.language)


def unconfined(settings: Settings) -> dict[str, str]:
    """Return the layers that should confine a child of these settings and do not, and why.

    Bubblewrap confines by itself; without it, Landlock and seccomp have to.
    """
    grader = Grader(settings)
    told = grader.grade_cells(["pass"], "probe").confined
    grader.close()
    needed = () if settings.way == "bwrap" and told else ("landlock", "seccomp")
    found = {layer: told.get(layer, "no") for layer in needed}
    return {layer: why for layer, why in found.items() if why.startswith("no")}


class _Attempt:
    """One run of a notebook, up to its end or to what ends it.

    Attributes:
        begun: Whether the child started.
        cell: The cell that it is in; -1 before the first.
        judging: The answer that is being judged, by place and name; None: none.
    """

    def __init__(self, settings: Settings, terms: Terms, report: Report, end: float) -> None:
        self._settings, self._terms = settings, terms
        self._report, self._end = report, end
        self.begun, self.cell = False, -1
        self.judging: tuple[Place, str] | None = None

    def run(self, cells: list[str], skipped: list[int], server: Server | None) -> Bilingual | None:
        """Run the cells in a child of their own; return what ended it early, if anything did."""
        self._child = Child(self._settings, server)
        try:
            return self._run(cells, skipped)
        finally:
            text = self._report.output + self._child.text()
            self._report.output = text[: 2 * KEPT_OUTPUT]
            self._child.close()

    def _run(self, cells: list[str], skipped: list[int]) -> Bilingual | None:
        self._peer = peer = Peer(self._child.send, self._child.receive, Guard())
        peer.fatal = (KeyboardInterrupt,)
        peer.handlers |= {"check": self._judge, "cell": self._enter}
        peer.notices.add("cell")
        try:
            match peer.read():
                case ["ready", dict(confined)]:
                    self._report.confined = {str(k): str(v)[:200] for k, v in confined.items()}
                case _:
                    raise WireError("not ready")
            self.begun = True
            self._allow(self._terms.clock.cell)
            done = [list(place) for place in self._report.results]
            self._note(peer.ask("run", cells, skipped, done))
            self._child.finish()
        except TooSlow:
            most = f"{self._allowed:.0f}" if self.begun else f"{self._settings.startup:.0f}"
            return Bilingual(f"{most} 秒内没有结束", f"no end within {most} s")
        except Ended:
            return Bilingual("进程结束了", "the process ended")
        except Failed as failed:
            return _nonsense(failed)
        except (WireError, ValueError, TypeError) as error:
            return _nonsense(error)
        return None

    def _note(self, told: Any) -> None:
        """Write down what the child says of the whole run, which may be anything."""
        if not isinstance(told, dict):
            raise WireError("no report")
        errors, cpu, commands = (told.get(key) for key in ("errors", "cpu", "commands"))
        if isinstance(errors, dict):
            for number, text in errors.items():
                if type(number) is int:
                    self._report.errors.setdefault(number, str(text)[:500])
        if isinstance(cpu, float):
            self._report.cpu += cpu
        if isinstance(commands, list) and commands:
            text = ", ".join(str(each)[:60] for each in commands[:5])
            said = Bilingual(f"没有执行：{text}", f"not carried out: {text}")
            self._report.remarks.append(said.text(self._terms.language))

    def _allow(self, seconds: float) -> None:
        self._allowed = seconds
        self._child.deadline = min(time.monotonic() + seconds, self._end)

    # --- what the child asks ----------------------------------------------------------------

    def _enter(self, number: Any) -> None:
        self.cell = int(number)
        self._allow(self._terms.clock.cell)

    def _judge(self, name: Any, answer: Any, place: Any) -> None:
        name, at = str(name), (int(place[0]), int(place[1]))
        if at in self._report.results or len(self._report.results) >= MOST_CHECKS:
            return
        exercises = self._terms.exercises(name)
        if not exercises:
            said = Bilingual(f"没有名叫 {name[:60]!r} 的练习", f"no exercise {name[:60]!r}")
            text = said.text(self._terms.language)
            self._report.results[at] = Result(name[:60], False, text)
            return
        self.judging = at, name
        self._allow(self._terms.clock.check)
        if isinstance(answer, Distant):
            answer = RemoteAnswer(answer)
        verdict = judged(exercises, answer, self._terms.seeds, self._terms.language)
        self.judging = None
        used = tuple(sorted(getattr(answer, "used", ())))
        self._report.results.setdefault(
            at, Result(name, verdict.passed, str(verdict), verdict.mistake, verdict.law, used)
        )
        self._allow(self._terms.clock.cell)


def _nonsense(error: Exception | WireError) -> Bilingual:
    text = str(error)[:200]
    return Bilingual(f"进程发来的东西读不懂：{text}", f"the process sent nonsense: {text}")
