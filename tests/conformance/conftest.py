"""Lets the tests find the broken and the sound subjects beside them."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Keep pytest from collecting what the compiler logs: a second for every graph."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
