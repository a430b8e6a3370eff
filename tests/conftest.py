"""What every test file may ask for."""

from collections.abc import Iterator

import hypothesis
import jaxtyping
import pytest

# Speed is measured in benchmarks/, never by a test; and a test that is red today is red tomorrow.
hypothesis.settings.register_profile("book", deadline=None, derandomize=True)
hypothesis.settings.load_profile("book")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch jaxtyping off, as in production, so that our own errors are what is met."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
