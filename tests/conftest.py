"""What every test file may ask for."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture
def as_in_production() -> Iterator[None]:
    """Switch the run-time shape checks off: readers run without them, and must get our errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
