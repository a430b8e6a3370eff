"""Plant known bugs, one at a time: which test catches each?

A bug is a small replacement in one file of the package, or of the book's machinery (`book/…`), with
a sentence that says what it does; the bugs stand in `scripts/bugs/`. Each is planted in a copy of
the repository, never in the repository itself. There the tests named for it are run until one
fails; if none does, those of the whole folder of tests. A bug that no test catches has survived: a
law is missing in the tests.

In the end, the tests that caught a bug must pass without one. A bug whose text does not stand
exactly once in its file is an error, so that the list follows the package.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUGS = Path("scripts/bugs")
PACKAGE = Path("src/attention_book")
NOT_COPIED = (".git", ".venv", "_build", "node_modules", "__pycache__", "*.egg-info", ".*_cache")
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "-n0", "--tb=no", "--assert=plain", "-rfE"]
# A bug may break the import of the package's own plugin; tests ask for it where they try it.
PYTEST += ["-p", "no:attention_book.pytest_plugin"]
# Imported once; each run of tests is a fork of that process. The package itself is not in there.
SERVER = multiprocessing.get_context("forkserver")
PRELOADED = ["torch", "pytest", "hypothesis.strategies", "jaxtyping", "beartype", "sybil"]
PRELOADED += ["playwright.sync_api"]  # a plugin of pytest brings it in
FAILED = re.compile(r"^(?:FAILED|ERROR) tests/(?P<test>\S+::\w+)", re.MULTILINE)
HEALTHY_TIMEOUT = 3600.0  # seconds
KEYS = {"what", "old", "new", "tests"}


@dataclass(frozen=True)
class Bug:
    """What a bug is called and does, the texts that it replaces in its file, who should see it."""

    name: str
    file: str
    what: str
    changes: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]

    def planted(self, source: str) -> str:
        """Return the source with the bug; ValueError if a text does not stand there once."""
        for old, new in self.changes:
            if (found := source.count(old)) != 1:
                raise ValueError(f"{self}: expected this text once, found it {found} times: {old}")
            source = source.replace(old, new)
        return source

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]

    def path(self, root: Path) -> Path:
        """Return the file of a copy of the repository: a name is below the package."""
        return root / self.file if self.folder == "book" else root / PACKAGE / self.file

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


@dataclass(frozen=True)
class Verdict:
    """The test that caught a bug, if one did; whether it was a named one; what went wrong."""

    bug: Bug
    seconds: float
    test: str | None = None
    is_named: bool = True
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        if self.test is None:
            return "SURVIVED"
        return self.test if self.is_named else f"{self.test} (not named for it)"


def read_bugs(folder: Path) -> list[Bug]:
    """Return the bugs of all files of a folder."""
    bugs = []
    for path in sorted(folder.glob("*.toml")):
        for file, entries in tomllib.loads(path.read_text(encoding="utf8")).items():
            bugs += [_bug(name, file, entry) for name, entry in entries.items()]
    return bugs


def _bug(name: str, file: str, entry: dict[str, Any]) -> Bug:
    if unknown := set(entry) - KEYS:
        raise ValueError(f"{file}: {name}: expected {', '.join(sorted(KEYS))}, got {unknown.pop()}")
    old, new = (_several(entry[key]) for key in ("old", "new"))
    path = Path(file)
    mirror = path.with_name(f"test_{path.name}").as_posix()
    changes = tuple(zip(old, new, strict=True))
    return Bug(name, file, entry["what"], changes, tuple(entry.get("tests", [mirror])))


def _several(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def run_pytest(folder: Path, tests: Sequence[str], output: Path) -> None:
    """Run tests of a copy of the repository in this process, which ends with pytest's status."""
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    os.environ["PYTHONPATH"] = str(folder / "src")
    sys.dont_write_bytecode = False
    package = importlib.util.find_spec("attention_book")
    if package is None or not Path(str(package.origin)).is_relative_to(folder):
        sys.exit(f"expected the package in {folder}, got {package}")
    sys.exit(pytest.main([*PYTEST, *(f"tests/{test}" for test in tests)]))


