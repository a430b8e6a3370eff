import pytest
import torch


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Draw the same numbers in every run."""
    torch.manual_seed(7)
