"""The desk of the first chapter: the figure's numbers are the package's."""

import pytest
import torch

from attention_book.attention import Attention, DotScore

KEYS = torch.tensor(
    [[0.1, 0.3, 0.0], [0.3, 0.6, 0.0], [0.2, 0.4, 0.0], [0.2, 1.0, 0.0], [1.0, 0.0, 1.0]],
    dtype=torch.float64,
)
PAGES = torch.tensor([[1.0], [16.0], [40.0], [300.0], [0.0]], dtype=torch.float64)
QUERIES = {"reader": [[0.0, 5.0, 0.0]], "idle": [[5.0, 0.0, 0.0]]}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.7])
@pytest.mark.parametrize("hidden", ["00000", "00010", "10101", "11111"])
def test_weights_and_output(query: str, temperature: float, hidden: str, compute) -> None:
    found = compute("steps", query=query, temperature=temperature, hidden=hidden)
    queries = torch.tensor(QUERIES[query], dtype=torch.float64) / temperature
    mask = torch.tensor([[digit == "0" for digit in hidden]])
    desk = Attention(DotScore())
    weights = desk.weights(queries, KEYS, mask)
    torch.testing.assert_close(
        torch.tensor([found["weights"]], dtype=torch.float64), weights, rtol=0, atol=1e-12
    )
    output = desk(queries, KEYS, PAGES, mask).item()
    assert found["output"] == pytest.approx(output, abs=1e-9)
