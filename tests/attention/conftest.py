"""What the tests of the attention modules share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Draw the same numbers in every run."""
    torch.manual_seed(7)


@pytest.fixture(params=[torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Each floating point type that a model may use."""
    return request.param
