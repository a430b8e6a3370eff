"""The command as a test calls it, in a folder of its own; and a run that took a few steps."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from click.testing import CliRunner

from attention_book.cli import train as result
from attention_book.cli.program import program

TINY = (
    "train --corpus phrasebook --folder runs/tiny --steps 4 --set model.config.d_model=16 "
    "--set model.config.num_heads=2 --set model.config.d_ff=16 --set training.checkpoint_every=2"
)


@dataclass(frozen=True)
class Said:
    """What a command line led to."""

    code: int
    out: str
    err: str


def spoken(line: str | list[str], stdin: str | bytes | None = None, **environment: str) -> Said:
    """Run a command line; an exception that gets out fails the test."""
    words = line.split() if isinstance(line, str) else line
    found = CliRunner().invoke(program, words, input=stdin, env=environment or None)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return Said(found.exit_code, found.stdout, found.stderr)


@pytest.fixture(scope="module", autouse=True)
def as_a_reader_runs_it() -> Iterator[None]:
    """Let these tests run what a reader runs, without a check of types at every call.

    The checks would take half of their time, and stand over the same functions everywhere else.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: Any) -> Iterator[Path]:
    """A folder with ``runs/tiny`` in it: a Transformer of the phrasebook after four steps."""
    folder = tmp_path_factory.mktemp("tiny")
    before, sentences = Path.cwd(), result._SENTENCES
    os.chdir(folder)
    result._SENTENCES = 8
    try:
        found = spoken(TINY)
        assert found.code == 0, found.err
        yield folder
    finally:
        result._SENTENCES = sentences
        os.chdir(before)


@pytest.fixture
def beside(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder that has the run; what a test writes must not be a run."""
    monkeypatch.chdir(tiny_run)
    return tiny_run


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(result, "_SENTENCES", 4)
    return tmp_path


@pytest.fixture(scope="session")
def tiny_line() -> str:
    """The line that ``tiny_run`` was trained by."""
    return TINY


@pytest.fixture(scope="session")
def say() -> Callable[..., Said]:
    """Run a command line, and return what it said."""
    return spoken
