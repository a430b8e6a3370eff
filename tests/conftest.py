"""What every test file may ask for."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import jaxtyping
import pytest
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.append(str(Path(__file__).parent))

from skipped import skipped_lines

from attention_book.foundations import set_language, strict

# Speed is measured in benchmarks/, never by a test; and a test that is red today is red tomorrow.
hypothesis.settings.register_profile("book", deadline=None, derandomize=True)
# Thousands of examples, others each time: HYPOTHESIS_PROFILE=thorough.
hypothesis.settings.register_profile(
    "thorough", deadline=None, max_examples=5000, print_blob=True, database=None
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "book"))


# Millions of objects come with the modules and stay: Python's search for reference cycles among
# them takes two fifths of the collecting of tests.
gc.set_threshold(100_000, 20, 100)


def pytest_collection_finish() -> None:
    """Search no more for cycles in what was there before the first test."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Leave what was skipped, and how to get it, to `make test`, which tells it at its end."""
    if path := os.environ.get("BOOK_SKIPPED"):
        reports = terminalreporter.stats.get("skipped", [])
        lines = skipped_lines(report.longrepr[2] for report in reports)
        Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf8")


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    """Close the figures after each test, and let labels speak both languages again."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    set_language(None)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch jaxtyping off, as in production, so that our own errors are what is met."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


class _Operators(TorchDispatchMode):
    """Counts the operators that wait for the device: Python asks for a number."""

    NAMES = ("_local_scalar_dense", "is_nonzero", "equal", "nonzero", "item")

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.overloadpacket.__name__ in self.NAMES
        return function(*args, **(kwargs or {}))


class _Lists(TorchFunctionMode):
    """Counts ``tolist`` and ``numpy``, which on the CPU read without any operator."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += getattr(function, "__name__", "") in ("tolist", "numpy")
        return function(*args, **(kwargs or {}))


@pytest.fixture
def reads_of() -> Callable[[Callable[[], object]], int]:
    """A function that tells how often a call reads from the device, outside strict mode."""

    def count(call: Callable[[], object]) -> int:
        with strict(False), _Lists() as lists, _Operators() as operators:
            call()
        return lists.count + operators.count

    return count