class Copy:
    """A copy of the repository, in which bugs are planted and tests are run."""

    def __init__(self, folder: Path, timeout: float) -> None:
        self.folder, self.timeout = folder, timeout
        shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))

    def run(self, tests: Sequence[str], timeout: float) -> tuple[str | None, str]:
        """Return the first of the tests to fail, or None; and what kept them from running."""
        output = self.folder.with_suffix(".out")
        process = SERVER.Process(target=run_pytest, args=(self.folder, tests, output))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            return None, f"no end within {timeout:.0f} s"
        if process.exitcode == 0:
            return None, ""
        said = output.read_text(encoding="utf8", errors="replace") if output.exists() else ""
        found = FAILED.search(said)
        if process.exitcode == 1 and found:
            return found["test"], ""
        return None, f"the tests do not run: {' '.join(said.split())[-200:]}"

    def hunt(self, bug: Bug) -> Verdict:
        """Plant the bug, look for a test that fails, and take the bug out again."""
        started, path = time.monotonic(), bug.path(self.folder)
        healthy = path.read_text(encoding="utf8")
        try:
            self._write(path, bug.planted(healthy))
            test, problem = self.run(bug.tests, self.timeout)
            is_named = bool(test or problem)
            if not is_named:
                test, problem = self.run([bug.folder], 3 * self.timeout)
        finally:
            self._write(path, healthy)
        return Verdict(bug, time.monotonic() - started, test, is_named, problem)

    def _write(self, path: Path, source: str) -> None:
        path.write_text(source, encoding="utf8")
        # Python trusts compiled code of the same size and second.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()


def check_healthy(copy: Copy, verdicts: Sequence[Verdict]) -> None:
    """Exit unless the tests that caught a bug pass without one."""
    tests = sorted({verdict.test for verdict in verdicts if verdict.test})
    say(f"Now the {len(tests)} tests that caught a bug, without one.")
    test, problem = copy.run(tests, HEALTHY_TIMEOUT) if tests else (None, "")
    if test or problem:
        sys.exit(f"Without any bug: {problem or f'{test} fails'}")


def hunt_all(copies: Sequence[Copy], bugs: Sequence[Bug]) -> list[Verdict]:
    """Hunt the bugs, one in each copy at a time, and say how it goes."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def hunt(bug: Bug) -> Verdict:
        copy = free.get()
        try:
            return copy.hunt(bug)
        finally:
            free.put(copy)

    verdicts: dict[Bug, Verdict] = {}
    started = time.monotonic()
    with ThreadPoolExecutor(len(copies)) as pool:
        for future in as_completed([pool.submit(hunt, bug) for bug in bugs]):
            verdict = future.result()
            verdicts[verdict.bug] = verdict
            each = (time.monotonic() - started) / len(verdicts)
            left = each * (len(bugs) - len(verdicts)) / 60
            say(
                f"[{len(verdicts)}/{len(bugs)}] {verdict.bug}: {verdict}, about {left:.1f} min left"
            )
    return [verdicts[bug] for bug in bugs]


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the report as Markdown."""
    caught = sum(verdict.test is not None for verdict in verdicts)
    lines = [
        "# Planted bugs: which test catches each",
        "",
        "Written by `make bugs`. Each bug of `scripts/bugs/` is planted alone in a copy of the",
        "repository, and the tests named for it are run until one fails.",
        "",
        f"{caught} of {len(verdicts)} bugs are caught.",
        "",
        "| bug | what it does | file | caught by | seconds |",
        "|---|---|---|---|---|",
    ]
    for verdict in verdicts:
        bug, what = verdict.bug, verdict.bug.what.replace("|", "\\|").replace("<", "\\<")
        test = f"`{verdict}`" if verdict.test and verdict.is_named else f"**{verdict}**"
        lines.append(f"| {bug.name} | {what} | `{bug.file}` | {test} | {verdict.seconds:.0f} |")
    return "\n".join(lines) + "\n"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def chosen(words: Sequence[str]) -> list[Bug]:
    """Return the bugs with one of the words in their file or name; all without words."""
    bugs = read_bugs(ROOT / BUGS)
    for bug in bugs:
        bug.planted(bug.path(ROOT).read_text(encoding="utf8"))
    found = [bug for bug in bugs if not words or any(word in str(bug) for word in words)]
    if not found:
        sys.exit(f"no bug has {' or '.join(words)} in its file or name")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only bugs with one of them in file or name")
    parser.add_argument("--write", type=Path, help="a file for the table, which is printed too")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=2, help="bugs at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a bug's tests")
    options = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    SERVER.set_forkserver_preload(PRELOADED)
    bugs = chosen(options.words)
    with tempfile.TemporaryDirectory(prefix="planted-bugs-") as folder:
        jobs = range(min(options.jobs, len(bugs)))
        copies = [Copy(Path(folder).resolve() / str(job), options.timeout) for job in jobs]
        verdicts = hunt_all(copies, bugs)
        check_healthy(copies[0], verdicts)
    report = table(verdicts)
    print(report, end="")
    if options.write:
        options.write.write_text(report, encoding="utf8")
    return 0 if all(verdict.test for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
