"""What every test file may ask for."""

import sys
from collections.abc import Iterator

import hypothesis
import jaxtyping
import pytest

from attention_book.foundations import set_language

# Speed is measured in benchmarks/, never by a test; and a test that is red today is red tomorrow.
hypothesis.settings.register_profile("book", deadline=None, derandomize=True)
hypothesis.settings.load_profile("book")


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
