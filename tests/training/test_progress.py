"""A bar where somebody looks, silence where nobody does; the reports are the same."""

import io
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from attention_book.training import EpochReport, progress


def reports() -> Iterator[EpochReport]:
    for epoch in (1, 2, 3):
        yield EpochReport(
            epoch=epoch, loss_per_token=4.5 / epoch, num_tokens=8, gradient_norm=1.0, seconds=1.0
        )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """A function that opens a terminal; pytest puts its own back between fixture and test."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delenv("ATTENTION_BOOK_BUILD", raising=False)

    def open_terminal() -> Terminal:
        opened = Terminal()
        monkeypatch.setattr(sys, "stderr", opened)
        return opened

    return open_terminal


def test_a_terminal_gets_a_bar_with_the_loss(terminal) -> None:
    stderr = terminal()
    assert list(progress(reports(), total=3, description="bahdanau")) == list(reports())
    assert "bahdanau: 100%" in stderr.getvalue()
    assert "loss=1.500" in stderr.getvalue()


def test_the_books_build_gets_none(terminal, monkeypatch) -> None:
    stderr = terminal()
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    assert list(progress(reports(), total=3)) == list(reports())
    assert stderr.getvalue() == ""


def test_a_file_gets_none(terminal, monkeypatch) -> None:
    stderr = terminal()
    monkeypatch.setattr(stderr, "isatty", lambda: False)
    assert list(progress(reports(), total=3)) == list(reports())
    assert stderr.getvalue() == ""


def test_a_notebook_gets_a_bar_among_its_outputs(terminal, monkeypatch, capsys) -> None:
    stderr = terminal()
    shell = SimpleNamespace(kernel="a kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert list(progress(reports(), total=3)) == list(reports())
    assert "loss=1.500" in capsys.readouterr().out
    assert stderr.getvalue() == ""


def test_nothing_is_asked_for_in_advance() -> None:
    asked = []

    def ask() -> Iterator[EpochReport]:
        for report in reports():
            asked.append(report.epoch)
            yield report

    bar = progress(ask(), total=3)
    assert asked == []
    next(bar)
    assert asked == [1]
    bar.close()
