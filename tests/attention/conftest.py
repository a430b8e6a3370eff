"""What the tests of the attention modules share."""

from collections.abc import Iterator

import jaxtyping
import pytest
import torch


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch jaxtyping off, as in production, so that our own errors are what is met."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Draw the same numbers in every run."""
    torch.manual_seed(7)


@pytest.fixture(params=[torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Each floating point type that a model may use."""
    return request.param
